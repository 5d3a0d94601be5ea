/** The entries of BUCKETS.serviceLog: who the log of the service is, and the checkpoints that were published of it. */
import type { Whole } from '../model/whole.js';

/** Under `identity`; never changed. */
export interface StoredIdentity {
  /** The first line of its checkpoints, and the name of its key. */
  readonly origin: string;
  /** Ed25519, 64 lowercase hex. */
  readonly public_key: string;
  /** The first id of a collection that was created after the log was; absent in logs of versions that did not note it. */
  readonly first_collection_id?: Whole;
}

/** Under `newest` and `witnessed`. */
export interface StoredCheckpoint {
  /** Entries. */
  readonly size: Whole;
  /** The signed note, with the cosignatures that have come. */
  readonly note: string;
}
