/** The global order of a multi-collection search. Pure. */

export interface RankedHits {
  readonly collection: string;
  readonly ids: Float64Array;
  /** Growing; equal scores stand in order of id. */
  readonly scores: Float64Array;
}

export interface MergedHit {
  readonly collection: string;
  readonly id: number;
  readonly score: number;
}

/** A list and how much of it is taken. */
interface Cursor {
  readonly hits: RankedHits;
  next: number;
}

/**
 * The `k` best of all lists, by score, then collection, then id. A k-way merge over a heap of the lists' heads:
 * O(k log n) for n lists, whatever their length.
 */
export function mergeHits(lists: readonly RankedHits[], k: number): MergedHit[] {
  const heap: Cursor[] = lists.filter(({ ids }) => ids.length > 0).map((hits) => ({ hits, next: 0 }));
  for (let i = (heap.length >> 1) - 1; i >= 0; i--) sink(heap, i);
  const merged: MergedHit[] = [];
  while (merged.length < k && heap.length > 0) {
    const first = heap[0]!;
    const { hits, next } = first;
    merged.push({ collection: hits.collection, id: hits.ids[next]!, score: hits.scores[next]! });
    first.next += 1;
    if (first.next === hits.ids.length) {
      const last = heap.pop()!;
      if (heap.length > 0) heap[0] = last;
    }
    sink(heap, 0);
  }
  return merged;
}

/** No two lists are of the same collection, so ids are never compared. */
function before(a: Cursor, b: Cursor): boolean {
  const difference = a.hits.scores[a.next]! - b.hits.scores[b.next]!;
  return difference < 0 || (difference === 0 && a.hits.collection < b.hits.collection);
}

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
