/** The newest request ids of a collection, and their writes. It follows from the log alone, like the rest of the state. */

/** In place of a record id: the request deleted records, and its `sequence` is that of the event `deleteMany`. */
export const NO_RECORD = 0;

export interface AppliedRequest {
  /** Or `NO_RECORD`. */
  readonly recordId: number;
  readonly sequence: number;
}

interface Kept extends AppliedRequest {
  /** Counts all keys that were ever added. */
  readonly place: number;
}

/** The look-up is kept in parts, so that none of them takes long to grow or to close its gaps. */
const PARTS = 64;

const partOf = (key: string): number => key.charCodeAt(key.length - 1) % PARTS;

/** Keys are made by `byteKey`. */
export class DedupWindow {
  readonly #applied = Array.from({ length: PARTS }, () => new Map<string, Kept>());
  /** In the order of their places, the first of which is `#first`. A key that was added again is behind, too. */
  readonly #order: string[] = [];
  #first = 0;
  /** The first of the order that may be kept. */
  #oldest = 0;
  #size = 0;

  constructor(readonly capacity: number) {}

  get size(): number {
    return this.#size;
  }

  /** Oldest first; adding them in this order makes the same window. */
  *entries(): Generator<[string, AppliedRequest]> {
    for (let at = this.#oldest; at < this.#order.length; at++) {
      const key = this.#order[at]!;
      const kept = this.#keptAt(at);
      if (kept !== undefined) yield [key, { recordId: kept.recordId, sequence: kept.sequence }];
    }
  }

  find(key: string): AppliedRequest | undefined {
    return this.#applied[partOf(key)]!.get(key);
  }

  add(key: string, { recordId, sequence }: AppliedRequest): void {
    const part = this.#applied[partOf(key)]!;
    // A window that was smaller before let a key in twice; its age counts from the later time.
    if (!part.has(key)) this.#size++;
    part.set(key, { recordId, sequence, place: this.#first + this.#order.length });
    this.#order.push(key);
    while (this.#size > this.capacity) this.#forgetOldest();
  }

  #keptAt(at: number): Kept | undefined {
    const key = this.#order[at]!;
    const kept = this.#applied[partOf(key)]!.get(key);
    return kept?.place === this.#first + at ? kept : undefined;
  }

  #forgetOldest(): void {
    const isKept = this.#keptAt(this.#oldest) !== undefined;
    const key = this.#order[this.#oldest++]!;
    if (isKept) {
      this.#applied[partOf(key)]!.delete(key);
      this.#size--;
    }
    if (this.#oldest <= this.capacity) return;
    this.#order.splice(0, this.#oldest);
    this.#first += this.#oldest;
    this.#oldest = 0;
  }
}
