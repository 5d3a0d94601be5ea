/** The order of a search over several collections. Pure. */

import type { Steps } from '../../shared/scheduling/slice.js';
import type { JsonWriter } from '../http/jsonWriter.js';
import { type DecodedHits, hitJson, isStepEnd, writeHitFields } from './hits.js';

export interface CollectionHits extends DecodedHits {
  readonly collection: string;
}

/** A list of hits, and the next of them to take. */
interface Cursor {
  readonly hits: CollectionHits;
  next: number;
}

/**
 * Writes the `k` best hits of all lists as `MultiSearchHit`s, separated by commas. The order is by score; with decay, by score /
 * factor and then score. Equal hits are ordered by collection, then id. Each list must be in this order already. This is a k-way
 * merge over a heap of cursors: O(k log n) for n lists of any length. 5,000 hits take 5 to 10 ms, in steps.
 */
export function* writeMerged(writer: JsonWriter, lists: readonly CollectionHits[], k: number): Steps<void> {
  const heap: Cursor[] = lists.filter(({ ids }) => ids.length > 0).map((hits) => ({ hits, next: 0 }));
  for (let i = (heap.length >> 1) - 1; i >= 0; i--) siftDown(heap, i);
  for (let count = 0; count < k && heap.length > 0; count++) {
    const first = heap[0]!;
    const { hits, next } = first;
    const start = count === 0 ? '{' : ',{';
    writer.write(`${start}"collection":${JSON.stringify(hits.collection)},${hitJson(hits, next)}`);
    if (hits.fields !== undefined) yield* writeHitFields(writer, hits.fields, next, hits.scale);
    first.next += 1;
    if (first.next === hits.ids.length) {
      const last = heap.pop()!;
      if (heap.length > 0) heap[0] = last;
    }
    siftDown(heap, 0);
    if (isStepEnd(hits, count)) yield;
  }
}

/** Compares no ids, since each list is of another collection. */
function isBefore(a: Cursor, b: Cursor): boolean {
  const difference = decayedScoreAt(a) - decayedScoreAt(b) || scoreAt(a) - scoreAt(b);
  return difference < 0 || (difference === 0 && a.hits.collection < b.hits.collection);
}

const scoreAt = ({ hits, next }: Cursor): number => hits.scores[next]!;

/** The division by which shards order too. */
const decayedScoreAt = (cursor: Cursor): number => {
  const { hits, next } = cursor;
  return hits.aged === undefined ? scoreAt(cursor) : scoreAt(cursor) / hits.aged.factors[next]!;
};

function siftDown(heap: Cursor[], from: number): void {
  let parent = from;
  for (;;) {
    const left = 2 * parent + 1;
    if (left >= heap.length) return;
    const right = left + 1;
    const child = right < heap.length && isBefore(heap[right]!, heap[left]!) ? right : left;
    if (!isBefore(heap[child]!, heap[parent]!)) return;
    [heap[parent], heap[child]] = [heap[child]!, heap[parent]!];
    parent = child;
  }
}
