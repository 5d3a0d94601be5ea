/**
 * Requests for proofs and the timeline, and their answers. Hashes are 64 lowercase hex, `proof` is base64url without
 * padding. A `sequence` counts committed events; a `size` counts the genesis too: the log after event s has size s + 1,
 * and size 0 where nothing was ever written.
 *
 * What the proofs are made of, H being BLAKE3-256 and integers little-endian u64:
 *
 *   chain head   h(s) = H(0x03 ‖ h(s − 1) ‖ event hash of s); before the genesis, 32 zero bytes
 *   leaf         of event s in the log tree: h(s), as it is
 *   node         H(0x01 ‖ left ‖ right), in the shape of RFC 9162, section 2.1
 *   root         H(0x02 ‖ size ‖ tree hash); of no leaves the tree hash is 32 zero bytes
 */
import typia, { type tags } from 'typia';
import { refuseQuery } from './refusal.js';
import type { Whole } from './values.js';

export interface StateProofResponse {
  /** H(0x13 ‖ config hash ‖ state root ‖ graph root ‖ chain head ‖ sequence ‖ time in ms of the last event). */
  final_state_hash: string;
  /** Of the tree over all records. */
  state_root: string;
  chain_head: string;
  sequence: number;
}

export interface EventLogProofResponse {
  /** The root of the log tree. */
  event_log_hash: string;
  /** Committed events. */
  event_count: number;
  /** The sequence of the last of them. */
  committed_height: number;
  final_state_hash: string;
}

export interface ReceiptQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /** Of a write that made, changed or deleted a record. */
  sequence: Whole;
}

export interface InclusionQuery {
  collection?: string;
  sequence: Whole;
  /** Of the log it is to be shown in, the genesis counted. Omitted: as it is now. */
  size?: Whole;
}

/**
 * That the event `sequence`, and with it every event before, is in the log of `size` events that has this root. The
 * chain head is the one that the event's receipt leads to, or a copy of the log.
 */
export interface InclusionResponse {
  sequence: number;
  size: number;
  root: string;
  /**
   * `u8 version = 1 ‖ chain head after the event (32) ‖ siblings (32 each), bottom first`: the audit path of leaf
   * `sequence` in the tree of `size` leaves (RFC 9162, section 2.1.3).
   */
  proof: string;
}

export interface ConsistencyQuery {
  collection?: string;
  /** Of the earlier log: the sequence of its last event. */
  from: Whole;
  /** Of the later one. */
  to: Whole;
}

export interface LogAt {
  sequence: number;
  /** The genesis counted. */
  size: number;
  root: string;
}

/** That the log `to` begins with all of the log `from`. */
export interface ConsistencyResponse {
  from: LogAt;
  to: LogAt;
  /**
   * `u8 version = 1 ‖ nodes (32 each)`: SUBPROOF(size of `from`, D[size of `to`], false) of RFC 9162, section 2.1.4.1, so
   * that the hash of the earlier tree is always to be had. No nodes where the sizes are equal or the first is 0.
   */
  proof: string;
}

/** What a log is now, signed by the shard that owns it. */
export interface CheckpointResponse {
  /**
   * The bytes that are signed, in UTF-8; seven lines, each ended by a line feed: `vouch checkpoint v1` / origin
   * `<project>/<name>/<id>/<config hash>` of the collection as it is served here / size / root / chain head (zeros for size 0) /
   * state hash / unix time in ms of the signature.
   */
  checkpoint: string;
  /** Ed25519 over these bytes: 128 lowercase hex. */
  signature: string;
  /** The raw 32 bytes: 64 lowercase hex. Compare with one you know, as the service printed it at its start. */
  public_key: string;
  /** The first 16 digits of the public key. */
  key_id: string;
}

export interface SigningKey {
  /** Ed25519, raw: 64 lowercase hex. */
  public_key: string;
  /** Its first 16 digits. */
  key_id: string;
  /** Unix seconds of its first use. */
  since: number;
}

export interface SigningKeysResponse {
  /** Every key that shards have signed with; oldest first. */
  keys: SigningKey[];
}

export interface TimelineQuery {
  collection?: string;
  /** Events at or after this instant: ISO 8601 with a zone, or unix seconds. */
  from?: string;
  /** Events at or before this instant; with unix seconds, until the end of that second. */
  to?: string;
  /** 100 where it is omitted. */
  limit?: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<1000>;
  /** The `log_index` of the last event that you have: the page begins behind it. */
  after?: Whole;
}

export interface TimelineEvent {
  log_index: number;
  timestamp_unix: number;
  timestamp_iso: string;
  event_type:
    | 'insert'
    | 'insert_encrypted'
    | 'soft_delete'
    | 'delete'
    | 'update_metadata'
    | 'shred_key'
    | 'add_node'
    | 'delete_node'
    | 'add_edge'
    | 'delete_edge';
  record_id?: number;
  node_id?: number;
  edge_id?: number;
  /** Of a shredded key, or of an encrypted record. */
  key_id?: string;
}

export interface TimelineResponse {
  /** In the order of the log. */
  events: TimelineEvent[];
  /** Within the times, on all pages. */
  total: number;
}

export const isDateTime = typia.createIs<string & tags.Format<'date-time'>>();
export const assertReceiptQuery = typia.http.createAssertQuery<ReceiptQuery>(refuseQuery);
export const assertInclusionQuery = typia.http.createAssertQuery<InclusionQuery>(refuseQuery);
export const assertConsistencyQuery = typia.http.createAssertQuery<ConsistencyQuery>(refuseQuery);
export const assertTimelineQuery = typia.http.createAssertQuery<TimelineQuery>(refuseQuery);
