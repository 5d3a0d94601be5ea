/** The records under keys of the benchmarks of erasure. */

/** Number of keys; each has an equal number of records. */
export const KEYS = 1_000;
export const DIMENSION = 128;

/** Returns the key of a record by its number. */
export const keyOf = (record: number): string => (record % KEYS).toString(16).padStart(32, '0');
