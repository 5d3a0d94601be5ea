/** What the collections of a soak are like. */
import type { IndexKind } from './history/indexes.js';

export interface CollectionShape {
  readonly name: string;
  readonly dimension: number;
  readonly index: IndexKind;
  /** Written before the faults begin: with fewer a search is exact, since that is cheaper than the index. */
  readonly rows: number;
}

/** One of each kind, in as few rows as an index is used for; a code of bits pays with more dimensions only. */
const INDEXED: readonly Omit<CollectionShape, 'name'>[] = [
  { dimension: 4, index: 'hnsw', rows: 3_500 },
  { dimension: 4, index: 'ivf', rows: 3_500 },
  { dimension: 64, index: 'bq', rows: 4_500 },
];
const PLAIN: Omit<CollectionShape, 'name'> = { dimension: 4, index: 'none', rows: 0 };

/** The first one is plain, then comes one with each kind of index, and all others are plain. */
export const shapesOf = (count: number): readonly CollectionShape[] =>
  Array.from({ length: count }, (_, i) => ({ name: `c${i + 1}`, ...(INDEXED[i - 1] ?? PLAIN) }));

/** Of every index, so that it is used for as few rows; what a kind does not know it passes over. */
export const INDEX_PARAMETERS = { m: 8, ef_search: 20, n_list: 16, n_probe: 4 };
