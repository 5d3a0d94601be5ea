/** Collections and their indexes. */
import typia, { type tags } from 'typia';
import { refuseIndexAt } from './refusal.js';
import type { CollectionName, Dimension } from './values.js';

export interface CreateCollectionRequest {
  name: CollectionName;
  dimension: Dimension;
  metric: 'squared_l2';
  /** Omitted: exact search. */
  index?: 'brute' | 'hnsw' | 'ivf' | 'bq' | 'auto' | null;
}

export interface CreateCollectionResponse {
  name: string;
  id: number;
  /** False where an identical collection was there already. */
  created: boolean;
}

export interface ListedCollection {
  name: string;
  id: number;
  dimension: number;
  metric: 'squared_l2';
  /** What serves searches now. */
  index: 'brute' | 'hnsw' | 'ivf' | 'bq';
  /** Live records. */
  record_count: number;
  /** The project's bound on live records. */
  max_records: number;
  /** Present while it is being imported, and of no use for anything else but to be deleted. */
  importing?: true;
}

export interface ListCollectionsResponse {
  collections: ListedCollection[];
}

type Links = number & tags.Type<'uint32'> & tags.Minimum<2> & tags.Maximum<128>;
type CandidateCount = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<4096>;
type ListCount = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<65536>;
type RescoredCount = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<65536>;

/** Unknown keys are ignored. */
export interface IndexParameters {
  m?: Links | null;
  ef_construction?: CandidateCount | null;
  ef_search?: CandidateCount | null;
  n_list?: ListCount | null;
  /** At most `n_list`. */
  n_probe?: ListCount | null;
  /** BQ: how many records are measured exactly. */
  candidates?: RescoredCount | null;
}

export interface ConfigureIndexRequest {
  /** Null or omitted drops the index. */
  type?: 'hnsw' | 'ivf' | 'bq' | null;
  parameters?: IndexParameters | null;
}

export interface IndexState {
  collection: string;
  /** What serves searches; `none`: exact search. */
  active_type: 'hnsw' | 'ivf' | 'bq' | 'none';
  /** `none`, `building`, `active` or `failed`. */
  status: string;
  /** What was asked for: a type, `auto`, or `none`. */
  desired_type?: string;
  active_generation?: number | null;
  building_generation?: number | null;
  /** Unix seconds; present while a generation is being built. */
  build_started_at?: number;
  /** Committed events that the generation being built starts from. */
  base_lsn?: number;
  /** Why the last build failed. */
  error?: string;
}

export interface RebuildRequest {
  /** Omitted: each collection as it is. */
  index?: 'brute' | 'bruteforce' | 'hnsw' | 'ivf' | 'bq' | 'auto' | 'mstg' | null;
}

export interface RebuildResponse {
  ok: true;
  effective: string;
  /** Live records after the rebuild. */
  records: number;
}

export interface IndexConfigResponse {
  index_type: 'collection_scoped';
}

export const assertCreateCollection = typia.createAssert<CreateCollectionRequest>(refuseIndexAt('index'));
export const assertConfigureIndex = typia.createAssert<ConfigureIndexRequest>(refuseIndexAt('type'));
export const assertRebuild = typia.createAssert<RebuildRequest>(refuseIndexAt('index'));
