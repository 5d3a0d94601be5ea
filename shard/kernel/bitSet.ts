/** A bitmap of 32-bit words, a bit per number. The kernel reads two words as a u64. */
const WORD_BITS = 32;
const UNKNOWN = -1;

/** A set of whole numbers from 0: number n is bit n % 32 of word n / 32. */
export class BitSet {
  #words: Uint32Array;
  /** Counted on first use, then kept. */
  #count = UNKNOWN;

  /** Views `words`, which may lie in the kernel's memory. A set that must grow moves to a longer array. */
  constructor(words: Uint32Array) {
    this.#words = words;
  }

  /** An empty set with room for the numbers below `size`. */
  static ofSize(size: number): BitSet {
    return new BitSet(new Uint32Array(Math.ceil(size / WORD_BITS)));
  }

  get words(): Uint32Array {
    return this.#words;
  }

  get count(): number {
    if (this.#count === UNKNOWN) {
      const words = this.#words;
      let count = 0;
      for (let i = 0; i < words.length; i++) if (words[i] !== 0) count += bitCount(words[i]!);
      this.#count = count;
    }
    return this.#count;
  }

  get isEmpty(): boolean {
    if (this.#count !== UNKNOWN) return this.#count === 0;
    const words = this.#words;
    for (let i = 0; i < words.length; i++) if (words[i] !== 0) return false;
    return true;
  }

  /** Returns the number of numbers in both. */
  countShared({ words }: BitSet): number {
    const own = this.#words;
    let count = 0;
    for (let i = Math.min(own.length, words.length) - 1; i >= 0; i--) count += bitCount(own[i]! & words[i]!);
    return count;
  }

  has(number: number): boolean {
    const at = number >>> 5;
    return at < this.#words.length && ((this.#words[at]! >>> (number & 31)) & 1) === 1;
  }

  /** Returns false if the number was in the set already. */
  add(number: number): boolean {
    const at = number >>> 5;
    if (at >= this.#words.length) this.#grow(at);
    const bit = 1 << (number & 31);
    if ((this.#words[at]! & bit) !== 0) return false;
    this.#words[at]! |= bit;
    if (this.#count !== UNKNOWN) this.#count++;
    return true;
  }

  /** Returns false if the number was not in the set. */
  delete(number: number): boolean {
    if (!this.has(number)) return false;
    this.#words[number >>> 5]! ^= 1 << (number & 31);
    if (this.#count !== UNKNOWN) this.#count--;
    return true;
  }

  /** Adds the numbers of word `at` whose bits are set. Does nothing beyond the set's room. */
  addWord(at: number, bits: number): void {
    this.#words[at]! |= bits;
    this.#count = UNKNOWN;
  }

  /** Adds the other set's numbers below the room of this one. */
  unite({ words }: BitSet): this {
    const own = this.#words;
    for (let i = Math.min(own.length, words.length) - 1; i >= 0; i--) own[i]! |= words[i]!;
    this.#count = UNKNOWN;
    return this;
  }

  intersect({ words }: BitSet): this {
    const own = this.#words;
    const shared = Math.min(own.length, words.length);
    for (let i = 0; i < shared; i++) own[i]! &= words[i]!;
    own.fill(0, shared);
    this.#count = UNKNOWN;
    return this;
  }

  subtract({ words }: BitSet): this {
    const own = this.#words;
    for (let i = Math.min(own.length, words.length) - 1; i >= 0; i--) own[i]! &= ~words[i]!;
    this.#count = UNKNOWN;
    return this;
  }

  /** Makes this set equal to the other. Returns undefined if their rooms differ. */
  copy({ words }: BitSet): this | undefined {
    if (words.length !== this.#words.length) return undefined;
    this.#words.set(words);
    this.#count = UNKNOWN;
    return this;
  }

  clone(): BitSet {
    return new BitSet(this.#words.slice());
  }

  /** Returns the numbers in ascending order. */
  toArray(): Uint32Array {
    const words = this.#words;
    const numbers = new Uint32Array(this.count);
    let end = 0;
    for (let at = 0; at < words.length; at++)
      for (let rest = words[at]!; rest !== 0; rest &= rest - 1)
        numbers[end++] = at * WORD_BITS + 31 - Math.clz32(rest & -rest);
    return numbers;
  }

  /** Returns the numbers from `first` to below `first` + `size`, less `first`. `words`: zeros, where the set is made. */
  slice(first: number, size: number, words: Uint32Array): BitSet {
    const from = this.#words;
    const shift = first & 31;
    const at = first >>> 5;
    // A shift by 32 would shift by 0. The loop reads no word beyond the set, which would be slow.
    const inside = Math.min(size >>> 5, from.length - at - 1);
    for (let i = 0; i < inside; i++) words[i] = (from[at + i]! >>> shift) | ((from[at + i + 1]! << 1) << (31 - shift));
    for (let i = Math.max(inside, 0); WORD_BITS * i < size && at + i < from.length; i++) {
      const word = (from[at + i]! >>> shift) | (((from[at + i + 1] ?? 0) << 1) << (31 - shift));
      const left = size - WORD_BITS * i;
      words[i] = left < WORD_BITS ? word & ((1 << left) - 1) : word;
    }
    return new BitSet(words);
  }

  /** Yields the numbers in ascending order. */
  *[Symbol.iterator](): Generator<number> {
    for (let at = 0; at < this.#words.length; at++)
      for (let rest = this.#words[at]!; rest !== 0; rest &= rest - 1)
        yield at * WORD_BITS + 31 - Math.clz32(rest & -rest);
  }

  #grow(at: number): void {
    const grown = new Uint32Array(Math.max(at + 1, Math.ceil(this.#words.length * 1.25)));
    grown.set(this.#words);
    this.#words = grown;
  }
}

/** Counts the set bits: adds them in pairs, then fours, then bytes. */
function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
