import type { SlotSet } from '../kernel/slotSet.js';
import { Best } from './best.js';
import { idf, mostOf, termScore } from './bm25.js';
import type { Documents } from './documents.js';
import type { Postings } from './postings.js';
import type { ScoreBoard } from './scoreBoard.js';
import { countOf, MANY, numberOf } from './termWord.js';
import type { TextIndex } from './textIndex.js';
import type { Vocabulary } from './vocabulary.js';

/** Postings of rare terms that are looked at for each result, before common ones are. */
const RARE_PER_RESULT = 2;
/** More than the rounding of a sum of terms can come to. */
const ROUNDING = 1 + 1e-9;

interface Sides {
  readonly postings: Postings;
  readonly texts: Documents;
  readonly vocabulary: Vocabulary;
  readonly board: ScoreBoard;
}

/** With no more terms than this, all are looked up in a text; of more, those that a short text has are looked up in the query. */
const FEW_TERMS = 64;

/**
 * The BM25 scores of one query, of the collection as it is when they are asked for: a match may be kept while records come
 * and go.
 */
export class TextMatches {
  #version: number | undefined;
  /** Of those tokens that occur, in the query's order. */
  readonly #terms: number[] = [];
  readonly #idfs: number[] = [];
  /** By term, its place among them. */
  readonly #places = new Map<number, number>();
  #averageLength = 0;

  /** `tokens`: distinct. */
  constructor(
    private readonly index: TextIndex,
    private readonly sides: Sides,
    private readonly tokens: readonly string[],
  ) {}

  /** Whether all scores are 0. */
  get isEmpty(): boolean {
    this.#refresh();
    return this.#terms.length === 0;
  }

