/** Collections and their indexes. */

import typia, { type tags } from 'typia';
import type { VouchError } from '../../shared/errors/errors.js';
import type { IndexKind } from '../../shared/model/indexKinds.js';
import type { Language } from '../../shared/model/textLanguage.js';
import type { WholeBetween } from '../../shared/model/whole.js';
import type { Actor } from './proofs.js';
import { invalid, type Mismatch, refuseBody, refuseIndexAt } from './refusal.js';
import type { CollectionName, Dimension, RetentionDays, TtlSecs, Whole } from './values.js';

export interface CreateCollectionRequest {
  name: CollectionName;
  dimension: Dimension;
  metric: 'squared_l2';
  /**
   * True: the service divides vectors and queries by their length. The nearest records are then those of the greatest cosine, which
   * hits have as `similarity`. A vector of zeros is refused. It cannot be changed.
   */
  normalise?: boolean | null;
  /** Another spelling of `normalise`. */
  normalize?: boolean | null;
  /** True: every read is an entry of the access log; `full`: with the request. See `GET /v1/access`. */
  audit_reads?: boolean | 'full' | null;
  /** Entries of the access log that are older, in whole days of UTC, are removed. Omitted: they are kept forever. */
  access_retention_days?: RetentionDays | null;
  /** How words are found. Omitted: as they are written. It cannot be changed. */
  text?: TextLanguage | null;
  /** The life of new records without `expires_at`, in seconds. Omitted: they do not expire. It cannot be changed. */
  ttl_secs?: TtlSecs | null;
  /** True: every record is put under a vault key, a fresh one where none is given, so that a shred erases it. It cannot be changed. */
  erasable?: boolean | null;
  /** Omitted: exact search. */
  index?: 'brute' | IndexKind | 'auto' | null;
}

/** Words match by their stems, and stop words are left out, in texts, in metadata that `words` tests, and in queries. */
export interface TextLanguage {
  language: Language;
}

export interface CreateCollectionResponse {
  name: string;
  id: Whole;
  /** False if an identical collection existed already. */
  created: boolean;
}

export interface ListedCollection {
  name: string;
  id: Whole;
  dimension: Whole;
  metric: 'squared_l2';
  /** Present where vectors are divided by their length. */
  normalise?: true;
  /** Present where reads are entries of the access log. */
  audit_reads?: true | 'full';
  /** Present where old entries of the access log are removed. */
  access_retention_days?: RetentionDays;
  /** Present where words match by their stems. */
  text?: TextLanguage;
  /** The life of new records without `expires_at`, in seconds. */
  ttl_secs?: TtlSecs;
  /** Present where every record is under a vault key. */
  erasable?: true;
  /** The index that serves searches now. */
  index: 'brute' | IndexKind;
  /** Live records. */
  record_count: Whole;
  /** The bound on live records in the project. */
  max_records: Whole;
  /** Present while the collection is being imported: it can only be listed and deleted. */
  importing?: true;
  /** Present in an imported collection: who began the import. */
  imported_by?: Actor;
}

export interface ListCollectionsResponse {
  collections: ListedCollection[];
}

export interface PutAliasRequest {
  /** The name of a collection, not of an alias. */
  collection: CollectionName;
}

/** Another name of a collection. */
export interface Alias {
  alias: string;
  /** The name of the collection. */
  collection: string;
}

export interface ListAliasesResponse {
  aliases: Alias[];
}

type Links = number & WholeBetween<2, 128>;
type CandidateCount = number & WholeBetween<1, 4096>;
type ListCount = number & WholeBetween<1, 65536>;
type RescoredCount = number & WholeBetween<1, 65536>;

/** Unknown keys are ignored. Parameters of another index type are kept for a later build of that type. */
export interface IndexParameters {
  m?: Links | null;
  ef_construction?: CandidateCount | null;
  ef_search?: CandidateCount | null;
  n_list?: ListCount | null;
  /** At most `n_list`, checked for an IVF index. */
  n_probe?: ListCount | null;
  /** BQ: the number of records that are measured exactly. */
  candidates?: RescoredCount | null;
}

export interface ConfigureIndexRequest {
  /** Null or omitted: the index is dropped. */
  type?: IndexKind | null;
  parameters?: IndexParameters | null;
}

export interface IndexState {
  collection: string;
  /** The index that serves searches; `none`: exact search. */
  active_type: IndexKind | 'none';
  /** `none`, `building`, `active` or `failed`. */
  status: string;
  /** The configured index: a type, `auto`, or `none`. */
  desired_type?: string;
  active_generation?: Whole | null;
  building_generation?: Whole | null;
  /** The number of segments of the `hnsw` index that serves searches; absent without one. */
  segments?: Whole;
  /** When the build was ordered, in unix seconds; present while a generation is being built or waits for its turn. */
  build_started_at?: Whole;
  /** The finished share of the build; present while a generation is being built. */
  build_progress?: number & tags.Minimum<0> & tags.Maximum<1>;
  /** The number of committed events when the build was ordered. */
  base_lsn?: Whole;
  /** Why the last build failed. */
  error?: string;
}

export interface RebuildRequest {
  /** Omitted: each collection keeps its index type. */
  index?: 'brute' | 'bruteforce' | IndexKind | 'auto' | 'mstg' | null;
}

export interface RebuildResponse {
  ok: true;
  effective: string;
  /** Live records after the rebuild. */
  records: Whole;
}

export interface IndexConfigResponse {
  index_type: 'collection_scoped';
}

/** Advice on the distances of other systems, by their names there in small letters, without `_`, `-` and spaces. */
const METRIC_ADVICE = [
  [
    ['euclidean', 'euclid', 'l2', 'l2squared', 'squaredeuclidean', 'sqeuclidean', 'squaredl2'],
    'its order is that of Euclidean distance, of which a score is the square',
  ],
  [
    ['dot', 'dotproduct', 'ip', 'innerproduct', 'maxinnerproduct', 'mips'],
    'its order is that of dot products where vectors have length 1; send "normalise": true beside it where they have other lengths',
  ],
] as const;
const COSINE_ADVICE = 'for cosine send "normalise": true beside it, and each hit has its cosine as similarity';

const refuseIndex = refuseIndexAt('index');

function refuseCreation(mismatch: Mismatch): VouchError {
  const refusal = refuseIndex(mismatch);
  const { path, value } = mismatch;
  if (path === '$input.text') return invalid(`${refusal.message}; for a language send {"language": "english"}`);
  if (path !== '$input.metric' || value === undefined) return refusal;
  const word = String(value)
    .toLowerCase()
    .replaceAll(/[_\- ]/g, '');
  const advice = METRIC_ADVICE.find(([names]) => (names as readonly string[]).includes(word))?.[1] ?? COSINE_ADVICE;
  return invalid(`${refusal.message}: no other metric exists; ${advice}`);
}

export const assertCreateCollection = typia.createAssert<CreateCollectionRequest>(refuseCreation);
export const assertPutAlias = typia.createAssert<PutAliasRequest>(refuseBody);
export const assertConfigureIndex = typia.createAssert<ConfigureIndexRequest>(refuseIndexAt('type'));
export const assertRebuild = typia.createAssert<RebuildRequest>(refuseIndexAt('index'));
