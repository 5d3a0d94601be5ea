import type { SlotSet } from '../kernel/slotSet.js';
import { mostOf } from './bm25.js';
import type { ScoreBoard } from './scoreBoard.js';
import type { Steps } from './steps.js';
import { TermSum } from './termSum.js';
import type { BestMatches, Sides } from './textMatches.js';
import { TopScores } from './topScores.js';

/** Of a query with more words, the rare ones do not decide alone. */
const DECIDED_TERMS_MAX = 64;
/** Postings of rare terms that are looked at for each result, before common ones are. */
const RARE_PER_RESULT = 2;
/** More than the rounding of a sum of terms can come to. */
const ROUNDING = 1 + 1e-9;
/** A score looked up by its slot costs as much as adding so many postings to a board: it is the memory that takes long. */
export const POSTINGS_PER_LOOKUP = 32;

/** A query as it was opened. */
export interface OpenQuery {
  /** Of those tokens that occur, in the query's order. */
  readonly terms: readonly number[];
  readonly idfs: readonly number[];
  /** Of all terms together. */
  readonly postings: number;
  readonly averageLength: number;
  /** Scores of the slots whose text is not the one it was: 0 where there was none. */
  readonly asItWas: ReadonlyMap<number, number>;
  scoreOf(slot: number): number;
  /** The scores of these, one by one. */
  lookedUp(slots: Uint32Array): Steps<Float64Array>;
}

/** Scores a query by its postings, on a board that nobody else uses meanwhile. */
export class PostingsSearch {
  /** The terms that are being added up. */
  #sum: TermSum | undefined;

  constructor(
    private readonly sides: Sides,
    private readonly query: OpenQuery,
  ) {}

  /** A slot that will be left out when a posting of the term goes, if there is one. */
  missedWithout(term: number, position: number): number | undefined {
    return this.#sum?.missedWithout(term, position);
  }

  /** Leaves the board as empty as it was. */
  *onBoard<Result>(board: ScoreBoard, steps: Steps<Result>): Steps<Result> {
    board.reserve(this.sides.texts.lengths.length);
    try {
      return yield* steps;
    } finally {
      this.#sum = undefined;
      board.clear();
    }
  }

  /** The scores of these slots alone. */
  *marked(board: ScoreBoard, slots: Uint32Array): Steps<Float64Array> {
    board.mark(slots);
    try {
      yield* this.#addUp(board, [...this.query.terms.keys()], true);
      return scoresOn(board, slots);
    } finally {
      board.unmark(slots);
    }
  }

  /** The best `n` of all, or of those eligible, and the scores of `slots`. */
  *best(
    board: ScoreBoard,
    n: number,
    eligible: SlotSet | undefined,
    slots: Uint32Array,
  ): Steps<{ best: BestMatches; scores: Float64Array }> {
    const best = yield* this.#bestByRareTerms(board, n, eligible);
    if (best !== undefined) return { best, scores: yield* this.query.lookedUp(slots) };
    return yield* this.#bestOfAll(board, n, eligible, slots);
  }

  *#bestOfAll(
    board: ScoreBoard,
    n: number,
    eligible: SlotSet | undefined,
    slots: Uint32Array,
  ): Steps<{ best: BestMatches; scores: Float64Array }> {
    yield* this.#addUp(board, [...this.query.terms.keys()], false);
    const scores = scoresOn(board, slots);
    return { best: sorted(yield* this.#top(board, n, eligible)), scores };
  }

  /**
   * A term adds less than idf · (k1 + 1) to a score. Where the n-th best score by the rarest terms alone is above what all
   * the others can add, a text with none of the rarest is not among the best n (Turtle and Flood's MaxScore). Undefined,
   * and an empty board, where that does not help.
   */
  *#bestByRareTerms(board: ScoreBoard, n: number, eligible: SlotSet | undefined): Steps<BestMatches | undefined> {
    if (this.query.terms.length > DECIDED_TERMS_MAX || this.query.postings <= POSTINGS_PER_LOOKUP * n) return undefined;
    const { rare, common } = this.#split(RARE_PER_RESULT * n);
    if (common.length === 0 || rare.length === 0) return undefined;
    const others = common.reduce((sum, place) => sum + mostOf(this.query.idfs[place]!), 0) * ROUNDING;
    // About what one occurrence of the rarest is worth: where the others can add more, they most likely do.
    if (others > this.query.idfs[rare[0]!]!) return undefined;
    yield* this.#addUp(board, rare, false);
    const { least } = yield* this.#top(board, n, eligible);
    if (others < least) return sorted(yield* this.#topWith(others, least, board, n, eligible));
    board.clear();
    return undefined;
  }

  /** The best `n` by their whole scores, of the slots whose score on the board is within `others` of `least`. */
  *#topWith(
    others: number,
    least: number,
    board: ScoreBoard,
    n: number,
    eligible: SlotSet | undefined,
  ): Steps<TopScores> {
    const { idOf, slicing } = this.sides;
    const top = new TopScores(n, neverEqual);
    let spent = 0;
    for (let i = 0; i < board.written; i++) {
      const slot = board.slots[i]!;
      if (board.scores[slot]! * ROUNDING + others < least || eligible?.has(slot) === false) continue;
      top.offer(slot, this.query.scoreOf(slot), idOf(slot));
      spent += POSTINGS_PER_LOOKUP;
      if (spent < slicing.chunk) continue;
      spent = 0;
      yield;
    }
    return top;
  }

  /** The best `n` by what is on the board. */
  *#top(board: ScoreBoard, n: number, eligible: SlotSet | undefined): Steps<TopScores> {
    const { idOf, slicing } = this.sides;
    const top = new TopScores(n, neverEqual);
    for (let from = 0; n > 0 && from < board.written; from += slicing.chunk) {
      if (from > 0) yield;
      board.offer(top, from, from + slicing.chunk, idOf, eligible);
    }
    return top;
  }

  /** Puts the scores of the terms at these places on the board, term by term. */
  *#addUp(board: ScoreBoard, places: readonly number[], isMarkedOnly: boolean): Steps<void> {
    const { postings, texts, slicing } = this.sides;
    const sum = new TermSum(board, postings, texts, this.query.averageLength, isMarkedOnly);
    this.#sum = sum;
    let spent = 0;
    for (const place of places) {
      sum.begin(this.query.terms[place]!, this.query.idfs[place]!);
      for (;;) {
        spent += sum.step(slicing.chunk - spent);
        if (spent < slicing.chunk) break;
        spent = 0;
        yield;
      }
    }
    this.#sum = undefined;
    for (const [slot, score] of this.query.asItWas) board.set(slot, score);
  }

  /** Places of the rarest terms, of `most` postings at least where there are so many, and of the others. */
  #split(most: number): { readonly rare: number[]; readonly common: number[] } {
    const { postings } = this.sides;
    const holding = (place: number): number => postings.lengthOf(this.query.terms[place]!);
    const places = [...this.query.terms.keys()].sort((a, b) => holding(a) - holding(b));
    const rare: number[] = [];
    for (let seen = 0; seen < most && places.length > 0; ) {
      const place = places.shift()!;
      rare.push(place);
      seen += holding(place);
    }
    return { rare, common: places };
  }
}

/** No two records have one id. */
const neverEqual = (): boolean => false;

function scoresOn({ scores }: ScoreBoard, slots: Uint32Array): Float64Array {
  const these = new Float64Array(slots.length);
  for (let i = 0; i < slots.length; i++) these[i] = scores[slots[i]!] ?? 0;
  return these;
}

function sorted(top: TopScores): BestMatches {
  const { items, scores } = top.sorted();
  return { slots: items, scores };
}
