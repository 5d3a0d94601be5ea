import type { Hits } from '../kernel/scanScratch.js';

/** Records that were found, best first: arrays of one length. */
export interface Found extends Hits {
  /** With decay. */
  readonly aged?: { readonly factors: Float64Array; readonly agesSecs: Float64Array };
  /** With the graph: hops to the nearest seed, −1 where none is within reach. */
  readonly hops?: Int32Array;
}

/** What hit `i` is ordered by before text and graph have a say. */
export const distanceOf = ({ scores, aged }: Found, i: number): number =>
  aged === undefined ? scores[i]! : scores[i]! / aged.factors[i]!;
