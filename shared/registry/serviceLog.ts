/** The entries of BUCKETS.serviceLog: the identity of the service log, and its published checkpoints. */
import type { Whole } from '../model/whole.js';

/** Entry under `identity`, which never changes. */
export interface StoredIdentity {
  /** The first line of its checkpoints, and the name of its key. */
  readonly origin: string;
  /** Ed25519, 64 lowercase hex. */
  readonly public_key: string;
  /** The first id of a collection that is younger than the log; absent in logs of earlier versions. */
  readonly first_collection_id?: Whole;
}

/** Entry under `newest` and `witnessed`. */
export interface StoredCheckpoint {
  /** Number of entries. */
  readonly size: Whole;
  /** The signed note, with the cosignatures received so far. */
  readonly note: string;
}
