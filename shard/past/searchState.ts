import type { CollectionState } from '../collection/collectionState.js';
import type { Pace } from '../graph/pace.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { nextTurn } from '../pause.js';
import type { Found } from '../search/found.js';
import { type Searched, search } from '../search/search.js';
import type { PastOptions } from './messages.js';

/** Exactly, in a state as it is. `timeMs`: of its last event; null before the first. */
export function searchState(
  { vectors, metadata, texts, graph, insertions }: CollectionState,
  timeMs: number | null,
  query: Int32Array,
  options: PastOptions,
  pace: () => Pace,
): Promise<Found> {
  const searched = { vectors, metadata, texts, graph, insertions, index: exact(vectors) };
  return searchPast(searched, timeMs, query, options, pace);
}

/** Ages are counted to the instant that was asked for, or to the state's last event. */
export function searchPast(
  searched: Searched,
  timeMs: number | null,
  query: Int32Array,
  { agedToMs, ...call }: PastOptions,
  pace: () => Pace,
): Promise<Found> {
  // Before the first event there is nothing to age.
  const nowMs = agedToMs ?? timeMs;
  const aged = call.decay === undefined || nowMs === null ? call : { ...call, decay: { ...call.decay, nowMs } };
  return search(searched, query, aged, pace);
}

const exact = (vectors: VectorBlocks): Searched['index'] => ({
  serving: 'brute',
  search: (query, k, eligible) => vectors.search(query, k, nextTurn, { eligible }),
});
