/** Leaves of a past state tree, found by reading the leaf journal from that write on: about 0.2 µs per change. */
import type { LeafJournal } from './leafJournal.js';
import type { Overrides } from './merkleTree.js';

/** Changes read between two pauses: about 0.2 ms. */
const CHANGES_PER_STEP = 1_024;

/** Bits of a word. Each word has one bit in the level above. */
const WORD_SHIFT = 5;
/** Leaves of a page of places, 1,024. */
const PAGE_SHIFT = 10;

/**
 * The leaves below `size` that have changed since the write `sequence`, as they were after it. To find them, it reads
 * each change made since, a few at a time. `follow` adds later changes.
 *
 * Memory, while in use: 4 bytes per leaf of a page with a changed one, and one bit per leaf.
 */
export class PastLeaves implements Overrides {
  /** Pages by leaf index: 1 + the place in the journal of the first change since, or 0. A map would pause to grow. */
  readonly #places: (Int32Array | undefined)[] = [];
  /** Whether the leaf has an entry; in each level above, whether any of 32 below has one. */
  readonly #levels: Uint32Array[] = [];
  #next: number;

  constructor(
    private readonly journal: LeafJournal,
    sequence: number,
    private readonly size: number,
  ) {
    this.#next = journal.firstSince(sequence + 1);
  }

  /** Adds the changes up to the journal's end. Yields where the caller may pause. */
  *follow(): Generator<undefined, void> {
    let looked = 0;
    for (; this.#next < this.journal.length; this.#next++) {
      const index = this.journal.indexAt(this.#next);
      if (index < this.size && this.#placeOf(index) === 0) this.#add(index, this.#next);
      if (++looked % CHANGES_PER_STEP === 0) yield;
    }
  }

  isAny(low: number, high: number): boolean {
    if (this.#levels.length === 0) return false;
    let level = 0;
    let from = low;
    let last = high - 1;
    // Ascend to the level where the range is within one word.
    for (; from >>> WORD_SHIFT !== last >>> WORD_SHIFT; level++) {
      from >>>= WORD_SHIFT;
      last >>>= WORD_SHIFT;
    }
    const mask = (0xffff_ffff >>> (31 - (last & 31))) & (0xffff_ffff << (from & 31));
    return (this.#levels[level]![from >>> WORD_SHIFT]! & mask) !== 0;
  }

  leaf(index: number): Uint8Array {
    return this.journal.oldLeafAt(this.#placeOf(index) - 1);
  }

  #placeOf(index: number): number {
    return this.#places[index >>> PAGE_SHIFT]?.[index % (1 << PAGE_SHIFT)] ?? 0;
  }

  #add(index: number, place: number): void {
    if (this.#levels.length === 0) this.#makeLevels();
    const page = this.#places[index >>> PAGE_SHIFT] ?? new Int32Array(1 << PAGE_SHIFT);
    page[index % (1 << PAGE_SHIFT)] = place + 1;
    this.#places[index >>> PAGE_SHIFT] = page;
    let bit = index;
    for (const level of this.#levels) {
      const word = bit >>> WORD_SHIFT;
      level[word] = level[word]! | (1 << (bit & 31));
      bit = word;
    }
  }

  /** Makes the levels at the first change. The newest write, whose receipt is requested most often, needs none. */
  #makeLevels(): void {
    let bits = this.size;
    do {
      bits = (bits + 31) >>> WORD_SHIFT;
      this.#levels.push(new Uint32Array(bits));
    } while (bits > 1);
  }
}
