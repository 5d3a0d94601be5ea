/**
 * An allocator for very many short lists: blocks of 32-bit words in pages. A block of up to eight words has the
 * requested length. A longer one has up to a quarter more (four lengths to the octave), so that freed blocks fit again.
 * An address is a page and a place in it; 0 means none. Free blocks of one length are chained through their first word.
 * The pages are freed when all blocks are.
 */

const PAGE_BITS = 12;
const PAGE_WORDS = 1 << PAGE_BITS;
/** Words of the first page, which is shorter since most stores are small. */
const FIRST_PAGE_WORDS = PAGE_WORDS / 4;
/** Longer blocks have their own pages, which are freed with them. */
const SHARED_MAX_WORDS = PAGE_WORDS / 8;
const EXACT_MAX_WORDS = 8;
const NOTHING = new Uint32Array(0);

/** Returns the length of a block for `words`, at least 1. */
export function capacityOf(words: number): number {
  if (words <= EXACT_MAX_WORDS) return words;
  const step = 2 ** (29 - Math.clz32(words - 1));
  return Math.ceil(words / step) * step;
}

export class BlockStore {
  readonly #pages: Uint32Array[] = [];
  /** Numbers of freed pages. */
  readonly #unused: number[] = [];
  /** First free block of each capacity; empty until a block is freed. */
  #free = NOTHING;
  /** Part of the current page that is not yet cut into blocks. */
  #next = 0;
  #end = 0;
  #bytes = 0;
  /** Words of blocks in use. */
  #taken = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the page of the block, which begins at `offsetOf(address)`. */
  pageOf(address: number): Uint32Array {
    return this.#pages[address >>> PAGE_BITS]!;
  }

  /** Returns a block of `capacityOf(words)` words, with any content. */
  allocate(words: number): number {
    const capacity = capacityOf(words);
    this.#taken += capacity;
    if (capacity > SHARED_MAX_WORDS) return this.#addPage(capacity);
    const free = this.#free[capacity] ?? 0;
    if (free === 0) return this.#cut(capacity);
    this.#free[capacity] = this.pageOf(free)[offsetOf(free)]!;
    return free;
  }

  /** Frees a block. `words`: as allocated, or the block's capacity. */
  free(address: number, words: number): void {
    const capacity = capacityOf(words);
    this.#taken -= capacity;
    if (this.#taken === 0) this.#clear();
    else if (capacity > SHARED_MAX_WORDS) this.#dropPage(address >>> PAGE_BITS);
    else {
      if (this.#free === NOTHING) this.#free = new Uint32Array(SHARED_MAX_WORDS + 1);
      this.pageOf(address)[offsetOf(address)] = this.#free[capacity]!;
      this.#free[capacity] = address;
    }
  }

  #cut(capacity: number): number {
    if (this.#next + capacity > this.#end) {
      const words = this.#end === 0 ? FIRST_PAGE_WORDS : PAGE_WORDS;
      const address = this.#addPage(words);
      this.#end = address + words;
      // The very first word would have address 0, which means none.
      this.#next = Math.max(address, 1);
    }
    const address = this.#next;
    this.#next += capacity;
    return address;
  }

  #addPage(words: number): number {
    // Only a page with cut blocks may be page 0. A block with its own page would have address 0 there, which means
    // none.
    if (this.#pages.length === 0 && words !== FIRST_PAGE_WORDS) this.#pages.push(NOTHING);
    const number = this.#unused.pop() ?? this.#pages.length;
    this.#pages[number] = new Uint32Array(words);
    this.#bytes += 4 * words;
    return number * PAGE_WORDS;
  }

  #dropPage(number: number): void {
    this.#bytes -= this.#pages[number]!.byteLength;
    this.#pages[number] = NOTHING;
    this.#unused.push(number);
  }

  #clear(): void {
    this.#pages.length = 0;
    this.#unused.length = 0;
    this.#free = NOTHING;
    this.#next = 0;
    this.#end = 0;
    this.#bytes = 0;
  }
}

export const offsetOf = (address: number): number => address & (PAGE_WORDS - 1);
