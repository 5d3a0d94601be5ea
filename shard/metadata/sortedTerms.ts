/**
 * Terms in order, each with the slots that have it: one structure for equality and for ranges. It is a list of ordered
 * chunks, found by two binary searches. A full chunk is halved. A term of one record takes its string and about 24
 * bytes. To find one among a million costs 20 comparisons, about a microsecond.
 */
import type { Steps } from '../../shared/scheduling/slice.js';
import type { BitSet } from '../kernel/bitSet.js';
import { partition } from '../kernel/partition.js';
import { type Effort, WORK } from './effort.js';
import { addTo, firstFrom, type Posting, postingBytes, postingWork, withoutSlot, withSlot } from './posting.js';

const CHUNK_TERMS_MAX = 512;
const LAST_CHUNK_MOVED = 32;
/** Least string. */
const LEAST = '';
/** Estimated heap bytes of a term: its string, its two places in a chunk, and a share of the chunk's free space. */
const TERM_BYTES = 48;

/** Terms in order, at least one. */
interface Chunk {
  readonly terms: string[];
  /** Slots of each term. */
  readonly postings: Posting[];
}

export class SortedTerms {
  readonly #chunks: Chunk[] = [];
  /** Per chunk: a lower bound of its terms that is above those of the chunk before. */
  readonly #separators: string[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(term: string, slot: number, slots: number): void {
    if (this.#chunks.length === 0) this.#insert(0, LEAST, { terms: [], postings: [] });
    const index = this.#chunkOf(term);
    const { terms, postings } = this.#chunks[index]!;
    const at = firstFrom(terms, term);
    if (terms[at] === term) {
      const before = postingBytes(postings[at]);
      postings[at] = withSlot(postings[at], slot, slots);
      this.#bytes += postingBytes(postings[at]) - before;
      return;
    }
    terms.splice(at, 0, term);
    postings.splice(at, 0, slot);
    this.#bytes += TERM_BYTES + term.length;
    if (terms.length > CHUNK_TERMS_MAX) this.#halve(index);
  }

