/** Requests and answers of certificates of erasure. Their bytes are described in `docs/formats/erasure.md`. */
import typia, { type tags } from 'typia';
import type { ERASED_KEYS_MAX } from '../../shared/limits.js';
import type { Actor, CheckpointResponse } from './proofs.js';
import { refuseBody } from './refusal.js';
import type { Base64Url, Hash, JsonObject, KeyId, Signature, Whole } from './values.js';

/** Names keys by exactly one of `key_ids` and `metadata_filter`. */
export interface EraseRequest {
  key_ids?: (KeyId[] & tags.MinItems<1> & tags.MaxItems<typeof ERASED_KEYS_MAX>) | null;
  /** The collection of `metadata_filter`. Omitted: the one named `default`. */
  collection?: string | null;
  /** The keys of the live records that match. A `metadata_filter` like a search's, but not empty. */
  metadata_filter?: JsonObject | null;
  /** True: the checkpoints are those of the service log, with their proofs; the erasures are logged first. */
  logged?: boolean | null;
}

/** An event that wrote content under the key. */
export interface ErasedContent {
  /** The sequence of the event in the collection's log. */
  sequence: Whole;
  event_type: 'insert_encrypted' | 'insert_under_key' | 'replace_under_key' | 'update_under_key';
  record_id: Whole;
  /** Unix milliseconds of the event. */
  time_ms: Whole;
  /** The commitment to the content; of an encrypted payload the hash of nonce and ciphertext. */
  commitment: Hash;
  /** Proves that the log of the checkpoint has the event, like that of `/v1/proof/inclusion`. */
  proof: Base64Url;
  /** The record in the state of the checkpoint. Absent if it was deleted, has other content now, or was changed after the checkpoint. */
  record?: ErasedRecord;
}

/** The fields of the record's leaf in the state tree, beside its id, key and commitment, and its audit path. */
export interface ErasedRecord {
  state: 'live' | 'tombstoned';
  tag: Whole;
  inserted_ms: Whole;
  /** Absent: it does not expire. */
  expires_at_ms?: Whole;
  /** The siblings of the leaf in the state tree of the checkpoint, bottom first; empty for the only record. */
  path: string & tags.Pattern<'^[A-Za-z0-9_-]*$'>;
}

/** The event that shredded the key in the log of a collection. */
export interface KeyShred {
  sequence: Whole;
  time_ms: Whole;
  /** Absent in an event of a version that names no actor. */
  actor?: Actor;
  chain_head_before: Hash;
  /** Proves that the log of the checkpoint has the event. */
  proof: Base64Url;
}

/** The erased contents of one collection, signed by the shard that owns it. */
export interface CollectionErasure {
  collection: string;
  collection_id: Whole;
  /** The signed text: see `docs/formats/erasure.md`. */
  statement: string;
  signature: Signature;
  public_key: Hash;
  /** A checkpoint of the collection that is not older than the shred. */
  checkpoint: CheckpointResponse;
  shred: KeyShred;
  /** In the order of the log. */
  contents: ErasedContent[];
  /** The other parts of the state hash of the checkpoint. Absent if no content has a `record`. */
  state?: { records: Whole; graph_root: Hash; time_ms: Whole };
}

/** A certificate that the contents under a key are erased. `npm run verify -- erasure FILE` checks it. */
export interface ErasureCertificate {
  key_id: KeyId;
  /** The signed text, which names each collection of the key: see `docs/formats/erasure.md`. */
  certificate: string;
  signature: Signature;
  public_key: Hash;
  /** The collections that still exist. */
  collections: CollectionErasure[];
}

export interface ErasureFailure {
  key_id: KeyId;
  code: string;
  error: string;
}

export interface ErasuresResponse {
  certificates: ErasureCertificate[];
  /** Present if a key could not be erased or certified. Name it in a further request. */
  partial_failures?: ErasureFailure[];
  /** The number of matching records that are under no key, and so are not erased. Present with `metadata_filter` if there are any. */
  without_key?: Whole;
}

export const assertErase = typia.createAssert<EraseRequest>(refuseBody);
