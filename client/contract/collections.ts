/** Made from coordinator/contract/collections.ts by `npm run docs`. */

export interface CreateCollectionRequest {
  name: string;
  dimension: number;
  metric: 'squared_l2';
  /** Omitted: exact search. */
  index?: 'brute' | 'hnsw' | 'ivf' | 'bq' | 'auto' | null;
}

export interface CreateCollectionResponse {
  name: string;
  id: number;
  /** False if an identical collection existed already. */
  created: boolean;
}

export interface ListedCollection {
  name: string;
  id: number;
  dimension: number;
  metric: 'squared_l2';
  /** The index that serves searches now. */
  index: 'brute' | 'hnsw' | 'ivf' | 'bq';
  /** Live records. */
  recordCount: number;
  /** The bound on live records in the project. */
  maxRecords: number;
  /** Present while the collection is being imported: it can only be listed and deleted. */
  importing?: true;
}

export interface ListCollectionsResponse {
  collections: ListedCollection[];
}

/** Unknown keys are ignored. Parameters of another kind of index are kept for a later build of that kind. */
export interface IndexParameters {
  m?: number | null;
  efConstruction?: number | null;
  efSearch?: number | null;
  nList?: number | null;
  /** At most `nList`, checked for an IVF index. */
  nProbe?: number | null;
  /** BQ: the number of records that are measured exactly. */
  candidates?: number | null;
}

export interface ConfigureIndexRequest {
  /** Null or omitted: the index is dropped. */
  type?: 'hnsw' | 'ivf' | 'bq' | null;
  parameters?: IndexParameters | null;
}

export interface IndexState {
  collection: string;
  /** The index that serves searches; `none`: exact search. */
  activeType: 'hnsw' | 'ivf' | 'bq' | 'none';
  /** `none`, `building`, `active` or `failed`. */
  status: string;
  /** The configured index: a type, `auto`, or `none`. */
  desiredType?: string;
  activeGeneration?: number | null;
  buildingGeneration?: number | null;
  /** Unix seconds; present while a generation is being built, or waits for its turn: when the build was ordered. */
  buildStartedAt?: number;
  /** The share of the build that is done; present while a generation is being built. */
  buildProgress?: number;
  /** The number of committed events when the build was ordered. */
  baseLsn?: number;
  /** Why the last build failed. */
  error?: string;
}

export interface RebuildRequest {
  /** Omitted: each collection keeps its index type. */
  index?: 'brute' | 'bruteforce' | 'hnsw' | 'ivf' | 'bq' | 'auto' | 'mstg' | null;
}

export interface RebuildResponse {
  ok: true;
  effective: string;
  /** Live records after the rebuild. */
  records: number;
}

export interface IndexConfigResponse {
  indexType: 'collection_scoped';
}