  /** 0 where the record has no text, or none of the query's words in it. Costs what the shorter of both is long. */
  scoreOf(slot: number): number {
    this.#refresh();
    const { texts } = this.sides;
    const length = texts.lengths[slot] ?? 0;
    if (length === 0) return 0;
    const places = this.#terms.length > Math.max(FEW_TERMS, texts.termsIn(slot)) ? this.#placesIn(slot) : undefined;
    const tried = places?.length ?? this.#terms.length;
    let score = 0;
    for (let i = 0; i < tried; i++) {
      const place = places?.[i] ?? i;
      const count = texts.countIn(slot, this.#terms[place]!);
      if (count > 0) score += termScore(this.#idfs[place]!, count, length, this.#averageLength);
    }
    return score;
  }

  /**
   * The slots of the best `n` scores above 0 of all records, or those of `eligible`; best first, equal ones by record id.
   * Costs what the terms' postings are long; those of common words are left alone where the others decide.
   */
  best(n: number, eligible?: SlotSet): Uint32Array {
    this.#refresh();
    this.sides.board.reserve(this.sides.texts.lengths.length);
    return this.#bestByRareTerms(n, eligible) ?? this.#bestByAll(n, eligible);
  }

  #bestByAll(n: number, eligible: SlotSet | undefined): Uint32Array {
    const { board } = this.sides;
    const { scores, slots } = board;
    const count = this.#accumulate([...this.#terms.keys()]);
    const { idOf } = this.index;
    const best = this.#bestOf(n, (slot) => scores[slot]!);
    let least = 0;
    let leastId = Number.POSITIVE_INFINITY;
    for (let i = 0; i < count; i++) {
      const slot = slots[i]!;
      const score = scores[slot]!;
      // Short texts score alike by the thousand: of those only the smallest ids come further.
      if (score < least || (score === least && idOf(slot) > leastId) || eligible?.has(slot) === false) continue;
      best.offer(slot);
      const { worst } = best;
      if (worst === undefined) continue;
      least = scores[worst]!;
      leastId = idOf(worst);
    }
    const sorted = best.sorted();
    board.clear(count);
    return sorted;
  }

  /**
   * A term adds less than idf · (k1 + 1) to a score. Where the n-th best score by the rarest terms alone is above what all
   * the others can add, a text with none of the rarest is not among the best n (Turtle and Flood's MaxScore). Undefined
   * where that does not help.
   */
  #bestByRareTerms(n: number, eligible: SlotSet | undefined): Uint32Array | undefined {
    const { rare, common } = this.#split(RARE_PER_RESULT * n);
    if (common.length === 0 || rare.length === 0) return undefined;
    const others = common.reduce((sum, place) => sum + mostOf(this.#idfs[place]!), 0) * ROUNDING;
    // About what one occurrence of the rarest is worth: where the others can add more, they most likely do.
    if (others > this.#idfs[rare[0]!]!) return undefined;
    const { board } = this.sides;
    const { scores, slots } = board;
    const count = this.#accumulate(rare);
    const least = this.#nthBest(n, count, eligible);
    let found: Uint32Array | undefined;
    if (others < least) {
      const exact = new Map<number, number>();
      const best = this.#bestOf(n, (slot) => exact.get(slot)!);
      for (let i = 0; i < count; i++) {
        const slot = slots[i]!;
        if (scores[slot]! * ROUNDING + others < least || eligible?.has(slot) === false) continue;
        exact.set(slot, this.scoreOf(slot));
        best.offer(slot);
      }
      found = best.sorted();
    }
    board.clear(count);
    return found;
  }

  /** The score on the board that `n` of the first `count` slots reach; 0 where fewer are there. */
  #nthBest(n: number, count: number, eligible: SlotSet | undefined): number {
    const { scores, slots } = this.sides.board;
    const best = new Best(n, (slot, other) => scores[slot]! > scores[other]!);
    for (let i = 0; i < count; i++) if (eligible?.has(slots[i]!) !== false) best.offer(slots[i]!);
    return best.worst === undefined ? 0 : scores[best.worst]!;
  }

  /** Places of the rarest terms, of `most` postings at least where there are so many, and of the others. */
  #split(most: number): { readonly rare: number[]; readonly common: number[] } {
    const { postings } = this.sides;
    const holding = (place: number): number => postings.lengthOf(this.#terms[place]!);
    const places = [...this.#terms.keys()].sort((a, b) => holding(a) - holding(b));
    const rare: number[] = [];
    for (let seen = 0; seen < most && places.length > 0; ) {
      const place = places.shift()!;
      rare.push(place);
      seen += holding(place);
    }
    return { rare, common: places };
  }

  #bestOf(n: number, scoreOf: (slot: number) => number): Best {
    const { idOf } = this.index;
    return new Best(n, (slot, other) => {
      const difference = scoreOf(slot) - scoreOf(other);
      return difference === 0 ? idOf(slot) < idOf(other) : difference > 0;
    });
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

  /** Puts the scores of the terms at these places on the board, one by one; returns how many are above 0. */
  #accumulate(places: readonly number[]): number {
    const { board, postings, texts } = this.sides;
    const { scores, slots } = board;
    const { lengths } = texts;
    let written = 0;
    for (const place of places) {
      const term = this.#terms[place]!;
      const termIdf = this.#idfs[place]!;
      const page = postings.pageOf(term);
      const start = postings.startOf(term);
      const end = start + postings.lengthOf(term);
      for (let at = start; at < end; at++) {
        const slot = numberOf(page[at]!);
        const few = countOf(page[at]!);
        const count = few < MANY ? few : texts.countIn(slot, term);
        const before = scores[slot]!;
        if (before === 0) slots[written++] = slot;
        scores[slot] = before + termScore(termIdf, count, lengths[slot]!, this.#averageLength);
      }
    }
    return written;
  }

  /** Finds the terms and their statistics anew where the collection has changed. */
  #refresh(): void {
    const { index, sides } = this;
    if (this.#version === index.version) return;
    this.#version = index.version;
    this.#averageLength = index.averageLength;
    this.#terms.length = 0;
    this.#idfs.length = 0;
    this.#places.clear();
    for (const token of this.tokens) {
      const term = sides.vocabulary.find(token);
      if (term === undefined) continue;
      this.#places.set(term, this.#terms.length);
      this.#terms.push(term);
      this.#idfs.push(idf(index.documents, sides.postings.lengthOf(term)));
    }
  }
}
