import { TopK } from '../../kernel/topK.js';
import { ROUNDING } from './codeShape.js';

const FIRST_CAPACITY = 1024;

/**
 * The rows that may be among the nearest `k` of those offered, where only bounds of each distance are known: a row whose
 * lower bound is above the k-th smallest upper bound is not among them.
 */
export class NearestRows {
  /** The smallest upper bounds, as keys. */
  readonly #uppers: TopK;
  #slots = new Uint32Array(FIRST_CAPACITY);
  #lowers = new Float64Array(FIRST_CAPACITY);
  #count = 0;
  /** The k-th smallest upper bound; infinite before `k` rows were offered. */
  limit = Number.POSITIVE_INFINITY;

  /** `k`: at least 1. */
  constructor(k: number) {
    this.#uppers = new TopK(k);
  }

  get isFull(): boolean {
    return this.limit < Number.POSITIVE_INFINITY;
  }

  offer(slot: number, lower: number, upper: number): void {
    if (lower > this.limit * ROUNDING) return;
    if (this.#count === this.#slots.length) this.#grow();
    this.#slots[this.#count] = slot;
    this.#lowers[this.#count++] = lower;
    if (upper >= this.limit) return;
    this.#uppers.offer(slot, upper, 0);
    this.limit = this.#uppers.worst;
  }

  slots(): Uint32Array {
    this.#dropFar();
    return this.#slots.slice(0, this.#count);
  }

  #grow(): void {
    this.#dropFar();
    if (this.#count * 2 < this.#slots.length) return;
    const [slots, lowers] = [this.#slots, this.#lowers];
    this.#slots = new Uint32Array(2 * slots.length);
    this.#slots.set(slots);
    this.#lowers = new Float64Array(2 * lowers.length);
    this.#lowers.set(lowers);
  }

  /** Drops rows that were taken when the limit was higher. */
  #dropFar(): void {
    const limit = this.limit * ROUNDING;
    let kept = 0;
    for (let at = 0; at < this.#count; at++) {
      if (this.#lowers[at]! > limit) continue;
      this.#slots[kept] = this.#slots[at]!;
      this.#lowers[kept++] = this.#lowers[at]!;
    }
    this.#count = kept;
  }
}
