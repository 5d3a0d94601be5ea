/**
 * BM25 (`bm25.ts`) over an inverted index, term at a time into an accumulator. A form of MaxScore (Turtle and Flood,
 * 1995) skips common terms. Costs a read per posting: 130,000 postings take less than a millisecond.
 */
import { NumberTable } from '../../shared/hashing/numberTable.js';
import type { Mutex } from '../../shared/scheduling/mutex.js';
import { atOnce, inSlices, type Slice, type Steps } from '../../shared/scheduling/slice.js';
import type { SlotSet } from '../kernel/slotSet.js';
import { TopK } from '../kernel/topK.js';
import { idf, maxTermScore, termScore } from './bm25.js';
import type { Documents } from './documents.js';
import type { Postings } from './postings.js';
import type { ScoreAccumulator } from './scoreAccumulator.js';
import { TermSum } from './termSum.js';
import type { Vocabulary } from './vocabulary.js';

/**
 * Up to this many terms are all looked up in a text. With more, the terms of a short text are looked up in the query.
 */
const FEW_TERMS = 64;
/** Largest number of terms of a query in which rare terms may decide alone. */
const DECIDED_TERMS_MAX = 64;
/** Postings of rare terms to read per result, before common terms are read. */
const RARE_PER_RESULT = 2;
/** More than the rounding error of a sum of terms. */
const ROUNDING = 1 + 1e-9;
/** Cost of looking up a score by its slot, in postings that are added. Memory access takes most of it. */
const POSTINGS_PER_LOOKUP = 32;
/** Cost of that look-up in postings that are skipped, since their slots are not marked. */
const SKIPPED_PER_LOOKUP = 256;

/** Amounts of work. */
export interface Slicing {
  /** Largest number of postings read without a pause. */
  readonly atOnce: number;
  /** Postings between two looks at the clock. */
  readonly chunk: number;
}

/** Less than a millisecond, and at most 0.1 ms. */
export const SLICING: Slicing = { atOnce: 1 << 17, chunk: 1 << 12 };

/** A text whose postings are being added or removed in steps. */
export interface PartlyListed {
  /** Whether the term's postings have the text now. */
  readonly isListed: (term: number) => boolean;
}

/** Parts of a text index that a query reads. */
export interface TextStores {
  readonly postings: Postings;
  readonly documents: Documents;
  readonly vocabulary: Vocabulary;
  /** Accumulator for work without a pause. */
  readonly accumulator: ScoreAccumulator;
  /** Accumulator for work in slices, by one query at a time. */
  readonly slicedAccumulator: ScoreAccumulator;
  readonly mutex: Mutex;
  /** Texts of which a part is listed, by slot. No query counts them. */
  readonly partial: ReadonlyMap<number, PartlyListed>;
  readonly idOf: (slot: number) => number;
  readonly slicing: Slicing;
}

/** Request for the best `n` of all records, or of those in `eligible`. */
interface Wanted {
  readonly n: number;
  readonly eligible: SlotSet | undefined;
}

interface BestMatches {
  /** The best `n` slots, best first, and their scores. */
  readonly best: { readonly slots: Uint32Array; readonly scores: Float64Array };
  /** Scores of the requested slots. */
  readonly scores: Float64Array;
}

/**
 * A query and its BM25 scores, exactly as of its opening, whatever is written until it is closed. Terms and statistics
 * are fixed at the opening. The score of a text is stored before the text is removed. No slot may be reused until the
 * close.
 */
export class OpenTextQuery {
  /** The query's terms that occur, in its order. */
  readonly #terms: number[] = [];
  readonly #idfs: number[] = [];
  /** Term → its place in the query; made when a long text is looked up. */
  #places: NumberTable | undefined;
  /** Number of postings of all its terms. */
  #postings = 0;
  /** Stored scores of slots whose text has changed; 0 if there was no text. */
  readonly #noted = new Map<number, number>();
  /** Sum in progress. */
  #sum: TermSum | undefined;

  /** Average number of tokens of a document at the opening. */
  readonly #averageLength: number;

  /** `corpus`: the current statistics. `tokens` are distinct. Call `close` at the end. */
  constructor(
    private readonly stores: TextStores,
    corpus: { readonly documents: number; readonly averageLength: number },
    tokens: Iterable<string>,
    readonly close: () => void,
  ) {
    this.#averageLength = corpus.averageLength;
    for (const token of tokens) {
      const term = stores.vocabulary.find(token);
      if (term === undefined) continue;
      const frequency = frequencyOf(term, stores);
      if (frequency === 0) continue;
      this.#terms.push(term);
      this.#idfs.push(idf(corpus.documents, frequency));
      this.#postings += frequency;
    }
    for (const slot of stores.partial.keys()) this.#noted.set(slot, 0);
  }

