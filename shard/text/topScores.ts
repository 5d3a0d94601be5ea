/**
 * The `n` items of the highest scores of those that are offered: a binary heap with the lowest of them on top. Of equal
 * scores the one with the lower `tie` comes first; where those are equal too, `isBefore` decides.
 */
export class TopScores {
  readonly #items: Uint32Array;
  readonly #scores: Float64Array;
  readonly #ties: Float64Array;
  #count = 0;

  constructor(
    private readonly n: number,
    private readonly isBefore: (item: number, other: number) => boolean,
  ) {
    this.#items = new Uint32Array(n);
    this.#scores = new Float64Array(n);
    this.#ties = new Float64Array(n);
  }

  /** What has a lower score does not get in; −∞ where there is room. */
  get least(): number {
    return this.#count < this.n ? Number.NEGATIVE_INFINITY : this.#scores[0]!;
  }

  /** What has the score `least` and a higher tie does not get in; where there is no room. */
  get leastTie(): number {
    return this.#count < this.n ? Number.POSITIVE_INFINITY : this.#ties[0]!;
  }

  offer(item: number, score: number, tie: number): void {
    if (this.#count < this.n) this.#rise(item, score, tie);
    else if (this.n > 0 && this.#isAbove(item, score, tie, 0)) this.#sink(this.#count, item, score, tie);
  }

  /** Best first. Nothing can be offered afterwards. */
  sorted(): { readonly items: Uint32Array; readonly scores: Float64Array } {
    const items = this.#items;
    const scores = this.#scores;
    const ties = this.#ties;
    for (let last = this.#count - 1; last > 0; last--) {
      const [item, score, tie] = [items[last]!, scores[last]!, ties[last]!];
      this.#put(last, items[0]!, scores[0]!, ties[0]!);
      this.#sink(last, item, score, tie);
    }
    return { items: items.subarray(0, this.#count), scores: scores.subarray(0, this.#count) };
  }

  /** Whether what is given comes before what is at a place of the heap. */
  #isAbove(item: number, score: number, tie: number, at: number): boolean {
    const other = this.#scores[at]!;
    if (score !== other) return score > other;
    if (tie !== this.#ties[at]!) return tie < this.#ties[at]!;
    return this.isBefore(item, this.#items[at]!);
  }

  #put(at: number, item: number, score: number, tie: number): void {
    this.#items[at] = item;
    this.#scores[at] = score;
    this.#ties[at] = tie;
  }

  #copy(to: number, from: number): void {
    this.#put(to, this.#items[from]!, this.#scores[from]!, this.#ties[from]!);
  }

  #rise(item: number, score: number, tie: number): void {
    let at = this.#count++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#isAbove(item, score, tie, parent)) break;
      this.#copy(at, parent);
      at = parent;
    }
    this.#put(at, item, score, tie);
  }

  /** Puts what is given in the place of the lowest of the first `count`. */
  #sink(count: number, item: number, score: number, tie: number): void {
    let at = 0;
    for (let child = 1; child < count; child = 2 * at + 1) {
      const right = child + 1;
      const isRightLower =
        right < count && this.#isAbove(this.#items[child]!, this.#scores[child]!, this.#ties[child]!, right);
      const lower = isRightLower ? right : child;
      if (!this.#isAbove(item, score, tie, lower)) break;
      this.#copy(at, lower);
      at = lower;
    }
    this.#put(at, item, score, tie);
  }
}
