const FIRST_CAPACITY = 1024;

/** Rows that may be among the nearest, each with a lower bound of its distance. */
export class FoundRows {
  #slots = new Uint32Array(FIRST_CAPACITY);
  #least = new Float64Array(FIRST_CAPACITY);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(slot: number, least: number): void {
    if (this.#count === this.#slots.length) this.#grow();
    this.#slots[this.#count] = slot;
    this.#least[this.#count++] = least;
  }

  /** Drops the rows that cannot be within `most`. */
  keepWithin(most: number): void {
    let kept = 0;
    for (let at = 0; at < this.#count; at++) {
      if (this.#least[at]! > most) continue;
      this.#slots[kept] = this.#slots[at]!;
      this.#least[kept++] = this.#least[at]!;
    }
    this.#count = kept;
  }

  /** Returns a copy of the slots. */
  slots(): Uint32Array {
    return this.#slots.slice(0, this.#count);
  }

  #grow(): void {
    const [slots, least] = [this.#slots, this.#least];
    this.#slots = new Uint32Array(2 * slots.length);
    this.#slots.set(slots);
    this.#least = new Float64Array(2 * least.length);
    this.#least.set(least);
  }
}
