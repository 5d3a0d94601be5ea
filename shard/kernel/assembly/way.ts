/** How a scan reads the rows of a block: these bits. The host chooses them for a block and a query (`kernel/way.ts`). */

/** Components may be any. Otherwise they satisfy the bound of `narrow.ts`. */
export const WIDE: u32 = 1;
/** The code plane excludes rows. Only for rows that are not wide. */
export const FILTERS: u32 = 2;
/** Rows are split (`splitRows.ts`), with residuals of 8 or of 16 bits. */
export const BYTES: u32 = 4;
export const WORDS: u32 = 8;
export const SPLIT: u32 = BYTES | WORDS;
