/** The kernel reads codes in units of this. */
const CODE_ALIGNMENT_BYTES = 16;
const CODE_COMPONENT_BYTES = 2;
const TOTAL_MAX = 2 ** 32 - 1;
const I16_MAX = 2 ** 15 - 1;

/** Codes that the kernel measures at once: tables hold a multiple of this. */
export const CODE_GROUP = 8;

/** The cut of the vectors of one dimension to i16, and its effect on distances: see `kernel/assembly/cut.ts`. */
export class CodeShape {
  /** Bytes from a code to the next. */
  readonly codeBytes: number;
  /** The largest component of a difference of codes: the sum of its squares fits in u32. */
  readonly differenceMax: number;
  /** The cut changes a distance by less than this, in units of 2^shift. */
  readonly margin: number;

  constructor(readonly dimension: number) {
    this.codeBytes = Math.ceil((dimension * CODE_COMPONENT_BYTES) / CODE_ALIGNMENT_BYTES) * CODE_ALIGNMENT_BYTES;
    this.differenceMax = Math.min(I16_MAX, Math.floor(Math.sqrt(TOTAL_MAX / dimension)));
    this.margin = Math.sqrt(dimension);
  }

  /** The largest component of a code: the difference of any two is in range. */
  get componentMax(): number {
    return this.differenceMax >>> 1;
  }

  /** Returns the smallest shift that keeps differences in range. `reach`: the sum of both vectors' max|component|. */
  shiftFor(reach: number): number {
    let shift = 0;
    while (reach / 2 ** shift + 1 > this.differenceMax) shift++;
    return shift;
  }

  /** Returns the largest sum of squares between codes of vectors that may be within `distance`. */
  totalWithin(distance: number, shift: number): number {
    const radius = distance / 2 ** shift + this.margin;
    return Math.min(TOTAL_MAX, Math.floor(radius * radius * ROUNDING) + 1);
  }
}

/** Room for the rounding of a few operations in f64. */
export const ROUNDING = 1 + 2 ** -40;