  /** Whether all scores are 0. */
  get isEmpty(): boolean {
    return this.#terms.length === 0;
  }

  /**
   * Returns 0 if the record has no text, or none of the query's words. Costs a look-up per term of the shorter of both.
   */
  scoreOf(slot: number): number {
    return this.#noted.get(slot) ?? this.#computeScore(slot);
  }

  /** Returns the scores of these slots. */
  async scores(slots: Uint32Array, slice: () => Slice): Promise<Float64Array> {
    const { accumulator, slicing } = this.stores;
    if (this.#postings <= Math.min(SKIPPED_PER_LOOKUP * slots.length, slicing.atOnce))
      return atOnce(this.#using(accumulator, this.#markedScores(accumulator, slots)));
    const steps = this.#lookUp(slots);
    const isShort = slots.length * this.#terms.length <= slicing.atOnce / POSTINGS_PER_LOOKUP;
    return isShort ? atOnce(steps) : inSlices(steps, slice());
  }

  /**
   * Returns the best `n` scores above 0, of all records or of those in `eligible`; equal ones by record id. Also
   * returns the scores of `slots`. Reads the postings of all terms, except of common words if the others decide.
   */
  async best(n: number, eligible: SlotSet | undefined, slots: Uint32Array, slice: () => Slice): Promise<BestMatches> {
    const { accumulator, slicedAccumulator, mutex, slicing } = this.stores;
    const steps = (into: ScoreAccumulator): Steps<BestMatches> =>
      this.#using(into, this.#bestMatches(into, { n, eligible }, slots));
    if (this.#postings <= slicing.atOnce) return atOnce(steps(accumulator));
    return mutex.run(() => inSlices(steps(slicedAccumulator), slice()));
  }

  /** Call it when the slot has got a text. */
  added(slot: number): void {
    if (!this.#noted.has(slot)) this.#noted.set(slot, 0);
  }

  /** Call it before the slot's text is removed. */
  removing(slot: number): void {
    if (!this.#noted.has(slot)) this.#noted.set(slot, this.#computeScore(slot));
  }

  /** Call it before a posting of the term is removed, and replaced by the last one. */
  removingPosting(term: number, position: number): void {
    const skipped = this.#sum?.skippedByRemoval(term, position);
    if (skipped !== undefined) this.removing(skipped);
  }

  #computeScore(slot: number): number {
    const { documents } = this.stores;
    const length = documents.lengthOf(slot);
    if (length === 0) return 0;
    const places = this.#terms.length > Math.max(FEW_TERMS, documents.termsIn(slot)) ? this.#placesIn(slot) : undefined;
    const tried = places?.length ?? this.#terms.length;
    let score = 0;
    for (let i = 0; i < tried; i++) {
      const place = places?.[i] ?? i;
      const count = documents.countIn(slot, this.#terms[place]!);
      if (count > 0) score += termScore(this.#idfs[place]!, count, length, this.#averageLength);
    }
    return score;
  }

  /** Returns the places of the query's terms in the text, ascending. */
  #placesIn(slot: number): number[] {
    this.#places ??= NumberTable.of(this.#terms);
    const known = this.#places;
    const places: number[] = [];
    this.stores.documents.visit(slot, (term) => {
      const place = known.find(term);
      if (place !== undefined) places.push(place);
    });
    return places.sort((a, b) => a - b);
  }

  /** Looks up the scores of these slots one by one. */
  *#lookUp(slots: Uint32Array): Steps<Float64Array> {
    const scores = new Float64Array(slots.length);
    const { documents, slicing } = this.stores;
    let spent = 0;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]!;
      scores[i] = this.scoreOf(slot);
      spent += documents.has(slot) ? POSTINGS_PER_LOOKUP * Math.min(this.#terms.length, documents.termsIn(slot)) : 1;
      if (spent < slicing.chunk) continue;
      spent = 0;
      yield;
    }
    return scores;
  }

  /** Runs steps that add to an accumulator, and empties it at the end. */
  *#using<Result>(accumulator: ScoreAccumulator, steps: Steps<Result>): Steps<Result> {
    accumulator.reserve(this.stores.documents.lengths.length);
    try {
      return yield* steps;
    } finally {
      this.#sum = undefined;
      accumulator.clear();
    }
  }

  /** Adds up the scores of these slots only. */
  *#markedScores(accumulator: ScoreAccumulator, slots: Uint32Array): Steps<Float64Array> {
    accumulator.mark(slots);
    try {
      yield* this.#addUp(accumulator, [...this.#terms.keys()], true);
      return accumulator.scoresOf(slots);
    } finally {
      accumulator.unmark(slots);
    }
  }

  *#bestMatches(accumulator: ScoreAccumulator, wanted: Wanted, slots: Uint32Array): Steps<BestMatches> {
    const byRareTerms = yield* this.#bestByRareTerms(accumulator, wanted);
    if (byRareTerms !== undefined) return { best: byRareTerms, scores: yield* this.#lookUp(slots) };
    yield* this.#addUp(accumulator, [...this.#terms.keys()], false);
    const scores = accumulator.scoresOf(slots);
    return { best: matchesOf(yield* this.#top(accumulator, wanted)), scores };
  }

  /**
   * Finds the best by the rarest terms, after MaxScore (Turtle and Flood). A term adds less than idf · (k1 + 1) to a
   * score. Let `others` be the sum of that over the common terms. If the n-th best score by rare terms is above it, a
   * text without rare terms is not among the best n. Returns undefined, with an empty accumulator, if that does not
   * help.
   */
  *#bestByRareTerms(accumulator: ScoreAccumulator, wanted: Wanted): Steps<BestMatches['best'] | undefined> {
    if (this.#terms.length > DECIDED_TERMS_MAX || this.#postings <= POSTINGS_PER_LOOKUP * wanted.n) return undefined;
    const { rare, common } = this.#split(RARE_PER_RESULT * wanted.n);
    if (common.length === 0 || rare.length === 0) return undefined;
    const others = common.reduce((sum, place) => sum + maxTermScore(this.#idfs[place]!), 0) * ROUNDING;
    // The limit is about the score of one occurrence of the rarest term. If the others can add more, they usually do.
    if (others > this.#idfs[rare[0]!]!) return undefined;
    yield* this.#addUp(accumulator, rare, false);
    const least = -(yield* this.#top(accumulator, wanted)).worst;
    if (others < least) return matchesOf(yield* this.#topWith(others, least, accumulator, wanted));
    accumulator.clear();
    return undefined;
  }

  /** Returns the best `n` by full scores, of the slots whose accumulated score is within `others` of `least`. */
  *#topWith(others: number, least: number, accumulator: ScoreAccumulator, { n, eligible }: Wanted): Steps<TopK> {
    const { idOf, slicing } = this.stores;
    const top = new TopK(n);
    let spent = 0;
    for (let i = 0; i < accumulator.written; i++) {
      const slot = accumulator.slots[i]!;
      if (accumulator.scores[slot]! * ROUNDING + others < least || eligible?.has(slot) === false) continue;
      top.offer(slot, -this.scoreOf(slot), idOf(slot));
      spent += POSTINGS_PER_LOOKUP;
      if (spent < slicing.chunk) continue;
      spent = 0;
      yield;
    }
    return top;
  }

  /** Returns the best `n` by accumulated scores. */
  *#top(accumulator: ScoreAccumulator, { n, eligible }: Wanted): Steps<TopK> {
    const { idOf, slicing } = this.stores;
    const top = new TopK(n);
    for (let from = 0; n > 0 && from < accumulator.written; from += slicing.chunk) {
      if (from > 0) yield;
      accumulator.offer(top, { from, to: from + slicing.chunk }, idOf, eligible);
    }
    return top;
  }

  /** Adds up the scores of the terms at these places, term by term. */
  *#addUp(accumulator: ScoreAccumulator, places: readonly number[], isMarkedOnly: boolean): Steps<void> {
    const { postings, documents, slicing } = this.stores;
    const sum = new TermSum(accumulator, { postings, documents }, this.#averageLength, isMarkedOnly);
    this.#sum = sum;
    let spent = 0;
    for (const place of places) {
      sum.begin(this.#terms[place]!, this.#idfs[place]!);
      for (;;) {
        spent += sum.step(slicing.chunk - spent);
        if (spent < slicing.chunk) break;
        spent = 0;
        yield;
      }
    }
    this.#sum = undefined;
    for (const [slot, score] of this.#noted) accumulator.set(slot, score);
  }

  /** Splits the places of the terms: the rarest, with at least `wanted` postings if possible, and the others. */
  #split(wanted: number): { readonly rare: number[]; readonly common: number[] } {
    const frequencyOf = (place: number): number => this.stores.postings.lengthOf(this.#terms[place]!);
    const common = [...this.#terms.keys()].sort((a, b) => frequencyOf(a) - frequencyOf(b));
    const rare: number[] = [];
    for (let seen = 0; seen < wanted && common.length > 0; ) {
      const place = common.shift()!;
      rare.push(place);
      seen += frequencyOf(place);
    }
    return { rare, common };
  }
}

/** Returns how many whole texts have the term. */
function frequencyOf(term: number, { postings, partial }: TextStores): number {
  let frequency = postings.lengthOf(term);
  for (const text of partial.values()) if (text.isListed(term)) frequency--;
  return frequency;
}

function matchesOf(top: TopK): BestMatches['best'] {
  const { items, keys } = top.sorted();
  return { slots: items, scores: keys.map((key) => -key) };
}
