/**
 * Requests and answers of proofs and of the timeline. Hashes are 64 lowercase hex, `proof` is base64url without padding. A
 * `sequence` counts committed events. A `size` counts the genesis too: the log after event s has size s + 1, and an empty log
 * size 0.
 *
 * The parts of proofs; H is BLAKE3-256, and integers are little-endian u64:
 *
 * ```text
 * chain head   h(s) = H(0x03 ‖ h(s − 1) ‖ event hash of s); before the genesis, 32 zero bytes
 * leaf         h(s), for event s in the log tree
 * node         H(0x01 ‖ left ‖ right), in the shape of RFC 9162, section 2.1
 * root         H(0x02 ‖ size ‖ tree hash); the tree hash without leaves is 32 zero bytes
 * ```
 */

import typia, { type tags } from 'typia';
import type { WholeBetween } from '../../shared/model/whole.js';
import type { Receipt } from './records.js';
import { refuseQuery } from './refusal.js';
import type { Base64Url, Hash, Hex32, KeyId, RetentionDays, Signature, Whole } from './values.js';

export interface StateProofResponse {
  /** H(0x13 ‖ config hash ‖ state root ‖ graph root ‖ chain head ‖ sequence ‖ time in ms of the last event). */
  final_state_hash: Hash;
  /** The root of the tree over all records. */
  state_root: Hash;
  chain_head: Hash;
  sequence: Whole;
}

/** Who made an event. Every part is hashed into the chain with the event. */
export interface Actor {
  /** The id of the API key; `system` for what the service does by itself. */
  key_id: string & tags.Pattern<'^[!-~]{1,64}$'>;
  /** The value of `Vouch-On-Behalf-Of`, which the service does not check. */
  on_behalf_of?: VisibleAscii;
  /** The `x-request-id` of the request. */
  request_id?: VisibleAscii;
}

export type VisibleAscii = string & tags.Pattern<'^[!-~]{1,128}$'>;

export interface EventLogProofResponse {
  /** The root of the log tree. */
  event_log_hash: Hash;
  /** The number of committed events. */
  event_count: Whole;
  /** The sequence of the last event. */
  committed_height: Whole;
  final_state_hash: Hash;
  /** The version of new events: 2. Public clients read it. */
  kernel_version: Whole;
}

export interface ReceiptQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /** The sequence of a write that created, changed or deleted a record. */
  sequence: Whole;
}

export interface PastReceipt extends Receipt {
  /** Present if the write has one, which is part of the receipt's event. */
  request_id?: Hex32;
  /** Who made the write, as the proof states it. Absent for events of versions that name no actor. */
  actor?: Actor;
}

export interface InclusionQuery {
  collection?: string;
  sequence: Whole;
  /** The size of the log that must include the event. Omitted: the present size. */
  size?: Whole;
}

/**
 * Proves that the event `sequence`, and with it every earlier event, is in the log of this size and root. The chain head
 * follows from the event's receipt, or from a copy of the log.
 */
export interface InclusionResponse {
  sequence: Whole;
  size: Whole;
  root: Hash;
  /**
   * `u8 version = 1 ‖ chain head after the event (32) ‖ siblings (32 each), bottom first`: the audit path of leaf
   * `sequence` in the tree of `size` leaves (RFC 9162, section 2.1.3).
   */
  proof: Base64Url;
}

export interface ConsistencyQuery {
  collection?: string;
  /** The sequence of the last event in the earlier log. */
  from: Whole;
  /** The sequence of the last event in the later log. */
  to: Whole;
}

export interface LogAt {
  sequence: Whole;
  /** The number of events, with the genesis. */
  size: Whole;
  root: Hash;
}

/** Proves that the log `to` begins with the whole log `from`. */
export interface ConsistencyResponse {
  from: LogAt;
  to: LogAt;
  /**
   * `u8 version = 1 ‖ nodes (32 each)`: SUBPROOF(size of `from`, D[size of `to`], false) of RFC 9162, section 2.1.4.1, from
   * which the hash of the earlier tree always follows. No nodes if the sizes are equal or the first is 0.
   */
  proof: Base64Url;
}

type SigningKeyId = string & tags.Pattern<'^[0-9a-f]{16}$'>;

