/** Exporting a collection's log, and importing it elsewhere. Hashes are 64 lowercase hex. */
import typia, { type tags } from 'typia';
import type { TIME_MAX_MS } from '../../shared/limits.js';
import type { IndexParameters } from './collections.js';
import { refuseBody, refuseQuery } from './refusal.js';
import type { CollectionName, Dimension, Whole } from './values.js';

type Hash = string & tags.Pattern<'^[0-9a-f]{64}$'>;
/** A length that a genesis can state. */
type OriginName = string & tags.MinLength<1> & tags.MaxLength<255>;

/** Who the collection was when its log began. */
export interface Origin {
  project: OriginName;
  name: OriginName;
  id: Whole;
}

export interface ExportedIndex {
  type: 'brute' | 'hnsw' | 'ivf' | 'bq' | 'auto';
  parameters?: IndexParameters | null;
}

/** What a collection's genesis states, and what is wanted beside. */
export interface CollectionFacts {
  origin: Origin;
  dimension: Dimension;
  metric: 'squared_l2';
  /** Unix milliseconds. */
  created_at_ms: number & tags.Type<'uint64'> & tags.Maximum<typeof TIME_MAX_MS>;
  /** Omitted: exact search. */
  index?: ExportedIndex;
}

/** Signed by the node that exports. */
export interface SignedCheckpoint {
  /** The bytes that are signed, in UTF-8; see `CheckpointResponse`. */
  note: string;
  /** Ed25519: 128 lowercase hex. */
  signature: string;
  /** The raw 32 bytes: 64 lowercase hex. */
  public_key: string;
}

export interface ExportResponse extends CollectionFacts {
  collection: string;
  /** Committed events, those up to which an export goes that begins now. */
  sequence: number;
  /** Of the log's frames now. */
  log_bytes: number;
  chain_head: string;
  log_root: string;
  state_hash: string;
  checkpoint: SignedCheckpoint;
}

export interface ExportLogQuery {
  collection?: string;
  /** The first event that is wanted; the frames begin with the one that holds it. Omitted: 0. */
  from?: Whole;
}

export interface BeginImportRequest extends CollectionFacts {
  /** Omitted: as it was called. */
  name?: CollectionName | null;
  /** What the import must end with. */
  sequence: Whole;
  chain_head: Hash;
  state_hash: Hash;
}

export interface ImportResponse {
  collection: string;
  id: number;
  status: 'importing' | 'finished';
  /** Committed events that are there. */
  sequence: number;
  chain_head: string;
  state_hash: string;
}

export const assertBeginImport = typia.createAssert<BeginImportRequest>(refuseBody);
export const assertExportLogQuery = typia.http.createAssertQuery<ExportLogQuery>(refuseQuery);
