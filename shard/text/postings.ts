import { PagedInts } from '../kernel/pagedInts.js';
import { numberOf, wordOf } from './termWord.js';
import { capacityOf, offsetOf, WordStore } from './wordStore.js';

/** A list that fills less than this share of its memory moves to less. */
const SPARSE = 1 / 4;

/**
 * By term, the slots of the records that contain it, each with its count, in no order: a removed posting is replaced by
 * the last, so that no posting is dead.
 */
export class Postings {
  readonly #store = new WordStore();
  // By term.
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

  /** Returns the page in which the term's list begins at `startOf(term)`. Valid until the list changes. */
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

  /** Returns the position in the list. */
  add(term: number, slot: number, count: number): number {
    const position = this.#lengths.get(term);
    if (position === this.#capacities.get(term)) this.#move(term, position + 1);
    this.pageOf(term)[this.startOf(term) + position] = wordOf(slot, count);
    this.#lengths.set(term, position + 1);
    return position;
  }

  /** Returns the slot whose posting is now at `position`; undefined where none had to move. */
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

  /** Moves the list to memory for `words`; frees its memory where that is 0. */
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
