/** Made from coordinator/contract/proofs.ts by `npm run docs`. */
import type { Receipt } from './records.js';

export interface StateProofResponse {
  /** H(0x13 ‖ config hash ‖ state root ‖ graph root ‖ chain head ‖ sequence ‖ time in ms of the last event). */
  finalStateHash: string;
  /** The root of the tree over all records. */
  stateRoot: string;
  chainHead: string;
  sequence: number;
}

export interface EventLogProofResponse {
  /** The root of the log tree. */
  eventLogHash: string;
  /** The number of committed events. */
  eventCount: number;
  /** The sequence of the last event. */
  committedHeight: number;
  finalStateHash: string;
  /** The version of the events in the log: 1. Public clients read it. */
  kernelVersion: number;
}

export interface ReceiptQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /** The sequence of a write that created, changed or deleted a record. */
  sequence: number;
}

export interface PastReceipt extends Receipt {
  /** Present if the write has one: it is part of the event that the receipt is of. */
  requestId?: string;
}

export interface InclusionQuery {
  collection?: string;
  sequence: number;
  /** The size of the log that must include the event. Omitted: the present size. */
  size?: number;
}

/**
 * Proves that the event `sequence`, and with it every earlier event, is in the log of this size and root. The chain head
 * follows from the event's receipt, or from a copy of the log.
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
  /** The sequence of the last event in the earlier log. */
  from: number;
  /** The sequence of the last event in the later log. */
  to: number;
}

export interface LogAt {
  sequence: number;
  /** The number of events, with the genesis. */
  size: number;
  root: string;
}

/** Proves that the log `to` begins with the whole log `from`. */
export interface ConsistencyResponse {
  from: LogAt;
  to: LogAt;
  /**
   * `u8 version = 1 ‖ nodes (32 each)`: SUBPROOF(size of `from`, D[size of `to`], false) of RFC 9162, section 2.1.4.1, from
   * which the hash of the earlier tree always follows. No nodes if the sizes are equal or the first is 0.
   */
  proof: string;
}

export interface CheckpointQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /**
   * `true`: the newest checkpoint of the collection that is in the service log, with the proof. What has changed since is logged
   * first, unless a witness that is needed does not answer.
   */
  logged?: 'true' | 'false';
}

/** That a checkpoint is in the service log, see `docs/formats.md`. */
export interface ServiceLogProof {
  /** The entry of the service log. */
  entry: string;
  /**
   * A proof in the format c2sp.org/tlog-proof: the index of the entry, its audit path, and a checkpoint of the service log with
   * its cosignatures.
   */
  proof: string;
}

/** The present log and state, signed by the shard that owns the collection. */
export interface CheckpointResponse {
  /**
   * The bytes that are signed, in UTF-8; seven lines, each ended by a line feed: `vouch checkpoint v1` / origin
   * `<project>/<name>/<id>/<config hash>` of the collection as it is served here / size / root / chain head (zeros for size 0) /
   * state hash / unix time in ms of the signature.
   */
  checkpoint: string;
  /** Ed25519 over these bytes: 128 lowercase hex. */
  signature: string;
  /** The raw 32 bytes: 64 lowercase hex. Compare it with a key you know, such as the service prints at its start. */
  publicKey: string;
  /** The first 16 digits of the public key. */
  keyId: string;
  /** With `logged`. */
  serviceLog?: ServiceLogProof;
}

export interface SigningKey {
  /** Ed25519, raw: 64 lowercase hex. */
  publicKey: string;
  /** Its first 16 digits. */
  keyId: string;
  /** Unix seconds of its first use. */
  since: number;
}

export interface SigningKeysResponse {
  /** All keys that shards have signed with, oldest first. */
  keys: SigningKey[];
}

export interface TimelineQuery {
  collection?: string;
  /** Events at or after this instant: ISO 8601 with a zone as in `asOf` of a search, or unix seconds. */
  from?: string;
  /** Events at or before this instant; with unix seconds, until the end of that second. */
  to?: string;
  /** Default 100. */
  limit?: number;
  /** The `logIndex` of the last event that you have: the page begins after it. */
  after?: number;
}

export interface TimelineEvent {
  logIndex: number;
  /** 0: a collection has one log, whichever shard owns it. Public clients read it. */
  shardId: number;
  timestampUnix: number;
  timestampIso: string;
  eventType: 'insert' | 'replace' | 'insert_encrypted' | 'soft_delete' | 'delete' | 'delete_many' | 'update_metadata' | 'shred_key' | 'add_node' | 'delete_node' | 'add_edge' | 'delete_edge';
  recordId?: number;
  nodeId?: number;
  edgeId?: number;
  /** The id of the shredded key, or of the encrypted record's key. */
  keyId?: string;
}

export interface TimelineResponse {
  /** In the order of the log. */
  events: TimelineEvent[];
  /** The number of events between the two times, on all pages. */
  total: number;
}