  remove(term: string, slot: number): void {
    const index = this.#chunkOf(term);
    const chunk = this.#chunks[index];
    if (chunk === undefined) return;
    const at = firstFrom(chunk.terms, term);
    if (chunk.terms[at] !== term) return;
    this.#bytes -= postingBytes(chunk.postings[at]);
    const left = withoutSlot(chunk.postings[at]!, slot);
    if (left !== undefined) {
      chunk.postings[at] = left;
      this.#bytes += postingBytes(left);
      return;
    }
    this.#bytes -= TERM_BYTES + term.length;
    chunk.terms.splice(at, 1);
    chunk.postings.splice(at, 1);
    if (chunk.terms.length > 0) return;
    this.#chunks.splice(index, 1);
    this.#separators.splice(index, 1);
    if (index === 0 && this.#chunks.length > 0) this.#separators[0] = LEAST;
  }

  /** Returns the slots of `term`. */
  of(term: string): Posting | undefined {
    const chunk = this.#chunks[this.#chunkOf(term)];
    if (chunk === undefined) return undefined;
    const at = firstFrom(chunk.terms, term);
    return chunk.terms[at] === term ? chunk.postings[at] : undefined;
  }

  /**
   * Yields the terms above `below`, or all, in order, each with its slots. Terms may be added and removed in between; all
   * others are yielded once.
   */
  *each(below?: string): Generator<readonly [term: string, slots: Posting]> {
    let term = below;
    let chunk: Chunk | undefined;
    for (let at = 0; ; at++) {
      // Unless terms were added or removed since, the next one is in the next place. A search takes a hundred times as
      // long.
      if (chunk === undefined || chunk.terms[at - 1] !== term || at >= chunk.terms.length) {
        const place = this.#after(term);
        if (place === undefined) return;
        [chunk, at] = place;
      }
      term = chunk.terms[at]!;
      yield [term, chunk.postings[at]!];
    }
  }

  /**
   * Adds to `slots` the slots of all terms for which `isBefore` is false and `isUpTo` is true. Each must be true up to
   * some point of the order, and false after it. Terms may be added and removed between two steps.
   */
  *between(
    isBefore: (term: string) => boolean,
    isUpTo: (term: string) => boolean,
    slots: BitSet,
    effort: Effort,
  ): Steps<void> {
    for (let isDone = isBefore; ; ) {
      const last = this.#addRun(isDone, isUpTo, slots, effort);
      if (last === undefined) return;
      if (effort.endsStep()) yield;
      isDone = (term) => term <= last;
    }
  }

  /** Adds until the step is over. Returns the last term it added; undefined if none is left after it. */
  #addRun(
    isBefore: (term: string) => boolean,
    isUpTo: (term: string) => boolean,
    slots: BitSet,
    effort: Effort,
  ): string | undefined {
    const last = partition(this.#chunks.length, (index) => isUpTo(this.#chunks[index]!.terms[0]!)) - 1;
    const ends = ({ terms }: Chunk): string => terms[terms.length - 1]!;
    const first = partition(this.#chunks.length, (index) => isBefore(ends(this.#chunks[index]!)));
    effort.spend(WORK.find);
    for (let index = first; index <= last; index++) {
      const { terms, postings } = this.#chunks[index]!;
      const from = index === first ? partition(terms.length, (at) => isBefore(terms[at]!)) : 0;
      const to = index === last ? partition(terms.length, (at) => isUpTo(terms[at]!)) : terms.length;
      const end = addRange(postings, { from, to }, slots, effort);
      if (effort.isSpent && end > from) return terms[end - 1];
    }
    return undefined;
  }

  /** Returns the index of the chunk that may have `term`. */
  #chunkOf(term: string): number {
    return Math.max(0, partition(this.#separators.length, (index) => this.#separators[index]! <= term) - 1);
  }

  /**
   * Returns the place of the first term after `term`, or of all if it is undefined. Costs two binary searches: about
   * half a microsecond.
   */
  #after(term: string | undefined): [chunk: Chunk, at: number] | undefined {
    let index = term === undefined ? 0 : this.#chunkOf(term);
    let chunk = this.#chunks[index];
    let at =
      term === undefined || chunk === undefined ? 0 : partition(chunk.terms.length, (i) => chunk!.terms[i]! <= term);
    if (chunk !== undefined && at === chunk.terms.length) {
      chunk = this.#chunks[++index];
      at = 0;
    }
    return chunk && [chunk, at];
  }

  #halve(index: number): void {
    const { terms, postings } = this.#chunks[index]!;
    // Move few terms out of the last chunk, so that terms in ascending order, such as timestamps, leave chunks nearly
    // full.
    const kept = terms.length - (index === this.#chunks.length - 1 ? LAST_CHUNK_MOVED : terms.length >>> 1);
    const moved = { terms: terms.splice(kept), postings: postings.splice(kept) };
    this.#insert(index + 1, moved.terms[0]!, moved);
  }

  #insert(index: number, separator: string, chunk: Chunk): void {
    this.#chunks.splice(index, 0, chunk);
    this.#separators.splice(index, 0, separator);
  }
}

/** Adds the slots of postings until the step is over. Returns the position after the last one. */
function addRange(
  postings: readonly Posting[],
  { from, to }: { readonly from: number; readonly to: number },
  slots: BitSet,
  effort: Effort,
): number {
  let at = from;
  while (at < to) {
    const posting = postings[at++]!;
    if (typeof posting === 'number') {
      slots.add(posting);
      continue;
    }
    addTo(slots, posting);
    effort.spend(postingWork(posting));
    if (effort.isSpent) break;
  }
  effort.spend((at - from) * WORK.term);
  return at;
}
