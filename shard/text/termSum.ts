/** Adds one term's BM25 scores to the accumulator, restartable between postings while texts are written. */
import { termScore } from './bm25.js';
import { type Documents, LONG } from './documents.js';
import type { Postings } from './postings.js';
import type { ScoreAccumulator } from './scoreAccumulator.js';
import { countOf, MANY, numberOf } from './termWord.js';

/**
 * Adds the scores of one term after another to an accumulator, of all slots or of marked ones, a few postings at a
 * time. Postings may be added and removed in between. New ones are added too; removed ones may be. `skippedByRemoval`
 * finds a posting that moves to a position that has already been read.
 */
export class TermSum {
  #term = -1;
  #idf = 0;
  /** Position of the next posting. */
  #at = 0;

  constructor(
    private readonly accumulator: ScoreAccumulator,
    private readonly stores: { readonly postings: Postings; readonly documents: Documents },
    private readonly averageLength: number,
    private readonly isMarkedOnly: boolean,
  ) {}

  begin(term: number, idf: number): void {
    this.#term = term;
    this.#idf = idf;
    this.#at = 0;
  }

  /** Reads up to `most` postings; returns how many, fewer at the end of the list. */
  step(most: number): number {
    const { accumulator, averageLength, isMarkedOnly } = this;
    const { postings, documents } = this.stores;
    const { scores, slots, marks } = accumulator;
    const { lengths } = documents;
    const term = this.#term;
    const termIdf = this.#idf;
    const count = Math.max(0, Math.min(most, postings.lengthOf(term) - this.#at));
    if (count === 0) return 0;
    const page = postings.pageOf(term);
    const first = postings.startOf(term) + this.#at;
    let { written } = accumulator;
    for (let at = first; at < first + count; at++) {
      const word = page[at]!;
      const slot = numberOf(word);
      // The text was added after the accumulator was reserved.
      if (slot >= scores.length) continue;
      if (isMarkedOnly && !marks.has(slot)) continue;
      const few = countOf(word);
      const occurrences = few < MANY ? few : documents.countIn(slot, term);
      const short = lengths[slot]!;
      const length = short < LONG ? short : documents.lengthOf(slot);
      const before = scores[slot]!;
      if (before === 0) slots[written++] = slot;
      scores[slot] = before + termScore(termIdf, occurrences, length, averageLength);
    }
    accumulator.written = written;
    this.#at += count;
    return count;
  }

  /**
   * Call it before a posting of the term is removed, and replaced by the last one. Returns the last one's slot if it
   * would move from the unread part to the part that has been read.
   */
  skippedByRemoval(term: number, position: number): number | undefined {
    if (term !== this.#term || position >= this.#at) return undefined;
    const last = this.stores.postings.lengthOf(term) - 1;
    return last < this.#at ? undefined : this.stores.postings.slotAt(term, last);
  }
}
