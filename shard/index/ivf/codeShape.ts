/** What the kernel reads of a code at once. */
const CODE_ALIGNMENT_BYTES = 16;
const CODE_COMPONENT_BYTES = 2;
const TOTAL_MAX = 2 ** 32 - 1;
const I16_MAX = 2 ** 15 - 1;

/** Codes that the kernel measures at once: tables of them hold a multiple. */
export const CODE_GROUP = 8;

/** How the vectors of one dimension are cut to i16, and what that makes of a distance: see `kernel/assembly/cut.ts`. */
export class CodeShape {
  /** Bytes from a code to the next. */
  readonly codeBytes: number;
  /** The largest component of a difference of codes, so that its square sums up within u32. */
  readonly differenceMax: number;
  /** What is cut off moves a difference by less than this, in units of 2^shift. */
  readonly margin: number;

  constructor(readonly dimension: number) {
    this.codeBytes = Math.ceil((dimension * CODE_COMPONENT_BYTES) / CODE_ALIGNMENT_BYTES) * CODE_ALIGNMENT_BYTES;
    this.differenceMax = Math.min(I16_MAX, Math.floor(Math.sqrt(TOTAL_MAX / dimension)));
    this.margin = Math.sqrt(dimension);
  }

  /** The largest component of a code, if any two are to be subtracted. */
  get componentMax(): number {
    return this.differenceMax >>> 1;
  }

  /** The least shift with which no difference leaves its range. `reach`: max|component| of the one + of the other. */
  shiftFor(reach: number): number {
    let shift = 0;
    while (reach / 2 ** shift + 1 > this.differenceMax) shift++;
    return shift;
  }

  /** The largest total of codes of vectors that may be within `distance` of one another. */
  totalWithin(distance: number, shift: number): number {
    const radius = distance / 2 ** shift + this.margin;
    return Math.min(TOTAL_MAX, Math.floor(radius * radius * ROUNDING) + 1);
  }
}

/** Room for the rounding of a few operations in f64. */
export const ROUNDING = 1 + 2 ** -40;
