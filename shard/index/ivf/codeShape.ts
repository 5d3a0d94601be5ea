/** The i16 codes that builds compare vectors by (`kernel/assembly/cut.ts`): 2 bytes a component, padded to 16 bytes. */

/** Alignment of codes in the kernel. */
const CODE_ALIGNMENT_BYTES = 16;
const CODE_COMPONENT_BYTES = 2;
const TOTAL_MAX = 2 ** 32 - 1;
const I16_MAX = 2 ** 15 - 1;

/** Codes that the kernel measures at once. A table of codes has room for a multiple of it. */
export const CODE_GROUP = 8;

/** Sizes and ranges of the codes of vectors of one dimension. */
export class CodeShape {
  /** Bytes from a code to the next. */
  readonly codeBytes: number;
  /** Largest component of a difference of codes, so that the sum of the squares fits u32. */
  readonly differenceMax: number;

  constructor(readonly dimension: number) {
    this.codeBytes = Math.ceil((dimension * CODE_COMPONENT_BYTES) / CODE_ALIGNMENT_BYTES) * CODE_ALIGNMENT_BYTES;
    this.differenceMax = Math.min(I16_MAX, Math.floor(Math.sqrt(TOTAL_MAX / dimension)));
  }

  /** Largest component of a code, so that the difference of any two is in range. */
  get componentMax(): number {
    return this.differenceMax >>> 1;
  }

  /** Returns the smallest shift that keeps differences in range. `reach`: largest sum of two components' magnitudes. */
  shiftFor(reach: number): number {
    let shift = 0;
    while (reach / 2 ** shift + 1 > this.differenceMax) shift++;
    return shift;
  }
}
