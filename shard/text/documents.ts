/** The forward index: the terms of each text, for its score and its removal. 8 bytes per distinct term and text. */
import { PagedList } from '../kernel/pagedList.js';
import { BlockStore, offsetOf } from './blockStore.js';
import { countOf, grown, MANY, numberOf, wordOf } from './termWord.js';

/** Stored length of a text with at least this many tokens. A search reads many lengths, and few of these. */
export const LONG = 255;
const LONG_BYTES = 8;

/** The distinct terms of a document, ascending, each with its count and the document's position in its postings. */
export class Occurrences {
  terms = new Uint32Array(0);
  counts = new Uint32Array(0);
  positions = new Uint32Array(0);
  size = 0;

  /** Takes the terms of a text, each as often as it occurs. */
  take(terms: Iterable<number> & { readonly length: number }): void {
    if (terms.length > this.terms.length) {
      this.terms = new Uint32Array(terms.length);
      this.counts = new Uint32Array(terms.length);
      this.positions = new Uint32Array(terms.length);
    }
    this.size = 0;
    for (const term of terms)
      if (this.size > 0 && this.terms[this.size - 1] === term) this.counts[this.size - 1]! += 1;
      else {
        this.terms[this.size] = term;
        this.counts[this.size++] = 1;
      }
  }
}

/**
 * The terms of the records' texts, by slot, as words. A term with a count of `MANY` or more is in both lists.
 *
 *   First n, then n × (term, count) by term, then n × position in the term's postings.
 *   Then m, m × (term, count) by term, m × count: only if there are such terms.
 */
export class Documents {
  readonly #store = new BlockStore();
  // Both are keyed by slot.
  #addresses = new Uint32Array(0);
  #lengths = new Uint8Array(0);
  readonly #longLengths = new PagedList<number>();

  get bytes(): number {
    return this.#store.bytes + 5 * this.#lengths.length + LONG_BYTES * this.#longLengths.size;
  }

  has(slot: number): boolean {
    return (this.#addresses[slot] ?? 0) !== 0;
  }

  /** Number of tokens of each slot's text, or `LONG`. The length is a capacity. An `add` may replace the array. */
  get lengths(): Uint8Array {
    return this.#lengths;
  }

  /** Returns the tokens of the text of the slot; 0 without a text. */
  lengthOf(slot: number): number {
    const length = this.#lengths[slot] ?? 0;
    return length < LONG ? length : this.#longLengths.get(slot)!;
  }

  /** Adds a text of `length` tokens. */
  add(slot: number, { size, terms, counts, positions }: Occurrences, length: number): void {
    this.#addresses = grown(this.#addresses, slot);
    this.#lengths = grown(this.#lengths, slot);
    let many = 0;
    for (let i = 0; i < size; i++) if (counts[i]! >= MANY) many++;
    const address = this.#store.allocate(wordsOf(size, many));
    const page = this.#store.pageOf(address);
    const at = offsetOf(address);
    page[at] = size;
    const manyAt = manyBehind(page, at);
    if (many > 0) page[manyAt] = many;
    let next = manyAt + 1;
    for (let i = 0; i < size; i++) {
      const word = wordOf(terms[i]!, counts[i]!);
      page[at + 1 + i] = word;
      page[at + 1 + size + i] = positions[i]!;
      if (counts[i]! < MANY) continue;
      page[next] = word;
      page[next++ + many] = counts[i]!;
    }
    this.#addresses[slot] = address;
    this.#lengths[slot] = Math.min(length, LONG);
    if (length >= LONG) this.#longLengths.set(slot, length);
  }

  /** Removes the text of the slot. */
  remove(slot: number): void {
    const address = this.#addresses[slot]!;
    const page = this.#store.pageOf(address);
    const at = offsetOf(address);
    const terms = page[at]!;
    let many = 0;
    for (let i = 0; i < terms; i++) if (countOf(page[at + 1 + i]!) === MANY) many++;
    this.#store.free(address, wordsOf(terms, many));
    this.#addresses[slot] = 0;
    this.#lengths[slot] = 0;
    this.#longLengths.delete(slot);
  }

  /** Returns the number of distinct terms in the slot's text. */
  termsIn(slot: number): number {
    const address = this.#addresses[slot]!;
    return this.#store.pageOf(address)[offsetOf(address)]!;
  }

  /**
   * Calls `visitor` for each term of the slot's text, with the text's position in the term's postings. Visits the places
   * from `from` to `to`, by default all.
   */
  visit(
    slot: number,
    visitor: (term: number, position: number) => void,
    from = 0,
    to = Number.POSITIVE_INFINITY,
  ): void {
    const address = this.#addresses[slot]!;
    const page = this.#store.pageOf(address);
    const first = offsetOf(address) + 1;
    const terms = page[first - 1]!;
    const end = first + Math.min(to, terms);
    for (let i = first + from; i < end; i++) visitor(numberOf(page[i]!), page[i + terms]!);
  }

  /** Returns the count of the term in the slot's text; 0 without the term. */
  countIn(slot: number, term: number): number {
    const address = this.#addresses[slot] ?? 0;
    if (address === 0) return 0;
    const page = this.#store.pageOf(address);
    const at = offsetOf(address);
    const place = placeOf(page, at, term);
    if (place > at + page[at]!) return 0;
    const word = page[place]!;
    if (numberOf(word) !== term) return 0;
    const count = countOf(word);
    return count < MANY ? count : besideTerm(page, manyBehind(page, at), term);
  }

  /** Sets the document's position in the postings of `term`, which must be one of its terms. */
  setPosition(slot: number, term: number, position: number): void {
    const address = this.#addresses[slot]!;
    const page = this.#store.pageOf(address);
    const at = offsetOf(address);
    page[placeOf(page, at, term) + page[at]!] = position;
  }
}

/** Returns the first place whose term is at least `term`; the end if all are smaller. */
function placeOf(page: Uint32Array, at: number, term: number): number {
  let low = at + 1;
  let high = low + page[at]!;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numberOf(page[middle]!) < term) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the number stored beside a term, which must exist. */
const besideTerm = (page: Uint32Array, at: number, term: number): number => page[placeOf(page, at, term) + page[at]!]!;

/** Returns the start of the terms with high counts, behind the terms that begin at `at`. */
const manyBehind = (page: Uint32Array, at: number): number => at + 1 + 2 * page[at]!;

const wordsOf = (terms: number, many: number): number => 1 + 2 * terms + (many === 0 ? 0 : 1 + 2 * many);
