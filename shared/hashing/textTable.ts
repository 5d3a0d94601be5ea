/**
 * A number for each of many texts, known by their keys (`mapKey`).
 *
 * A `Map` of half a million strings takes 0.1 s and more to grow, and one of 16 million cannot grow. Once this table is large,
 * it divides its keys among many maps by a secret hash, so that each addition takes microseconds.
 */
import { textHash } from './textHash.js';

/** The most keys in one map before it is divided, which takes about 2 ms. */
const WHOLE_MAX = 1 << 14;
const PARTS = 256;
/** A part is chosen by the highest byte of 32 bits. */
const PART_SHIFT = 24;

type Part = Map<string, number>;

export class TextTable {
  #parts: readonly Part[] = [new Map()];

  /** The number of keys in the largest map. */
  get largestPart(): number {
    return this.#parts.reduce((largest, { size }) => Math.max(largest, size), 0);
  }

  find(key: string): number | undefined {
    return this.#partOf(key).get(key);
  }

  /** Returns the number of a key: `next`, unless it was added before. */
  add(key: string, next: number): number {
    const part = this.#partOf(key);
    const known = part.get(key);
    if (known !== undefined) return known;
    part.set(key, next);
    if (this.#parts.length === 1 && part.size > WHOLE_MAX) this.#divide(part);
    return next;
  }

  delete(key: string): void {
    this.#partOf(key).delete(key);
  }

  #partOf(key: string): Part {
    return this.#parts[this.#parts.length === 1 ? 0 : textHash(key) >>> PART_SHIFT]!;
  }

  #divide(whole: Part): void {
    this.#parts = Array.from({ length: PARTS }, () => new Map<string, number>());
    for (const [key, number] of whole) this.#partOf(key).set(key, number);
  }
}
