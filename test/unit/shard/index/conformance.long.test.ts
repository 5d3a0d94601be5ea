// Covers: shard/index/kinds.ts, shard/index/bq/, shard/index/hnsw/, shard/index/ivf/, shard/collection/collectionSearch.ts
// Covers: shard/index/building.ts, shard/index/store/payloadFile.ts
/** Every kind of index, and exact search, in one test suite. */
import type { Floors } from '../../../support/suites/indexSubject.js';
import { indexSuite } from '../../../support/suites/indexSuite.js';

const exact = (): number => 1;
const EXACT: Floors = {
  clustered: 1,
  uniform: 1,
  changed: 1,
  itself: 1,
  eligible: 1,
  samePersisted: 1,
  dimension: exact,
};

indexSuite('exact', { kind: 'brute', floors: EXACT });

const HNSW: Floors = {
  clustered: 0.8,
  uniform: 0.6,
  changed: 0.8,
  itself: 0.99,
  eligible: 0.8,
  samePersisted: 0.9,
  dimension: () => 0.9,
};

indexSuite('HNSW', { kind: 'hnsw', floors: HNSW });
indexSuite('HNSW with search threads', { kind: 'hnsw', floors: HNSW, threads: 2 });
const SEGMENTED = { kind: 'hnsw', floors: HNSW, graphBytesMax: 1 << 22, dimension: 384 } as const;
indexSuite('HNSW of several segments', SEGMENTED);
indexSuite('HNSW of several segments with search threads', { ...SEGMENTED, threads: 2 });

const IVF: Floors = {
  clustered: 0.8,
  uniform: 0.45,
  changed: 0.7,
  itself: 1,
  eligible: 0.6,
  samePersisted: 1,
  dimension: () => 0.8,
};

indexSuite('IVF', { kind: 'ivf', floors: IVF });
indexSuite('IVF with search threads', { kind: 'ivf', floors: IVF, threads: 2 });

const BQ: Floors = {
  clustered: 0.4,
  uniform: 0.4,
  changed: 0.35,
  itself: 1,
  eligible: 0.6,
  samePersisted: 1,
  dimension: () => 0.6,
};

indexSuite('BQ', { kind: 'bq', floors: BQ });
indexSuite('BQ with search threads', { kind: 'bq', floors: BQ, threads: 2 });
