import { termScore } from './bm25.js';
import { type Documents, LONG } from './documents.js';
import type { Postings } from './postings.js';
import type { ScoreBoard } from './scoreBoard.js';
import { countOf, MANY, numberOf } from './termWord.js';

/**
 * Adds the scores of one term after another to a board, of all slots or of those that are marked there, a few postings at
 * a time. The list may change in between: what it
 * gains is added too, what it loses may be, and what moves to a place that has been passed is told by `missedWithout`.
 */
export class TermSum {
  #term = -1;
  #idf = 0;
  /** The next posting. */
  #at = 0;

  constructor(
    private readonly board: ScoreBoard,
    private readonly postings: Postings,
    private readonly texts: Documents,
    private readonly averageLength: number,
    private readonly isMarkedOnly: boolean,
  ) {}

  begin(term: number, idf: number): void {
    this.#term = term;
    this.#idf = idf;
    this.#at = 0;
  }

  /** Goes through `most` postings; returns how many there were, fewer at the end. */
  step(most: number): number {
    const { board, postings, texts, averageLength } = this;
    const { scores, slots, marks } = board;
    const { isMarkedOnly } = this;
    const { lengths } = texts;
    const term = this.#term;
    const termIdf = this.#idf;
    const count = Math.max(0, Math.min(most, postings.lengthOf(term) - this.#at));
    if (count === 0) return 0;
    const page = postings.pageOf(term);
    const first = postings.startOf(term) + this.#at;
    let { written } = board;
    for (let at = first; at < first + count; at++) {
      const word = page[at]!;
      const slot = numberOf(word);
      // Of a text that came after the board was made.
      if (slot >= scores.length) continue;
      if (isMarkedOnly && ((marks[slot >>> 5]! >>> (slot & 31)) & 1) === 0) continue;
      const few = countOf(word);
      const occurrences = few < MANY ? few : texts.countIn(slot, term);
      const short = lengths[slot]!;
      const length = short < LONG ? short : texts.lengthOf(slot);
      const before = scores[slot]!;
      if (before === 0) slots[written++] = slot;
      scores[slot] = before + termScore(termIdf, occurrences, length, averageLength);
    }
    board.written = written;
    this.#at += count;
    return count;
  }

  /**
   * The posting at a place of the term's list is about to go, and the last one to take its place: its slot, where that is
   * behind what has been gone through and would be left out.
   */
  missedWithout(term: number, position: number): number | undefined {
    if (term !== this.#term || position >= this.#at) return undefined;
    const last = this.postings.lengthOf(term) - 1;
    return last < this.#at ? undefined : this.postings.slotAt(term, last);
  }
}
