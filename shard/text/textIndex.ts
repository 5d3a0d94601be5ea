/** The text index of a collection: vocabulary, inverted index and forward index, for BM25 (`bm25.ts`). */
import { Mutex } from '../../shared/scheduling/mutex.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import type { BitSet } from '../kernel/bitSet.js';
import { partition } from '../kernel/partition.js';
import { type Analyser, PLAIN } from './analyser.js';
import { Documents, Occurrences } from './documents.js';
import { OpenTextQuery, type PartlyListed, SLICING, type TextStores } from './openTextQuery.js';
import { Postings } from './postings.js';
import { ScoreAccumulator } from './scoreAccumulator.js';
import { Vocabulary } from './vocabulary.js';

/** Postings that are collected in one step: some 20 µs. */
const COLLECTED_AT_ONCE = 4_096;
/** More terms than this are sorted by the engine's sort. */
const INSERTED_MAX = 40;

/** Cost of a term that is added or removed, in postings that a query reads. */
const POSTINGS_PER_TERM = 16;

/** Scratch of `add`, for the terms of one text. */
const OCCURRENCES = new Occurrences();

/** A text whose postings are added in steps. */
interface EnteringText extends PartlyListed {
  readonly occurrences: Occurrences;
  readonly tokens: number;
}

/** A text whose postings are removed in steps, by ascending term. */
interface LeavingText extends PartlyListed {
  /** Terms below it have no posting of the text any more. */
  leastTerm: number;
}

/**
 * The texts of a collection's live records by their words: an inverted index, and the terms of each text, for its
 * removal and its score. All statistics are always exact. A text without words is a document too. The public face of
 * this folder.
 */
export class TextIndex {
  readonly #stores: TextStores;
  readonly #openQueries = new Set<OpenTextQuery>();
  readonly #partial = new Map<number, EnteringText | LeavingText>();
  #documents = 0;
  #tokens = 0;

