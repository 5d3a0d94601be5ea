/** Exporting a collection's log, and importing it elsewhere. Hashes are 64 lowercase hex. */

import typia from 'typia';
import type { TIME_MAX_MS } from '../../shared/limits.js';
import type { IndexKind } from '../../shared/model/indexKinds.js';
import type { WholeBetween } from '../../shared/model/whole.js';
import type { IndexParameters, TextLanguage } from './collections.js';
import type { Actor } from './proofs.js';
import { refuseBody, refuseQuery } from './refusal.js';
import type { CollectionName, Dimension, Hash, Signature, TtlSecs, Utf8Bytes, Whole } from './values.js';

/** The bound of a name in a genesis. */
type OriginName = string & Utf8Bytes<1, 255>;

/** The collection's project, name and id when its log began. */
export interface Origin {
  project: OriginName;
  name: OriginName;
  id: Whole;
}

export interface ExportedIndex {
  type: 'brute' | IndexKind | 'auto';
  parameters?: IndexParameters | null;
}

/** The language of texts, with the version of its stemmer and stop words. */
export interface ExportedText extends TextLanguage {
  version: 1;
}

/** The configuration in a collection's genesis, the life of its new records, and the wanted index. */
export interface CollectionFacts {
  origin: Origin;
  dimension: Dimension;
  metric: 'squared_l2';
  /** Present where vectors are divided by their length. */
  normalise?: true;
  /** Present where words match by their stems. */
  text?: ExportedText;
  /** The life of new records without `expires_at`, in seconds. */
  ttl_secs?: TtlSecs;
  /** Present where every record is under a vault key. */
  erasable?: true;
  /** Unix milliseconds. */
  created_at_ms: number & WholeBetween<0, typeof TIME_MAX_MS>;
  /** The actor of the genesis. Absent where the collection was made by a version whose events name no actor. */
  created_by?: Actor;
  /** Omitted: exact search. */
  index?: ExportedIndex;
}

/** A checkpoint signed by the exporting node. */
export interface SignedCheckpoint {
  /** The bytes that are signed, in UTF-8; see `CheckpointResponse`. */
  note: string;
  /** Ed25519: 128 lowercase hex. */
  signature: Signature;
  /** The raw 32 bytes: 64 lowercase hex. */
  public_key: Hash;
}

export interface ExportResponse extends CollectionFacts {
  collection: string;
  /** The number of committed events: an export that begins now ends here. */
  sequence: Whole;
  /** The present size of the log's frames. */
  log_bytes: Whole;
  chain_head: Hash;
  log_root: Hash;
  state_hash: Hash;
  checkpoint: SignedCheckpoint;
}

export interface ExportLogQuery {
  collection?: string;
  /** The first wanted event; the answer begins with its frame. Omitted: 0. */
  from?: Whole;
}

export interface BeginImportRequest extends CollectionFacts {
  /** Omitted: the name in `origin`. */
  name?: CollectionName | null;
  /** The number of committed events at the end of the import. */
  sequence: Whole;
  chain_head: Hash;
  state_hash: Hash;
}

export interface ImportResponse {
  collection: string;
  id: Whole;
  status: 'importing' | 'finished';
  /** The actor that began the import. The events keep the actors of the log. */
  imported_by?: Actor;
  /** The number of committed events that have arrived. */
  sequence: Whole;
  chain_head: Hash;
  state_hash: Hash;
}

export const assertBeginImport = typia.createAssert<BeginImportRequest>(refuseBody);
export const assertExportLogQuery = typia.createAssert<ExportLogQuery>(refuseQuery);
