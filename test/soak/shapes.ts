/** Shapes of the collections of a soak. */
import { INDEX_KINDS } from '../../shared/model/indexKinds.js';
import type { IndexKind } from './history/indexes.js';

export interface CollectionShape {
  readonly name: string;
  readonly dimension: number;
  readonly index: IndexKind;
  /** Rows written before the faults begin. */
  readonly rows: number;
  /** Whether its reads are entries of an access log. */
  readonly auditReads?: boolean;
  /** Days for which entries of its access log are kept; absent: forever. */
  readonly accessRetentionDays?: number;
  /** Absent: its records do not expire. */
  readonly ttlSecs?: number;
  /** Whether its vectors are divided by their length. */
  readonly normalise?: boolean;
}

type UnnamedShape = Omit<CollectionShape, 'name'>;

/** Dimension and fewest rows with which an index of the kind takes less time than an exact search. */
const INDEXED: Readonly<Record<(typeof INDEX_KINDS)[number], Omit<UnnamedShape, 'index'>>> = {
  hnsw: { dimension: 4, rows: 3_500 },
  ivf: { dimension: 4, rows: 3_500 },
  bq: { dimension: 64, rows: 4_500 },
};
const PLAIN: UnnamedShape = { dimension: 4, index: 'none', rows: 0 };
/** Some records expire while their insert is answered or repeated, others between calls. */
const TTL_SECS = { short: 2, long: 30 };
const SHAPES: readonly UnnamedShape[] = [
  PLAIN,
  ...INDEX_KINDS.map((index) => ({ index, ...INDEXED[index] })),
  { ...PLAIN, ttlSecs: TTL_SECS.long, auditReads: true },
  { ...PLAIN, normalise: true, auditReads: true },
  { ...PLAIN, ttlSecs: TTL_SECS.short, normalise: true },
  { ...PLAIN, auditReads: true },
];

/** A collection without an index, one of each kind of index, then those with expiries, cosine and access logs, then plain ones. */
export const shapesOf = (count: number): readonly CollectionShape[] =>
  Array.from({ length: count }, (_, i) => ({ name: `c${i + 1}`, ...(SHAPES[i] ?? PLAIN) }));

/** Parameters of every index, so that few rows suffice; a kind ignores those it does not know. */
export const INDEX_PARAMETERS = { m: 8, ef_search: 20, n_list: 16, n_probe: 4 };
