import { type Slice, sliceTurns } from '../../shared/scheduling/slice.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { FoundFields } from '../search/found.js';
import { type Searched, searchCollection } from '../search/search.js';
import type { CollectionState } from '../state/collectionState.js';
import type { AsOfOptions } from './messages.js';

/** Searches a state exactly. `timeMs`: time of its last event; null before the first. */
export function searchState(
  { state, timeMs }: { readonly state: CollectionState; readonly timeMs: number | null },
  query: Int32Array | undefined,
  options: AsOfOptions,
  slice: () => Slice,
): FoundFields | Promise<FoundFields> {
  const { vectors, metadata, texts, graph, insertions } = state;
  const searched = { vectors, metadata, texts, graph, insertions, index: exact(vectors), records: state };
  return searchAsOf({ searched, timeMs }, query, options, slice);
}

/** Searches with ages relative to the instant in the options, by default to the state's last event. */
export function searchAsOf(
  { searched, timeMs }: { readonly searched: Searched; readonly timeMs: number | null },
  query: Int32Array | undefined,
  { agedToMs, ...call }: AsOfOptions,
  slice: () => Slice,
): FoundFields | Promise<FoundFields> {
  const nowMs = agedToMs ?? timeMs;
  const aged = call.decay === undefined || nowMs === null ? call : { ...call, decay: { ...call.decay, nowMs } };
  return searchCollection(searched, query, aged, slice);
}

const exact = (vectors: VectorBlocks): Searched['index'] => ({
  serving: 'brute',
  search: (query, k, eligible) => vectors.search(query, k, sliceTurns(), { eligible }),
});
