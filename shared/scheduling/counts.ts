/** Counts by key; a count of 0 is not kept. */
export class Counts<K> {
  readonly #counts = new Map<K, number>();

  get size(): number {
    return this.#counts.size;
  }

  of(key: K): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: K, by: number): void {
    const count = this.of(key) + by;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}
