import { ROUNDING } from './codeShape.js';

const FIRST_CAPACITY = 1024;

/**
 * The rows that may be the nearest `k` of those offered, where of each distance only bounds are known. No more than `k`
 * rows need be as far as the k-th least upper bound; who has a lower bound above that is not among them.
 */
export class NearestRows {
  /** A heap of the least upper bounds, the greatest first. */
  readonly #uppers: Float64Array;
  #held = 0;
  #slots = new Uint32Array(FIRST_CAPACITY);
  #lowers = new Float64Array(FIRST_CAPACITY);
  #count = 0;

  /** `k`: at least 1. */
  constructor(k: number) {
    this.#uppers = new Float64Array(k);
  }

  /** Rows farther than this are not among the nearest. */
  get limit(): number {
    return this.isFull ? this.#uppers[0]! : Number.POSITIVE_INFINITY;
  }

  /** Whether `k` rows were offered. */
  get isFull(): boolean {
    return this.#held === this.#uppers.length;
  }

  offer(slot: number, lower: number, upper: number): void {
    if (lower > this.limit * ROUNDING) return;
    if (this.#count === this.#slots.length) this.#makeRoom();
    this.#slots[this.#count] = slot;
    this.#lowers[this.#count++] = lower;
    if (!this.isFull) this.#siftUp(upper);
    else if (upper < this.limit) this.#siftDown(upper);
  }

  slots(): Uint32Array {
    this.#dropFar();
    return this.#slots.slice(0, this.#count);
  }

  #makeRoom(): void {
    this.#dropFar();
    if (this.#count * 2 < this.#slots.length) return;
    const [slots, lowers] = [this.#slots, this.#lowers];
    this.#slots = new Uint32Array(2 * slots.length);
    this.#slots.set(slots);
    this.#lowers = new Float64Array(2 * lowers.length);
    this.#lowers.set(lowers);
  }

  /** Rows taken when the limit was higher. */
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

  #siftUp(upper: number): void {
    const heap = this.#uppers;
    let at = this.#held++;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (heap[parent]! >= upper) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = upper;
  }

  /** Puts `upper` in the place of the greatest. */
  #siftDown(upper: number): void {
    const heap = this.#uppers;
    const count = heap.length;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= count) break;
      if (child + 1 < count && heap[child + 1]! > heap[child]!) child++;
      if (heap[child]! <= upper) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = upper;
  }
}
