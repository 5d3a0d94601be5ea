import type { Hits } from './scanScratch.js';

/** Sorted by score / weight, then by score, then by id. */
export interface WeightedHits extends Hits {
  readonly weights: Float64Array;
}

/**
 * The `capacity` rows that come first by score / weight, then by score, then by id, of those that were offered: a
 * binary heap of entry numbers whose root is the last of them.
 */
export class WeightedHeap {
  readonly #ids: Float64Array;
  readonly #scores: Float64Array;
  readonly #weights: Float64Array;
  /** Scores / weights. */
  readonly #distances: Float64Array;
  readonly #slots: Uint32Array;
  readonly #heap: Uint32Array;
  #count = 0;

  constructor(private readonly capacity: number) {
    this.#ids = new Float64Array(capacity);
    this.#scores = new Float64Array(capacity);
    this.#weights = new Float64Array(capacity);
    this.#distances = new Float64Array(capacity);
    this.#slots = new Uint32Array(capacity);
    this.#heap = new Uint32Array(capacity);
  }

  /** A row whose score / weight is above this is not taken in: that of the last row, infinite where there is room. */
  get worst(): number {
    return this.#count < this.capacity ? Number.POSITIVE_INFINITY : this.#distances[this.#heap[0]!]!;
  }

  /** The ids in it, in no order. */
  get ids(): Float64Array {
    return this.#ids.subarray(0, this.#count);
  }

  offer(id: number, slot: number, score: number, weight: number): void {
    const distance = score / weight;
    if (this.#count < this.capacity) {
      this.#write(this.#count, id, slot, score, weight, distance);
      this.#siftUp(this.#count++);
    } else if (this.capacity > 0) {
      const last = this.#heap[0]!;
      if (!this.#isAfter(last, distance, score, id)) return;
      this.#write(last, id, slot, score, weight, distance);
      this.#siftDown(this.#count);
    }
  }

  /** What is in it, in order. Nothing can be offered afterwards. */
  hits(): WeightedHits {
    const count = this.#count;
    const heap = this.#heap;
    for (let last = count - 1; last > 0; last--) {
      const root = heap[0]!;
      heap[0] = heap[last]!;
      heap[last] = root;
      this.#siftDown(last);
    }
    const order = heap.subarray(0, count);
    const inOrder = (column: Float64Array): Float64Array => Float64Array.from(order, (entry) => column[entry]!);
    return {
      ids: inOrder(this.#ids),
      slots: order.map((entry) => this.#slots[entry]!),
      scores: inOrder(this.#scores),
      weights: inOrder(this.#weights),
    };
  }

  #write(entry: number, id: number, slot: number, score: number, weight: number, distance: number): void {
    this.#ids[entry] = id;
    this.#slots[entry] = slot;
    this.#scores[entry] = score;
    this.#weights[entry] = weight;
    this.#distances[entry] = distance;
  }

  /** Whether the entry comes after a row. */
  #isAfter(entry: number, distance: number, score: number, id: number): boolean {
    if (this.#distances[entry] !== distance) return this.#distances[entry]! > distance;
    if (this.#scores[entry] !== score) return this.#scores[entry]! > score;
    return this.#ids[entry]! > id;
  }

  #isEntryAfter(entry: number, other: number): boolean {
    return this.#isAfter(entry, this.#distances[other]!, this.#scores[other]!, this.#ids[other]!);
  }

  /** Puts entry `count` into a heap of as many. */
  #siftUp(count: number): void {
    const heap = this.#heap;
    let index = count;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      if (this.#isEntryAfter(heap[parent]!, count)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = count;
  }

  /** Puts the root of a heap of `count` where it belongs. */
  #siftDown(count: number): void {
    const heap = this.#heap;
    const entry = heap[0]!;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= count) break;
      if (child + 1 < count && this.#isEntryAfter(heap[child + 1]!, heap[child]!)) child++;
      if (!this.#isEntryAfter(heap[child]!, entry)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = entry;
  }
}
