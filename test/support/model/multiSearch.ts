/** Search over several collections: each is searched by itself, then all hits are sorted together. */
import type { ModelCollection } from './records.js';
import { type ModelHit, type ModelRequest, search } from './search.js';

export type MultiRequest = Pick<ModelRequest, 'query' | 'k' | 'decay_half_life_secs' | 'metadata_filter'>;

export interface MultiHit extends ModelHit {
  readonly collection: string;
}

/** Sorts by distance, decayed if decay is asked for, then by score, collection and id. */
export function multiSearch(collections: readonly ModelCollection[], request: MultiRequest, nowMs: number): MultiHit[] {
  const all = collections.flatMap((one) =>
    search(one, request, nowMs).map((hit): MultiHit => ({ collection: one.name, ...hit })),
  );
  const distanceOf = ({ score, decay_factor = 1 }: MultiHit): number => score / decay_factor;
  const order = (a: MultiHit, b: MultiHit): number =>
    distanceOf(a) - distanceOf(b) || a.score - b.score || compareNames(a.collection, b.collection) || a.id - b.id;
  return all.sort(order).slice(0, request.k);
}

const compareNames = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