export interface CheckpointQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /**
   * `true`: the collection's newest checkpoint in the service log, with the proof. Newer changes are logged first, unless a
   * required witness does not answer.
   */
  logged?: 'true' | 'false';
}

/** Proves that a checkpoint is in the service log; see `docs/formats.md`. */
export interface ServiceLogProof {
  /** The entry of the service log. */
  entry: Base64Url;
  /**
   * A proof in the format c2sp.org/tlog-proof: the index of the entry, its audit path, and a checkpoint of the service log with
   * its cosignatures.
   */
  proof: string;
}

/** The present log and state, signed by the shard that owns the collection. */
export interface CheckpointResponse {
  /**
   * The signed bytes in UTF-8: seven lines, each ended by a line feed. Line 1: `vouch checkpoint v1`. Line 2: the collection's
   * origin in this service, `<project>/<name>/<id>/<config hash>`. Lines 3 and 4: size and root. Line 5: chain head, zeros for
   * size 0. Line 6: state hash. Line 7: unix time in ms of the signature.
   */
  checkpoint: string;
  /** Ed25519 over these bytes: 128 lowercase hex. */
  signature: Signature;
  /** The raw 32 bytes: 64 lowercase hex. Compare it with a trusted key: the service prints its key at its start. */
  public_key: Hash;
  /** The first 16 digits of the public key. */
  key_id: SigningKeyId;
  /** Present with `logged`. */
  service_log?: ServiceLogProof;
}

export interface SigningKey {
  /** Ed25519, raw: 64 lowercase hex. */
  public_key: Hash;
  /** Its first 16 digits. */
  key_id: SigningKeyId;
  /** Unix seconds of its first use. */
  since: Whole;
}

export interface SigningKeysResponse {
  /** All keys that shards have signed with, oldest first. */
  keys: SigningKey[];
}

export interface TimelineQuery {
  collection?: string;
  /** Events at or after this instant: ISO 8601 with a zone, like `as_of` of a search, or unix seconds. */
  from?: string;
  /** Events at or before this instant; with unix seconds, until the end of that second. */
  to?: string;
  /** Default 100. */
  limit?: number & WholeBetween<1, 1000>;
  /** Only events of this actor: a key id, or what was sent as `Vouch-On-Behalf-Of`. */
  actor?: VisibleAscii;
  /** The `log_index` of the last event that you have: the page begins after it. */
  after?: Whole;
}

export interface TimelineEvent {
  log_index: Whole;
  /** 0: a collection has one log, whichever shard owns it. Public clients read it. */
  shard_id: Whole;
  timestamp_unix: Whole;
  timestamp_iso: string;
  event_type:
    | 'insert'
    | 'replace'
    | 'insert_encrypted'
    | 'insert_under_key'
    | 'replace_under_key'
    | 'update_under_key'
    | 'soft_delete'
    | 'delete'
    | 'delete_many'
    | 'update_metadata'
    | 'shred_key'
    | 'add_node'
    | 'delete_node'
    | 'add_edge'
    | 'delete_edge'
    | 'audit_reads';
  /** Absent in events of versions that name no actor. */
  actor?: Actor;
  record_id?: Whole;
  node_id?: Whole;
  edge_id?: Whole;
  /** The id of the shredded key, or of the encrypted record's key. */
  key_id?: KeyId;
  /** The setting since then, in events `audit_reads`. */
  audit_reads?: boolean | 'full';
  /** The days for which entries are kept since then, in events `audit_reads`; null: forever. */
  access_retention_days?: RetentionDays | null;
}

export interface TimelineResponse {
  /** In the order of the log. */
  events: TimelineEvent[];
  /** The number of events between the two times, on all pages, of any actor. */
  total: Whole;
  /** Present with `actor` if there may be more: the `after` of the next page. A page may be empty and have one. */
  next?: Whole;
}

export const assertCheckpointQuery = typia.createAssert<CheckpointQuery>(refuseQuery);
export const assertReceiptQuery = typia.createAssert<ReceiptQuery>(refuseQuery);
export const assertInclusionQuery = typia.createAssert<InclusionQuery>(refuseQuery);
export const assertConsistencyQuery = typia.createAssert<ConsistencyQuery>(refuseQuery);
export const assertTimelineQuery = typia.createAssert<TimelineQuery>(refuseQuery);
