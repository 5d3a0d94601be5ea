/** Growth of the service: many small collections, more shards, followers, and a collection that moves while it is in use. */
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import type { Row } from './row.js';
import { benchManyCollections } from './scale/manyCollections.js';
import { benchSpreadSearches, SPREAD_MEASUREMENTS } from './scale/spreadSearches.js';
import { benchStrongFollowers, STRONG_MEASUREMENTS } from './scale/strongFollowers.js';
import { benchWarmMoves } from './scale/warmMove.js';

export const benchScale = (sizes: Sizes): Promise<Row[]> => {
  const measurements =
    sizes.scaleCollections.length + SPREAD_MEASUREMENTS + STRONG_MEASUREMENTS + sizes.moveRecords.length;
  return measured('scale', measurements, async (progress) => [
    ...(await benchManyCollections(sizes, progress)),
    ...(await benchSpreadSearches(sizes, progress)),
    ...(await benchStrongFollowers(sizes, progress)),
    ...(await benchWarmMoves(sizes, progress)),
  ]);
};
