/** The inverted index: a word of 4 bytes per term and text (`termWord.ts`). */
import { PagedInts } from '../kernel/pagedInts.js';
import { BlockStore, capacityOf, offsetOf } from './blockStore.js';
import { numberOf, wordOf } from './termWord.js';

/** A list that fills less than this share of its memory moves to a smaller block. */
const SPARSE = 1 / 4;

/**
 * The slots of the records that contain each term, with their counts, in no order. A removed posting is replaced by the
 * last, so that no posting is dead.
 */
export class Postings {
  readonly #store = new BlockStore();
  // Both are keyed by term.
  readonly #addresses = new PagedInts();
  readonly #lengths = new PagedInts();
  readonly #capacities = new PagedInts();

  get bytes(): number {
    return this.#store.bytes + this.#addresses.bytes + this.#lengths.bytes + this.#capacities.bytes;
  }

  /** Returns the number of records that contain the term. */
  lengthOf(term: number): number {
    return this.#lengths.get(term);
  }

  /** Returns the page with the term's list, which begins at `startOf(term)`. Valid until the list changes. */
  pageOf(term: number): Uint32Array {
    return this.#store.pageOf(this.#addressOf(term));
  }

  startOf(term: number): number {
    return offsetOf(this.#addressOf(term));
  }

  /** Returns the slot at a position of the term's list. */
  slotAt(term: number, position: number): number {
    return numberOf(this.pageOf(term)[this.startOf(term) + position]!);
  }

  /** Adds a posting, and returns its position in the list. */
  add(term: number, slot: number, count: number): number {
    const position = this.#lengths.get(term);
    if (position === this.#capacities.get(term)) this.#move(term, position + 1);
    this.pageOf(term)[this.startOf(term) + position] = wordOf(slot, count);
    this.#lengths.set(term, position + 1);
    return position;
  }

  /** Removes a posting. Returns the slot whose posting is now at `position`; undefined if none moved. */
  remove(term: number, position: number): number | undefined {
    const last = this.#lengths.get(term) - 1;
    const page = this.pageOf(term);
    const start = this.startOf(term);
    const moved = page[start + last]!;
    page[start + position] = moved;
    this.#lengths.set(term, last);
    if (last <= SPARSE * this.#capacities.get(term)) this.#move(term, last);
    return position === last ? undefined : numberOf(moved);
  }

  /** Moves the list to a block of `words`; frees its memory if that is 0. */
  #move(term: number, words: number): void {
    const length = this.#lengths.get(term);
    const before = this.#addressOf(term);
    const address = words === 0 ? 0 : this.#store.allocate(words);
    if (words > 0 && length > 0) {
      const start = offsetOf(before);
      this.#store.pageOf(address).set(this.#store.pageOf(before).subarray(start, start + length), offsetOf(address));
    }
    if (before !== 0) this.#store.free(before, this.#capacities.get(term));
    this.#addresses.set(term, address);
    this.#capacities.set(term, words === 0 ? 0 : capacityOf(words));
  }

  #addressOf(term: number): number {
    return this.#addresses.get(term) >>> 0;
  }
}
