import { systemClock } from '../shared/clock.js';
import { fixedBytes, type VectorSet } from './vectors.js';

export interface TimedSearches {
  /** The ids found for each query. */
  readonly ids: Float64Array[];
  /** In ascending order. */
  readonly latenciesMs: Float64Array;
}

/** Searches with the queries of the set, one after another. `search`: takes the bytes of the components. */
export async function timedSearches(
  set: VectorSet,
  searches: number,
  search: (query: Uint8Array) => Promise<Float64Array>,
): Promise<TimedSearches> {
  const latenciesMs = new Float64Array(searches);
  const ids: Float64Array[] = [];
  for (let i = 0; i < searches; i++) {
    const row = i % set.queryCount;
    const query = fixedBytes(set.queries, set.dimension, row, row + 1);
    const startedMs = systemClock.monotonicMs();
    ids.push(await search(query));
    latenciesMs[i] = systemClock.monotonicMs() - startedMs;
  }
  return { ids, latenciesMs: latenciesMs.sort() };
}
