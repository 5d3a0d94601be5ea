/** The hits of one collection, out of the bytes they travelled in. */
import type { SearchResult } from '../../shared/calls.js';
import { int32sOf, numbersOf } from './numbers.js';

/** Best first: arrays of one length. */
export interface FoundHits {
  readonly ids: Float64Array;
  readonly scores: Float64Array;
  /** With decay. */
  readonly aged?: { readonly factors: Float64Array; readonly agesSecs: Float64Array };
  /** With the graph; −1: none within reach. */
  readonly hops?: Int32Array;
}

export function foundHits({ ids, scores, factors, agesSecs, hops }: SearchResult): FoundHits {
  return {
    ids: numbersOf(ids),
    scores: numbersOf(scores),
    ...(factors === undefined || agesSecs === undefined
      ? {}
      : { aged: { factors: numbersOf(factors), agesSecs: numbersOf(agesSecs) } }),
    ...(hops === undefined ? {} : { hops: int32sOf(hops) }),
  };
}
