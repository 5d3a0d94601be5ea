/** Made from coordinator/contract/backup.ts by `npm run docs`. */
import type { IndexParameters } from './collections.js';

/** The collection's project, name and id when its log began. */
export interface Origin {
  project: string;
  name: string;
  id: number;
}

export interface ExportedIndex {
  type: 'brute' | 'hnsw' | 'ivf' | 'bq' | 'auto';
  parameters?: IndexParameters | null;
}

/** The configuration in a collection's genesis, and the wanted index. */
export interface CollectionFacts {
  origin: Origin;
  dimension: number;
  metric: 'squared_l2';
  /** Unix milliseconds. */
  createdAtMs: number;
  /** Omitted: exact search. */
  index?: ExportedIndex;
}

/** A checkpoint signed by the exporting node. */
export interface SignedCheckpoint {
  /** The bytes that are signed, in UTF-8; see `CheckpointResponse`. */
  note: string;
  /** Ed25519: 128 lowercase hex. */
  signature: string;
  /** The raw 32 bytes: 64 lowercase hex. */
  publicKey: string;
}

export interface ExportResponse extends CollectionFacts {
  collection: string;
  /** The number of committed events: an export that begins now ends here. */
  sequence: number;
  /** The present size of the log's frames. */
  logBytes: number;
  chainHead: string;
  logRoot: string;
  stateHash: string;
  checkpoint: SignedCheckpoint;
}

export interface ExportLogQuery {
  collection?: string;
  /** The first wanted event; the answer begins with its frame. Omitted: 0. */
  from?: number;
}

export interface BeginImportRequest extends CollectionFacts {
  /** Omitted: the name in `origin`. */
  name?: string | null;
  /** The number of committed events at the end of the import. */
  sequence: number;
  chainHead: string;
  stateHash: string;
}

export interface ImportResponse {
  collection: string;
  id: number;
  status: 'importing' | 'finished';
  /** The number of committed events that have arrived. */
  sequence: number;
  chainHead: string;
  stateHash: string;
}
