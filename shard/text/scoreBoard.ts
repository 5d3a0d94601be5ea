/** Scores by slot while the postings of a query are gone through: zero everywhere between two uses. */
export class ScoreBoard {
  #scores = new Float64Array(0);
  #slots = new Uint32Array(0);

  get bytes(): number {
    return this.#scores.byteLength + this.#slots.byteLength;
  }

  /** By slot. */
  get scores(): Float64Array {
    return this.#scores;
  }

  /** Room for the slots whose score is not zero. */
  get slots(): Uint32Array {
    return this.#slots;
  }

  reserve(slots: number): void {
    if (slots <= this.#slots.length) return;
    this.#scores = new Float64Array(slots);
    this.#slots = new Uint32Array(slots);
  }

  /** `count`: slots that were written. */
  clear(count: number): void {
    for (let i = 0; i < count; i++) this.#scores[this.#slots[i]!] = 0;
  }
}
