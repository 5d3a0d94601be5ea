const NONE = -1;
const FIRST_CAPACITY = 1024;

/**
 * Rows by their vectors. Of rows with equal vectors the graph holds one: a few dozen equal nodes link to each other
 * alone, and neither they nor what lies behind them is found any more. The others hang in a ring with it.
 *
 * It also finds a row by its own vector where the graph does not, as for one row in four of real data at the default
 * width. Takes 12 to 20 bytes a row.
 */
export class EqualRows {
  /** Open addressing: one ordinal of each ring, under its hash. A power of two, less than half full. */
  #table = new Int32Array(2 * FIRST_CAPACITY).fill(NONE);
  #rings = 0;
  /** By ordinal: the next of its ring, which is itself where it is alone. */
  #next = alone(FIRST_CAPACITY);
  #hashes = new Int32Array(FIRST_CAPACITY);

  /** `componentsOf`: undefined for rows that are gone. */
  constructor(private readonly componentsOf: (ordinal: number) => Int32Array | undefined) {}

  get bytes(): number {
    return this.#table.byteLength + this.#next.byteLength + this.#hashes.byteLength;
  }

  /** True where there is a row with the same components already; each ordinal comes once. */
  add(ordinal: number, components: Int32Array): boolean {
    this.#reserve(ordinal + 1);
    const hash = hashOf(components);
    this.#hashes[ordinal] = hash;
    const mask = this.#table.length - 1;
    let at = hash & mask;
    for (; this.#table[at] !== NONE; at = (at + 1) & mask) {
      const other = this.#table[at]!;
      if (this.#hashes[other] !== hash || !this.#isEqual(other, components)) continue;
      this.#next[ordinal] = this.#next[other]!;
      this.#next[other] = ordinal;
      return true;
    }
    this.#table[at] = ordinal;
    this.#rings++;
    return false;
  }

  /** Calls `visit` for every row of the ring that `ordinal` is in, until it returns false; what was not added is alone. */
  ring(ordinal: number, visit: (ordinal: number) => boolean): void {
    let current = ordinal;
    do {
      if (!visit(current)) return;
      current = this.#next[current] ?? ordinal;
    } while (current !== ordinal);
  }

  /** Of each ring that may have these components, one row. Another's hash may be the same. */
  find(components: Int32Array, visit: (ordinal: number) => void): void {
    const hash = hashOf(components);
    const mask = this.#table.length - 1;
    for (let at = hash & mask; this.#table[at] !== NONE; at = (at + 1) & mask)
      if (this.#hashes[this.#table[at]!] === hash) visit(this.#table[at]!);
  }

  #isEqual(ordinal: number, components: Int32Array): boolean {
    let equal = false;
    this.ring(ordinal, (member) => {
      const others = this.componentsOf(member);
      equal = others?.every((component, i) => component === components[i]) ?? false;
      return others === undefined;
    });
    return equal;
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

/** MurmurHash3's mixing, 32 bits, a component at a time. */
function hashOf(components: Int32Array): number {
  let hash = 0;
  for (let i = 0; i < components.length; i++) {
    let word = Math.imul(components[i]!, 0xcc9e2d51);
    word = (word << 15) | (word >>> 17);
    hash ^= Math.imul(word, 0x1b873593);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
