import type { Lifetimes } from '../../shard/collection/lifetimes.js';

/** All that lifetimes know, as `restore` takes it. */
export const savedNumbers = (lifetimes: Lifetimes): Float64Array[] =>
  lifetimes.save().map(({ pieces }) => Float64Array.from([...pieces].flatMap((piece) => [...piece])));
