import type { Pace } from '../graph/pace.js';
import type { SlotSet } from '../kernel/slotSet.js';
import { idf, termScore } from './bm25.js';
import type { Documents } from './documents.js';
import type { Postings } from './postings.js';
import { type OpenQuery, POSTINGS_PER_LOOKUP, PostingsSearch } from './postingsSearch.js';
import type { ScoreBoard } from './scoreBoard.js';
import { atOnce, inSlices, type Steps } from './steps.js';
import type { Turns } from './turns.js';
import type { Vocabulary } from './vocabulary.js';

/** With no more terms than this, all are looked up in a text; of more, those that a short text has are looked up in the query. */
const FEW_TERMS = 64;
/** A score looked up by its slot costs as much as passing by so many postings of slots that are not marked. */
const PASSED_PER_LOOKUP = 256;

/** How long work is done in one go. */
export interface Slicing {
  /** So many postings are gone through without a pause. */
  readonly atOnce: number;
  /** Postings between two looks at the clock. */
  readonly chunk: number;
}

/** Less than a millisecond, and at most 0.1 ms. */
export const SLICING: Slicing = { atOnce: 1 << 17, chunk: 1 << 12 };

/** What of a collection a query is matched with. */
export interface Sides {
  readonly postings: Postings;
  readonly texts: Documents;
  readonly vocabulary: Vocabulary;
  /** For what is done without a pause. */
  readonly board: ScoreBoard;
  /** For what is done in slices, by one query at a time. */
  readonly slicedBoard: ScoreBoard;
  readonly turns: Turns;
  readonly idOf: (slot: number) => number;
  readonly slicing: Slicing;
}

/** The texts there are: N of the formula, and their tokens on average. */
export interface TextStatistics {
  readonly documents: number;
  readonly averageLength: number;
}

/** Best first. */
export interface BestMatches {
  readonly slots: Uint32Array;
  readonly scores: Float64Array;
}

/**
 * The BM25 scores of one query, of the texts as they were when it was opened, to the bit, whatever is written until it is
 * closed: terms and statistics are those of that moment, and before a text goes its score is noted. No slot may pass to
 * another record meanwhile.
 */
export class TextMatches implements OpenQuery {
  readonly terms: number[] = [];
  readonly idfs: number[] = [];
  /** By term, its place among them. */
  readonly #places = new Map<number, number>();
  readonly postings: number = 0;
  readonly asItWas = new Map<number, number>();
  readonly #search: PostingsSearch;

  /** `tokens`: distinct. `onClose`: called when it need not be told of writes any more. */
  constructor(
    private readonly sides: Sides,
    private readonly statistics: TextStatistics,
    tokens: Iterable<string>,
    private readonly onClose: () => void,
  ) {
    for (const token of tokens) {
      const term = sides.vocabulary.find(token);
      if (term === undefined) continue;
      const holding = sides.postings.lengthOf(term);
      this.#places.set(term, this.terms.length);
      this.terms.push(term);
      this.idfs.push(idf(statistics.documents, holding));
      this.postings += holding;
    }
    this.#search = new PostingsSearch(sides, this);
  }

  /** Whether all scores are 0. */
  get isEmpty(): boolean {
    return this.terms.length === 0;
  }

  /** 0 where the record has no text, or none of the query's words in it. Costs what the shorter of both is long. */
  scoreOf(slot: number): number {
    return this.asItWas.get(slot) ?? this.#scoreNow(slot);
  }

  /** The scores of these slots. */
  async scores(slots: Uint32Array, pace: () => Pace): Promise<Float64Array> {
    const { board, slicing } = this.sides;
    if (this.postings <= Math.min(PASSED_PER_LOOKUP * slots.length, slicing.atOnce))
      return atOnce(this.#search.onBoard(board, this.#search.marked(board, slots)));
    const steps = this.lookedUp(slots);
    const isShort = slots.length * this.terms.length <= slicing.atOnce / POSTINGS_PER_LOOKUP;
    return isShort ? atOnce(steps) : inSlices(steps, pace());
  }

  /**
   * The slots of the best `n` scores above 0 of all records, or those of `eligible`; best first, equal ones by record id;
   * and the scores of `slots`. Costs what the terms' postings are long; those of common words are left alone where the
   * others decide.
   */
  async best(
    n: number,
    eligible: SlotSet | undefined,
    slots: Uint32Array,
    pace: () => Pace,
  ): Promise<{ best: BestMatches; scores: Float64Array }> {
    const { board, slicedBoard, turns, slicing } = this.sides;
    if (this.postings <= slicing.atOnce)
      return atOnce(this.#search.onBoard(board, this.#search.best(board, n, eligible, slots)));
    const free = await turns.take();
    try {
      return await inSlices(
        this.#search.onBoard(slicedBoard, this.#search.best(slicedBoard, n, eligible, slots)),
        pace(),
      );
    } finally {
      free();
    }
  }

  get averageLength(): number {
    return this.statistics.averageLength;
  }

  close(): void {
    this.onClose();
  }

  /** The slot has a text from now on. */
  added(slot: number): void {
    this.#note(slot, 0);
  }

  /** The text of the slot is about to go. */
  removing(slot: number): void {
    if (!this.asItWas.has(slot)) this.#note(slot, this.#scoreNow(slot));
  }

  /** A posting of the term is about to go, and the last one to take its place. */
  removingPosting(term: number, position: number): void {
    const missed = this.#search.missedWithout(term, position);
    if (missed !== undefined) this.removing(missed);
  }

  #note(slot: number, score: number): void {
    if (!this.asItWas.has(slot)) this.asItWas.set(slot, score);
  }

  #scoreNow(slot: number): number {
    const { texts } = this.sides;
    const length = texts.lengthOf(slot);
    if (length === 0) return 0;
    const places = this.terms.length > Math.max(FEW_TERMS, texts.termsIn(slot)) ? this.#placesIn(slot) : undefined;
    const tried = places?.length ?? this.terms.length;
    let score = 0;
    for (let i = 0; i < tried; i++) {
      const place = places?.[i] ?? i;
      const count = texts.countIn(slot, this.terms[place]!);
      if (count > 0) score += termScore(this.idfs[place]!, count, length, this.statistics.averageLength);
    }
    return score;
  }

  /** The places of the terms that the text has, ascending. */
  #placesIn(slot: number): number[] {
    const places: number[] = [];
    this.sides.texts.visit(slot, (term) => {
      const place = this.#places.get(term);
      if (place !== undefined) places.push(place);
    });
    return places.sort((a, b) => a - b);
  }

  /** Yields after as much work as a chunk of postings. */
  *lookedUp(slots: Uint32Array): Steps<Float64Array> {
    const scores = new Float64Array(slots.length);
    const { texts, slicing } = this.sides;
    let spent = 0;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]!;
      scores[i] = this.scoreOf(slot);
      spent += texts.has(slot) ? POSTINGS_PER_LOOKUP * Math.min(this.terms.length, texts.termsIn(slot)) : 1;
      if (spent < slicing.chunk) continue;
      spent = 0;
      yield;
    }
    return scores;
  }
}
