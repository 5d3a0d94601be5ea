const FIRST_CAPACITY = 1024;

/** Rows that may be among the nearest, each with a lower bound of its squared distance. */
export class FoundRows {
  #slots = new Uint32Array(FIRST_CAPACITY);
  #lowerBounds = new Float64Array(FIRST_CAPACITY);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(slot: number, lowerBound: number): void {
    if (this.#count === this.#slots.length) this.#grow();
    this.#slots[this.#count] = slot;
    this.#lowerBounds[this.#count++] = lowerBound;
  }

  /** Removes the rows whose squared distance is above `largest`, by their lower bounds. */
  keepWithin(largest: number): void {
    let kept = 0;
    for (let at = 0; at < this.#count; at++) {
      if (this.#lowerBounds[at]! > largest) continue;
      this.#slots[kept] = this.#slots[at]!;
      this.#lowerBounds[kept++] = this.#lowerBounds[at]!;
    }
    this.#count = kept;
  }

  /** Returns a copy of the slots. */
  slots(): Uint32Array {
    return this.#slots.slice(0, this.#count);
  }

  #grow(): void {
    const [slots, lowerBounds] = [this.#slots, this.#lowerBounds];
    this.#slots = new Uint32Array(2 * slots.length);
    this.#slots.set(slots);
    this.#lowerBounds = new Float64Array(2 * lowerBounds.length);
    this.#lowerBounds.set(lowerBounds);
  }
}
