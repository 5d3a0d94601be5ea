import type { RecordWork } from './recordFilter.js';

/** Slots whose metadata was written during or after a selection, and the work of judging them again. */
export class WrittenSlots {
  readonly #works = new Map<number, number>();
  #work = 0;

  constructor(private readonly recordWork: RecordWork) {}

  get isEmpty(): boolean {
    return this.#works.size === 0;
  }

  /** Work of judging all of them. */
  get work(): number {
    return this.#work;
  }

  /** Adds a slot. `sizeBytes`: the size of the new metadata; undefined if the record has none. */
  add(slot: number, sizeBytes = 0): void {
    this.#set(slot, this.recordWork.of(sizeBytes));
  }

  addAll(others: WrittenSlots): void {
    for (const [slot, work] of others.#works) this.#set(slot, work);
  }

  /** Takes the slots one by one until none is left. More may be added in between. */
  *taken(): Generator<number> {
    for (const [slot, work] of this.#works) {
      this.#works.delete(slot);
      this.#work -= work;
      yield slot;
    }
  }

  #set(slot: number, work: number): void {
    this.#work += work - (this.#works.get(slot) ?? 0);
    this.#works.set(slot, work);
  }
}