  /** `idOf`: returns the id of the record at a slot. */
  constructor(
    readonly idOf: (slot: number) => number,
    slicing = SLICING,
    readonly analyser: Analyser = PLAIN,
  ) {
    this.#stores = {
      ...{ postings: new Postings(), documents: new Documents(), vocabulary: new Vocabulary(), idOf, slicing },
      partial: this.#partial,
      ...{ accumulator: new ScoreAccumulator(), slicedAccumulator: new ScoreAccumulator(), mutex: new Mutex() },
    };
  }

  /** Number of live records with a text: N of the formula. */
  get documents(): number {
    return this.#documents;
  }

  /** Average number of tokens of a document. */
  get averageLength(): number {
    return this.#tokens / this.#documents;
  }

  /** Approximate memory. */
  get bytes(): number {
    const { vocabulary, postings, documents, accumulator, slicedAccumulator } = this.#stores;
    return [vocabulary, postings, documents, accumulator, slicedAccumulator].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Adds the text of the record at `slot`, which must not have one. `terms`: those of the text, if they are known. */
  add(slot: number, utf8: Uint8Array, terms?: readonly string[]): void {
    const { postings, documents, vocabulary } = this.#stores;
    if (documents.has(slot)) throw new Error(`slot ${slot} has a text`);
    const tokens = terms ?? this.analyser.termsOf(textOf(utf8));
    OCCURRENCES.take(sorted(tokens.map((token) => vocabulary.findOrAdd(token))));
    const { terms: numbers, counts, positions, size } = OCCURRENCES;
    for (let i = 0; i < size; i++) positions[i] = postings.add(numbers[i]!, slot, counts[i]!);
    documents.add(slot, OCCURRENCES, tokens.length);
    this.#documents++;
    this.#tokens += tokens.length;
    for (const query of this.#openQueries) query.added(slot);
  }

  /** Removes the slot's text, if it has one. */
  remove(slot: number): void {
    const { documents } = this.#stores;
    if (!documents.has(slot)) return;
    for (const query of this.#openQueries) query.removing(slot);
    this.#documents--;
    this.#tokens -= documents.lengthOf(slot);
    documents.visit(slot, (term, position) => this.#removePosting(term, position));
    documents.remove(slot);
  }

  /** Adds the text of the record at `slot`, which must not have one, in steps. No query counts it before `show`. */
  *prepare(slot: number, utf8: Uint8Array): Steps<void> {
    const { postings, vocabulary } = this.#stores;
    const tokens = yield* this.analyser.inSteps(textOf(utf8));
    const all = new Uint32Array(tokens.length);
    for (let i = 0; i < tokens.length; i++) {
      all[i] = vocabulary.findOrAdd(tokens[i]!);
      if (i % this.#termsPerStep === 0) yield;
    }
    const occurrences = new Occurrences();
    occurrences.take(all.sort());
    yield;
    const { terms, counts, positions, size } = occurrences;
    let listed = 0;
    const isListed = (term: number): boolean => {
      const place = partition(listed, (at) => terms[at]! < term);
      return place < listed && terms[place] === term;
    };
    this.#partial.set(slot, { occurrences, tokens: tokens.length, isListed });
    for (const query of this.#openQueries) query.added(slot);
    while (listed < size) {
      positions[listed] = postings.add(terms[listed]!, slot, counts[listed]!);
      if (++listed % this.#termsPerStep === 0) yield;
    }
  }

  /** Shows a prepared text to queries. */
  show(slot: number): void {
    const { occurrences, tokens } = this.#partial.get(slot) as EnteringText;
    this.#stores.documents.add(slot, occurrences, tokens);
    this.#documents++;
    this.#tokens += tokens;
    this.#partial.delete(slot);
  }

  /** Hides the slot's text, if it has one, from queries. `clear` must follow. */
  hide(slot: number): void {
    const { documents } = this.#stores;
    if (!documents.has(slot)) return;
    for (const query of this.#openQueries) query.removing(slot);
    this.#documents--;
    this.#tokens -= documents.lengthOf(slot);
    const leaving: LeavingText = {
      leastTerm: 0,
      isListed: (term) => term >= leaving.leastTerm && documents.countIn(slot, term) > 0,
    };
    this.#partial.set(slot, leaving);
  }

  /** Removes a hidden text in steps; does nothing without one. */
  *clear(slot: number): Steps<void> {
    const leaving = this.#partial.get(slot) as LeavingText | undefined;
    if (leaving === undefined) return;
    const { documents } = this.#stores;
    const remove = (term: number, position: number): void => {
      this.#removePosting(term, position);
      leaving.leastTerm = term + 1;
    };
    const terms = documents.termsIn(slot);
    for (let from = 0; from < terms; from += this.#termsPerStep) {
      documents.visit(slot, remove, from, from + this.#termsPerStep);
      yield;
    }
    documents.remove(slot);
    this.#partial.delete(slot);
  }

  get #termsPerStep(): number {
    return Math.ceil(this.#stores.slicing.chunk / POSTINGS_PER_TERM);
  }

  #removePosting(term: number, position: number): void {
    const { postings, documents, vocabulary } = this.#stores;
    for (const query of this.#openQueries) query.removingPosting(term, position);
    const moved = postings.remove(term, position);
    if (moved !== undefined) documents.setPosition(moved, term, position);
    if (postings.lengthOf(term) === 0) vocabulary.delete(term);
  }

  /**
   * Adds the slots whose text has the token, in steps between which texts may change. The result is right for slots
   * whose text is not written in between.
   */
  *collect(token: string, slots: BitSet): Steps<void> {
    const { vocabulary, postings } = this.#stores;
    const term = vocabulary.find(token);
    if (term === undefined) return;
    // Read backwards. A removed posting is replaced by the last one, which has then been read already.
    for (let end = postings.lengthOf(term); end > 0; end = Math.min(end, postings.lengthOf(term))) {
      for (const least = Math.max(0, end - COLLECTED_AT_ONCE); end > least; end--)
        this.#addShown(postings.slotAt(term, end - 1), slots);
      yield;
      // The number may belong to another token by now. Then every text that had this token has been written meanwhile.
      if (vocabulary.find(token) !== term) return;
    }
  }

  /** Whether the record at the slot is live and has a text that queries count. */
  has(slot: number): boolean {
    return this.#stores.documents.has(slot) && !this.#partial.has(slot);
  }

  #addShown(slot: number, slots: BitSet): void {
    if (!this.#partial.has(slot)) slots.add(slot);
  }

  /**
   * Opens a query of the distinct terms of `text` over the current texts. Close it; until then no slot may be reused,
   * and each write costs a little more. `terms`: those of the text, if they are known.
   */
  openQuery(text: string, terms: readonly string[] = this.analyser.termsOf(text)): OpenTextQuery {
    const tokens = new Set(terms);
    const close = (): void => void this.#openQueries.delete(query);
    const query = new OpenTextQuery(this.#stores, this, tokens, close);
    this.#openQueries.add(query);
    return query;
  }
}

export const textOf = (utf8: Uint8Array): string => Buffer.from(utf8.buffer, utf8.byteOffset, utf8.length).toString();

/** Sorts few terms by insertion, in place: half the time of a typed array's sort. */
function sorted(terms: number[]): number[] | Uint32Array {
  if (terms.length > INSERTED_MAX) return Uint32Array.from(terms).sort();
  for (let i = 1; i < terms.length; i++) {
    const term = terms[i]!;
    let at = i;
    for (; at > 0 && terms[at - 1]! > term; at--) terms[at] = terms[at - 1]!;
    terms[at] = term;
  }
  return terms;
}
