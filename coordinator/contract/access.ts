/** The access logs of collections whose reads are audited. */
import typia from 'typia';
import type { WholeBetween } from '../../shared/model/whole.js';
import type { Actor, ServiceLogProof, VisibleAscii } from './proofs.js';
import { refuseBody, refuseQuery } from './refusal.js';
import type { RetentionDays, Whole } from './values.js';

/** `true`: every read is an entry of the access log; `full`: with the request. */
export type AuditReads = boolean | 'full';

/** Omitted fields stay as they are. */
export interface ChangeCollectionRequest {
  audit_reads?: AuditReads;
  /** Entries of the access log that are older, in whole days of UTC, are removed. Null: they are kept forever. */
  access_retention_days?: RetentionDays | null;
}

export interface AccessQuery {
  collection?: string;
  /** Only entries of this actor: a key id, or what was sent as `Vouch-On-Behalf-Of`. */
  actor?: VisibleAscii;
  /** Entries at or after this instant, like `from` of the timeline. */
  from?: string;
  /** Entries at or before this instant. */
  to?: string;
  /** The number of the last entry that you have: the page begins after it. Entries that were removed after it are 410. */
  after?: Whole;
  /** Default 100. */
  limit?: number & WholeBetween<1, 1000>;
}

export interface AccessLogQuery {
  collection?: string;
  /** The piece begins with the frame of this entry; default: the first one that is kept. A removed one is 410. */
  from?: Whole;
}

export interface AccessEntry {
  /** 1 for the first entry, and so on without a gap. */
  entry: Whole;
  /** When the entry was committed, before the answer. */
  time: string;
  actor: Actor;
  /** Method and path of the endpoint. */
  kind: string;
  /** The status of the answer. */
  status: Whole;
  /**
   * BLAKE3 of the request. Absent where it was refused before its body was read. Absent too where it has more than 64 KiB, and
   * `audit_reads` was switched on meanwhile.
   */
  request_hash?: string;
  /** With `"full"`: method, path and query. */
  request?: string;
  /** With `"full"`: the body, up to 64 KiB. */
  body?: string;
  /** Present if a write was committed during the read: the answer has this event, and perhaps later ones up to `sequence`. */
  since?: Whole;
  /** The last event of the state that answered; absent if none did. */
  sequence?: Whole;
  state_hash?: string;
  /** Number of records in the answer. */
  records?: Whole;
  /** The ids of up to 64 records. */
  ids?: Whole[];
  scores?: number[];
  /** BLAKE3 of the answer in JSON. */
  answer_hash?: string;
}

/** The entries before the first one that is kept; `access_retention_days` removed them. */
export interface RemovedEntries {
  /** The number of removed entries, and of the last one. */
  entries: Whole;
  /** The chain over them. */
  chain_head: string;
  /** The root of the tree over them. */
  root: string;
}

export interface AccessResponse {
  entries: AccessEntry[];
  /** Present once entries were removed: the log begins after them. */
  removed?: RemovedEntries;
  /** Number of entries so far, with the removed ones. */
  size: Whole;
  /** The chain over all of them. */
  chain_head: string;
  /** The root of the tree over all of them. */
  root: string;
  /** Send it as `after` for the next page; absent on the last one. */
  next?: Whole;
}

/** The state of an access log in the newest checkpoint of the service log that can be proved. */
export interface AccessCheckpointResponse {
  /** Number of entries. */
  size: Whole;
  chain_head: string;
  root: string;
  service_log: ServiceLogProof;
}

export const assertChangeCollection = typia.createAssert<ChangeCollectionRequest>(refuseBody);
export const assertAccessQuery = typia.createAssert<AccessQuery>(refuseQuery);
export const assertAccessLogQuery = typia.createAssert<AccessLogQuery>(refuseQuery);
