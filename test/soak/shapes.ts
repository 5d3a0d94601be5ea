/** Shapes of the collections of a soak. */
import type { IndexKind } from './history/indexes.js';

export interface CollectionShape {
  readonly name: string;
  readonly dimension: number;
  readonly index: IndexKind;
  /** Written before the faults begin. With fewer rows a search is exact, because that costs less than the index. */
  readonly rows: number;
}

/** One of each kind, with as few rows as make its index useful; a code of bits pays only with more dimensions. */
const INDEXED: readonly Omit<CollectionShape, 'name'>[] = [
  { dimension: 4, index: 'hnsw', rows: 3_500 },
  { dimension: 4, index: 'ivf', rows: 3_500 },
  { dimension: 64, index: 'bq', rows: 4_500 },
];
const PLAIN: Omit<CollectionShape, 'name'> = { dimension: 4, index: 'none', rows: 0 };

/** The first one has no index, then comes one per kind of index, and all others have none. */
export const shapesOf = (count: number): readonly CollectionShape[] =>
  Array.from({ length: count }, (_, i) => ({ name: `c${i + 1}`, ...(INDEXED[i - 1] ?? PLAIN) }));

/** Parameters of every index, so that few rows suffice; a kind ignores those it does not know. */
export const INDEX_PARAMETERS = { m: 8, ef_search: 20, n_list: 16, n_probe: 4 };
