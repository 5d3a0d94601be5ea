/**
 * The events of a collection. An event is one committed write; a batch commits one event for each record. The genesis, before
 * every write, states the collection's configuration.
 *
 * Byte fields of a decoded event are views of its bytes.
 */
import type { Actor } from '../model/actor.js';
import { type CollectionConfig, originOf } from '../model/collectionConfig.js';
import type { TextSettings } from '../model/textLanguage.js';

interface Dated {
  /** The actor beside the event; null in an event of version 1. */
  readonly actor: Actor | null;
  /** 0 for the genesis, 1 for the first committed write, and so on without a gap. */
  readonly sequence: number;
  /** Unix milliseconds, at least those of the previous event. */
  readonly timeMs: number;
}

/** The first event; its time is the collection's creation. */
export interface Genesis extends Dated {
  readonly type: 'genesis';
  readonly collectionId: number;
  readonly dimension: number;
  readonly metric: 'squared_l2';
  /** Vectors are divided by their length. */
  readonly normalise?: true;
  /** Texts are found by the stems of their words. */
  readonly text?: TextSettings;
  readonly project: string;
  readonly name: string;
}

interface Expiring {
  /** Unix milliseconds from which on the record is in no answer; absent: it does not expire. */
  readonly expiresAtMs?: number | undefined;
}

interface Inserted extends Dated, Expiring {
  readonly recordId: number;
  readonly tag: number;
  /** 16 bytes, or null. */
  readonly requestId: Uint8Array | null;
}

interface WithVector extends Inserted {
  /** Little-endian i32 components: Q16.16, or where the collection normalises whole numbers of 2^-20. */
  readonly vector: Uint8Array;
  readonly metadata: Uint8Array | null;
  /** UTF-8. */
  readonly text: Uint8Array | null;
}

export interface Insert extends WithVector {
  readonly type: 'insert';
  /** The caller's own id of the record, UTF-8 of 1 to 256 bytes, unique among the live records of a collection. */
  readonly externalId: Uint8Array | null;
}

/** Gives a live record new content. The record gets the time of the event, and the expiry given here, if any. */
export interface Replace extends WithVector {
  readonly type: 'replace';
  /** The external id of the record. */
  readonly externalId: Uint8Array;
}

/** `softDelete` leaves a tombstone. */
export interface DeleteRecord extends Dated {
  readonly type: 'softDelete' | 'delete';
  readonly recordId: number;
}

/**
 * Ends the deletions of a request with a request id: these are the previous `deleted` events, in this frame. It only changes the
 * remembered request ids.
 */
export interface DeleteMany extends Dated {
  readonly type: 'deleteMany';
  /** 16 bytes. */
  readonly requestId: Uint8Array;
  /** 1 or more. */
  readonly deleted: number;
}

/** Replaces the record's metadata whole. */
export interface UpdateMetadata extends Dated {
  readonly type: 'updateMetadata';
  readonly recordId: number;
  readonly metadata: Uint8Array;
}

/** A payload encrypted under a vault key; the key itself is in no log. */
export interface InsertEncrypted extends Inserted {
  readonly type: 'insertEncrypted';
  /** 16 bytes. */
  readonly keyId: Uint8Array;
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  /** AES-256-GCM, its tag of 16 bytes at the end. */
  readonly ciphertext: Uint8Array;
}

/** The content of a record under a key. */
export type RecordContent = Pick<Insert, 'tag' | 'vector' | 'metadata' | 'text' | 'externalId'>;

/** The whole content of a record that a shred of its vault key erases. */
interface UnderKey extends Dated {
  readonly recordId: number;
  /** 16 bytes, or null. */
  readonly requestId: Uint8Array | null;
  /** 16 bytes. Events whose content is opened share the array of their key. */
  keyId: Uint8Array;
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  /** Hash of salt and content, 32 bytes; the record's leaf is made of it. */
  readonly commitment: Uint8Array;
  /** AES-256-GCM of salt and content, its tag of 16 bytes at the end. */
  readonly ciphertext: Uint8Array;
  /** The opened content, beside the bytes; null if it is not opened, or its key no longer exists. */
  content: RecordContent | null;
}

export interface InsertUnderKey extends UnderKey, Expiring {
  readonly type: 'insertUnderKey';
}

/** Gives a live record new content under a key. The record gets the time of the event, and the expiry given here, if any. */
export interface ReplaceUnderKey extends UnderKey, Expiring {
  readonly type: 'replaceUnderKey';
}

/** Changes the metadata of a live record under its key; its expiry stays. */
export interface UpdateUnderKey extends UnderKey {
  readonly type: 'updateUnderKey';
}

export type EventUnderKey = InsertUnderKey | ReplaceUnderKey | UpdateUnderKey;

/** Records that the vault key is destroyed: its records are lost, and no longer live. At most once in a log for each key. */
export interface ShredKey extends Dated {
  readonly type: 'shredKey';
  /** 16 bytes. */
  readonly keyId: Uint8Array;
}

export interface AddNode extends Dated {
  readonly type: 'addNode';
  readonly nodeId: number;
  /** Null without a linked record. */
  readonly recordId: number | null;
  readonly kind: number;
}

/** Deletes the node's edges too. Deleting a record deletes the nodes that are linked to it. */
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

/** Switches the access log of the collection, which has an entry for every read, and sets how long entries are kept. */
export interface AuditReads extends Dated {
  readonly type: 'auditReads';
  /** Place in `READ_AUDITS`. */
  readonly kind: number;
  /** Days after which entries may be removed; 0: they are kept forever. */
  readonly retentionDays: number;
}

/** The fields that every event has. */
export type EventHeader = keyof Dated;
/** An event before it has its place in the log. */
export type Undated<E> = E extends unknown ? Omit<E, EventHeader> : never;
/** An event of one of these types without its payload. */
export type EventHead<T extends Event['type'] = Event['type']> = T extends unknown
  ? Dated & { readonly type: T }
  : never;

export type RecordEvent = Insert | Replace | DeleteRecord | UpdateMetadata;
export type GraphEvent = AddNode | DeleteNode | AddEdge | DeleteEdge;
export type Event =
  | Genesis
  | RecordEvent
  | DeleteMany
  | InsertEncrypted
  | EventUnderKey
  | ShredKey
  | GraphEvent
  | AuditReads;

export const isUnderKey = (event: Event): event is EventUnderKey =>
  event.type === 'insertUnderKey' || event.type === 'replaceUnderKey' || event.type === 'updateUnderKey';

export function genesisOf(config: CollectionConfig): Genesis {
  const { createdAtMs, createdBy, dimension, metric, normalise, text } = config;
  const { project, name, id } = originOf(config);
  return {
    ...{ type: 'genesis', sequence: 0, timeMs: createdAtMs, actor: createdBy ?? null },
    ...{ collectionId: id, dimension, metric, project, name },
    ...(normalise && { normalise }),
    ...(text && { text }),
  };
}
