export const NONE = -1;
const FIRST_CAPACITY = 1024;

/**
 * Rows by their vectors, as the graph stores them. Rows with equal vectors form a ring, and the graph has one node per ring.
 * A few dozen nodes with equal vectors would link only to each other: no search would reach them, nor the nodes behind them.
 *
 * Also finds the rows whose vector equals a query. For a quarter of real rows, a search of the graph at the default width
 * misses the row itself. Takes 12 to 20 bytes a row.
 */
export class EqualRows {
  /** Hash table with open addressing: one ordinal per ring. Its length is a power of two; less than half of it is used. */
  #table = new Int32Array(2 * FIRST_CAPACITY).fill(NONE);
  #rings = 0;
  /** For each ordinal the next row of its ring; the row itself if it is alone. */
  #next = alone(FIRST_CAPACITY);
  #hashes = new Int32Array(FIRST_CAPACITY);

  /** `vectorOf`: returns the words of a row's stored vector; undefined for a row that is gone and has no node. */
  constructor(readonly vectorOf: (ordinal: number) => Int32Array | undefined) {}

  get bytes(): number {
    return this.#table.byteLength + this.#next.byteLength + this.#hashes.byteLength;
  }

  /** Adds an ordinal, which must be new. Returns the first row with an equal vector, which may be gone; NONE without one. */
  add(ordinal: number, vector: Int32Array): number {
    this.#reserve(ordinal + 1);
    const hash = hashOf(vector);
    this.#hashes[ordinal] = hash;
    const mask = this.#table.length - 1;
    let at = hash & mask;
    for (; this.#table[at] !== NONE; at = (at + 1) & mask) {
      const other = this.#table[at]!;
      if (this.#hashes[other] !== hash || !this.#isEqual(other, vector)) continue;
      this.#next[ordinal] = this.#next[other]!;
      this.#next[other] = ordinal;
      return other;
    }
    this.#table[at] = ordinal;
    this.#rings++;
    return NONE;
  }

  /** Overwrites the hash of a row whose vector is erased. It is found no more. */
  erase(ordinal: number): void {
    this.#hashes[ordinal] = 0;
  }

  /** Calls `visit` for the rows of the ring of `ordinal`, until it returns false. A row that was not added is alone. */
  ring(ordinal: number, visit: (ordinal: number) => boolean): void {
    let current = ordinal;
    do {
      if (!visit(current)) return;
      current = this.#next[current] ?? ordinal;
    } while (current !== ordinal);
  }

  /** Calls `visit` for one row of each ring whose vector has the hash of this one: nearly always an equal vector. */
  find(vector: Int32Array, visit: (ordinal: number) => void): void {
    const hash = hashOf(vector);
    const mask = this.#table.length - 1;
    for (let at = hash & mask; this.#table[at] !== NONE; at = (at + 1) & mask)
      if (this.#hashes[this.#table[at]!] === hash) visit(this.#table[at]!);
  }

  #isEqual(ordinal: number, vector: Int32Array): boolean {
    return this.vectorOf(ordinal)?.every((word, i) => word === vector[i]) ?? false;
  }

  #reserve(count: number): void {
    if (count > this.#next.length) {
      const length = Math.max(count, this.#next.length + (this.#next.length >>> 1));
      this.#next = copied(this.#next, alone(length));
      this.#hashes = copied(this.#hashes, new Int32Array(length));
    }
    if (2 * (this.#rings + 1) > this.#table.length) this.#rehash();
  }

  #rehash(): void {
    const old = this.#table;
    this.#table = new Int32Array(2 * old.length).fill(NONE);
    const mask = this.#table.length - 1;
    for (const ordinal of old) {
      if (ordinal === NONE) continue;
      let at = this.#hashes[ordinal]! & mask;
      while (this.#table[at] !== NONE) at = (at + 1) & mask;
      this.#table[at] = ordinal;
    }
  }
}

const alone = (count: number): Int32Array<ArrayBuffer> => Int32Array.from({ length: count }, (_, ordinal) => ordinal);

function copied(from: Int32Array, to: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  to.set(from);
  return to;
}

/** MurmurHash3, 32 bits, one word at a time. */
function hashOf(words: Int32Array): number {
  let hash = 0;
  for (let i = 0; i < words.length; i++) {
    let word = Math.imul(words[i]!, 0xcc9e2d51);
    word = (word << 15) | (word >>> 17);
    hash ^= Math.imul(word, 0x1b873593);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
