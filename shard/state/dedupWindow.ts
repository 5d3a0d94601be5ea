/**
 * The newest request ids of a collection, and their writes. Two files ask it: `plannedRequests.ts` about each insert and
 * `deleteMany` of a commit, and `collectionVault.ts` about an encrypted insert before its payload is encrypted. The window
 * follows from the log alone, like the rest of the state.
 */

/** Record id of a request that deleted records. Its `sequence` is that of the `deleteMany` event. */
export const NO_RECORD = 0;

export interface AppliedRequest {
  /** Record that the request wrote, or `NO_RECORD`. */
  readonly recordId: number;
  readonly sequence: number;
}

interface Kept extends AppliedRequest {
  /** Number of keys that were ever added before this one. */
  readonly place: number;
}

/** The look-up is divided into this many maps, so that no map takes long to grow or to compact. */
const PARTS = 64;

const partOf = (key: string): number => key.charCodeAt(key.length - 1) % PARTS;

/** Keys are results of `byteKey`. */
export class DedupWindow {
  readonly #applied = Array.from({ length: PARTS }, () => new Map<string, Kept>());
  /** Keys by place, from `#first` on. A key that was added again has a second, later place. */
  readonly #order: string[] = [];
  #first = 0;
  /** Index in `#order` below which no key is kept. */
  #oldest = 0;
  #size = 0;

  constructor(readonly capacity: number) {}

  get size(): number {
    return this.#size;
  }

  /** Yields the entries, oldest first. Adding them in this order makes an equal window. */
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
    // While the window was smaller, a forgotten key could be added again. Its age counts from the later time.
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
