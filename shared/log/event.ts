/**
 * What can happen to a collection. An event is one committed write (a batch commits one each record), except for the
 * genesis, which states the collection's configuration and comes before every write.
 *
 * Byte fields of a decoded event are views of the bytes it was read from: copy what outlives them.
 */
import { type CollectionConfig, originOf } from '../calls.js';

interface Dated {
  /** 0 for the genesis, 1 for the first committed write, and so on without a gap. */
  readonly sequence: number;
  /** Unix milliseconds. Never less than the event before has. */
  readonly timeMs: number;
}

/** Its time is the collection's creation. */
export interface Genesis extends Dated {
  readonly type: 'genesis';
  readonly collectionId: number;
  readonly dimension: number;
  readonly metric: 'squared_l2';
  readonly project: string;
  readonly name: string;
}

export interface Insert extends Dated {
  readonly type: 'insert';
  readonly recordId: number;
  readonly tag: number;
  /** 16 bytes, or null. */
  readonly requestId: Uint8Array | null;
  /** Little-endian i32 components in Q16.16. */
  readonly vector: Uint8Array;
  readonly metadata: Uint8Array | null;
  /** UTF-8. */
  readonly text: Uint8Array | null;
}

export interface SoftDelete extends Dated {
  readonly type: 'softDelete';
  readonly recordId: number;
}

export interface Delete extends Dated {
  readonly type: 'delete';
  readonly recordId: number;
}

/** Replaces the record's metadata whole. */
export interface UpdateMetadata extends Dated {
  readonly type: 'updateMetadata';
  readonly recordId: number;
  readonly metadata: Uint8Array;
}

/** A payload sealed under a vault key; the key itself is in no log. */
export interface InsertEncrypted extends Dated {
  readonly type: 'insertEncrypted';
  readonly recordId: number;
  readonly tag: number;
  /** 16 bytes, or null. */
  readonly requestId: Uint8Array | null;
  /** 16 bytes. */
  readonly keyId: Uint8Array;
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  /** AES-256-GCM, its tag of 16 bytes at the end. */
  readonly ciphertext: Uint8Array;
}

/** The vault key is destroyed: whatever is under it is lost, and is not live any more. Once a log for each key. */
export interface ShredKey extends Dated {
  readonly type: 'shredKey';
  /** 16 bytes. */
  readonly keyId: Uint8Array;
}

export interface AddNode extends Dated {
  readonly type: 'addNode';
  readonly nodeId: number;
  /** Null: linked to none. */
  readonly recordId: number | null;
  readonly kind: number;
}

/** Takes the node's edges along. So does the deletion of a record with the nodes that are linked to it. */
export interface DeleteNode extends Dated {
  readonly type: 'deleteNode';
  readonly nodeId: number;
}

export interface AddEdge extends Dated {
  readonly type: 'addEdge';
  readonly edgeId: number;
  readonly from: number;
  readonly to: number;
  readonly kind: number;
}

export interface DeleteEdge extends Dated {
  readonly type: 'deleteEdge';
  readonly edgeId: number;
}

export type RecordEvent = Insert | SoftDelete | Delete | UpdateMetadata;
export type EncryptionEvent = InsertEncrypted | ShredKey;
export type GraphEvent = AddNode | DeleteNode | AddEdge | DeleteEdge;
export type Event = Genesis | RecordEvent | EncryptionEvent | GraphEvent;

export function genesisOf(config: CollectionConfig): Genesis {
  const { createdAtMs, dimension, metric } = config;
  const { project, name, id } = originOf(config);
  return { type: 'genesis', sequence: 0, timeMs: createdAtMs, collectionId: id, dimension, metric, project, name };
}
