import type { BlockShape } from '../kernel/blockShape.js';

/** When the row of each slot was inserted, and no row of a block later: what decay needs to know of a collection. */
export class InsertionTimes {
  readonly #insertedMs: number[] = [];
  readonly #newestMs: number[] = [];

  constructor(private readonly shape: BlockShape) {}

  /** To be called before the row of the slot can be found. Slots come in order when they are new. */
  set(slot: number, insertedMs: number): void {
    this.#insertedMs[slot] = insertedMs;
    const block = this.shape.blockOf(slot);
    this.#newestMs[block] = Math.max(this.#newestMs[block] ?? insertedMs, insertedMs);
  }

  /** Of the row that has the slot, or had it last; unix milliseconds. */
  of(slot: number): number {
    return this.#insertedMs[slot]!;
  }

  /** No row of block `index` was inserted later. It does not fall when rows go. */
  newestIn(index: number): number {
    return this.#newestMs[index] ?? Number.NEGATIVE_INFINITY;
  }
}
