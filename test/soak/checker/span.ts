/** Sequences from `from` until before `before`. */
export type Interval = readonly [from: number, before: number];

export const NEVER = Number.POSITIVE_INFINITY;

/** Sequences of a range that are still possible. */
export class Span {
  readonly #out: Uint8Array;

  constructor(
    private readonly from: number,
    to: number,
  ) {
    this.#out = new Uint8Array(Math.max(0, to - from + 1));
  }

  leaveOut(intervals: Iterable<Interval>): void {
    for (const [from, before] of intervals) if (before > from) this.#out.fill(1, this.#at(from), this.#at(before));
  }

  /** `intervals`: ordered, without overlap. */
  keepOnly(intervals: Iterable<Interval>): void {
    let end = this.from;
    for (const [from, before] of intervals) {
      if (from > end) this.leaveOut([[end, from]]);
      end = Math.max(end, before);
    }
    this.leaveOut([[end, NEVER]]);
  }

  first(): number | undefined {
    const at = this.#out.indexOf(0);
    return at < 0 ? undefined : this.from + at;
  }

  #at(sequence: number): number {
    return Math.min(this.#out.length, Math.max(0, sequence - this.from));
  }
}

/** First sequence in both the range and the intervals. */
export function firstOf(from: number, to: number, ...intervals: readonly Interval[]): number | undefined {
  const first = Math.max(from, ...intervals.map(([begin]) => begin));
  return first < Math.min(to + 1, ...intervals.map(([, before]) => before)) ? first : undefined;
}
