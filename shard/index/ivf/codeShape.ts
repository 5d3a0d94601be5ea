/** The shape of i16 codes of one dimension (`kernel/assembly/cut.ts`): 2 bytes a component, padded to 16 bytes. */

/** Alignment of codes in the kernel. */
const CODE_ALIGNMENT_BYTES = 16;
const CODE_COMPONENT_BYTES = 2;
const TOTAL_MAX = 2 ** 32 - 1;
const I16_MAX = 2 ** 15 - 1;

/** Codes that the kernel measures at once. Tables have a multiple of it. */
export const CODE_GROUP = 8;

/** The cut of the vectors of one dimension to i16, and its effect on distances; see `kernel/assembly/cut.ts`. */
export class CodeShape {
  /** Bytes from a code to the next. */
  readonly codeBytes: number;
  /** Largest component of a difference of codes: the sum of its squares fits u32. */
  readonly differenceMax: number;

  constructor(readonly dimension: number) {
    this.codeBytes = Math.ceil((dimension * CODE_COMPONENT_BYTES) / CODE_ALIGNMENT_BYTES) * CODE_ALIGNMENT_BYTES;
    this.differenceMax = Math.min(I16_MAX, Math.floor(Math.sqrt(TOTAL_MAX / dimension)));
  }

  /** Largest component of a code: the difference of any two is in range. */
  get componentMax(): number {
    return this.differenceMax >>> 1;
  }

  /** Returns the smallest shift that keeps differences in range. `reach`: the sum of both vectors' max|component|. */
  shiftFor(reach: number): number {
    let shift = 0;
    while (reach / 2 ** shift + 1 > this.differenceMax) shift++;
    return shift;
  }
}
