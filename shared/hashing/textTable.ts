/**
 * Strings that a client chose, each with a number.
 *
 * A `Map` of half a million strings takes 0.1 s and more to grow, and one of 16 million cannot grow. This table divides its
 * strings among many maps once it is large, by a hash with secret words, so that each addition takes microseconds.
 */
import { type Entropy, systemEntropy } from '../clock.js';

/** Strings that are held in one map: dividing them takes about 2 ms. */
const WHOLE_MAX = 1 << 14;
const PART_BITS = 8;
const WORD_BYTES = 4;

/**
 * A text under which a client's string is a key of a `Map` or `Set`: equal for equal strings alone, and never of digits only.
 * Node before 20.20.2, 22.22.2 and 24.14.1 hashes strings of digits without a seed. No key begins with the character 0.
 */
export function textKey(text: string): string {
  const first = text.charCodeAt(0);
  return first <= ESCAPE_CODE || (first >= ZERO_CODE && first <= NINE_CODE) ? ESCAPE + text : text;
}

const ESCAPE_CODE = 1;
const ESCAPE = String.fromCharCode(ESCAPE_CODE);
const ZERO_CODE = 0x30;
const NINE_CODE = 0x39;

export class TextTable {
  #parts: readonly Map<string, number>[] = [new Map()];
  #size = 0;
  readonly #start: number;
  readonly #factor: number;

  /** `entropy`: for tests. */
  constructor(entropy: Entropy = systemEntropy) {
    const bytes = Uint8Array.from(entropy(2 * WORD_BYTES));
    const [start, factor] = new Uint32Array(bytes.buffer);
    this.#start = start!;
    this.#factor = factor! | 1;
  }

  get size(): number {
    return this.#size;
  }

  /** The strings in the largest of the maps. */
  get largestPart(): number {
    return this.#parts.reduce((largest, { size }) => Math.max(largest, size), 0);
  }

  /** The number of a string: `next`, unless it was added before. */
  add(text: string, next: number): number {
    const key = textKey(text);
    const part = this.#partOf(key);
    const known = part.get(key);
    if (known !== undefined) return known;
    part.set(key, next);
    if (++this.#size === WHOLE_MAX) this.#divide();
    return next;
  }

  #partOf(key: string): Map<string, number> {
    return this.#parts.length === 1 ? this.#parts[0]! : this.#parts[this.#hashOf(key)]!;
  }

  #divide(): void {
    const whole = this.#parts[0]!;
    this.#parts = Array.from({ length: 1 << PART_BITS }, () => new Map<string, number>());
    for (const [key, number] of whole) this.#partOf(key).set(key, number);
  }

  #hashOf(key: string): number {
    let hash = this.#start;
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), this.#factor) ^ (hash >>> 15);
    return Math.imul(hash, this.#factor) >>> (32 - PART_BITS);
  }
}
