/** The global order of a multi-collection search. Pure. */
import type { MultiSearchHit } from '../contract/search.js';
import type { FoundHits } from './foundHits.js';

export interface RankedHits extends FoundHits {
  readonly collection: string;
}

/** A list and how much of it is taken. */
interface Cursor {
  readonly hits: RankedHits;
  next: number;
}

/**
 * The `k` best of all lists, by score or, with decay, by score / factor and then score; equal ones by collection, then id.
 * Each list stands in that order already. A k-way merge over a heap of the lists' heads: O(k log n) for n lists, whatever
 * their length.
 */
export function mergeHits(lists: readonly RankedHits[], k: number): MultiSearchHit[] {
  const heap: Cursor[] = lists.filter(({ ids }) => ids.length > 0).map((hits) => ({ hits, next: 0 }));
  for (let i = (heap.length >> 1) - 1; i >= 0; i--) sink(heap, i);
  const merged: MultiSearchHit[] = [];
  while (merged.length < k && heap.length > 0) {
    const first = heap[0]!;
    const { hits, next } = first;
    merged.push(hitOf(hits, next));
    first.next += 1;
    if (first.next === hits.ids.length) {
      const last = heap.pop()!;
      if (heap.length > 0) heap[0] = last;
    }
    sink(heap, 0);
  }
  return merged;
}

const hitOf = ({ collection, ids, scores, aged }: RankedHits, i: number): MultiSearchHit => ({
  collection,
  id: ids[i]!,
  score: scores[i]!,
  ...(aged === undefined ? {} : { decay_factor: aged.factors[i]!, age_secs: aged.agesSecs[i]! }),
});

/** No two lists are of the same collection, so ids are never compared. */
function before(a: Cursor, b: Cursor): boolean {
  const difference = distanceAt(a) - distanceAt(b) || scoreAt(a) - scoreAt(b);
  return difference < 0 || (difference === 0 && a.hits.collection < b.hits.collection);
}

const scoreAt = ({ hits, next }: Cursor): number => hits.scores[next]!;

/** The very division that the lists are ordered by. */
const distanceAt = (cursor: Cursor): number => {
  const { hits, next } = cursor;
  return hits.aged === undefined ? scoreAt(cursor) : scoreAt(cursor) / hits.aged.factors[next]!;
};

function sink(heap: Cursor[], from: number): void {
  let parent = from;
  for (;;) {
    const left = 2 * parent + 1;
    if (left >= heap.length) return;
    const right = left + 1;
    const child = right < heap.length && before(heap[right]!, heap[left]!) ? right : left;
    if (!before(heap[child]!, heap[parent]!)) return;
    [heap[parent], heap[child]] = [heap[child]!, heap[parent]!];
    parent = child;
  }
}
