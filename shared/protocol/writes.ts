/** The calls that write to a collection. Metadata are the bytes that will be stored. */
import type { tags } from 'typia';
import type { BATCH_MAX } from '../limits.js';
import type { Filter } from '../model/filter.js';
import type { GraphWrite } from '../model/graph.js';
import type { AccessChange, AccessSettings } from '../model/readAudit.js';
import type { RecordName } from '../model/recordName.js';
import type { LifeMs, UnixMs, Whole } from '../model/whole.js';

/** A write on a condition. */
interface Guarded {
  /** Throws `conflict` if a record that it writes has changed since this event of the log. */
  readonly since?: Whole;
}

interface Expiring {
  /** Life of the records without an expiry of their own; absent: they do not expire. */
  readonly ttlMs?: LifeMs;
}

export interface InsertCall extends Expiring {
  readonly op: 'insert';
  readonly vector: Uint8Array;
  readonly tag: Whole;
  readonly requestId: Uint8Array | null;
  readonly metadata: Uint8Array | null;
  readonly text: string | null;
  readonly expiresAtMs?: UnixMs;
  /** The key that the record is under; absent: none, or a new one where the collection has the rule. */
  readonly keyId?: NamedKey;
}

/** The id of a key, or `new` for a fresh one. */
export type NamedKey = string & tags.Pattern<'^([0-9a-f]{32}|new)$'>;

/** `metadata`, `texts` (UTF-8) and `requestIds`: null if the request lacks them, else one entry a vector. */
export interface InsertBatchCall extends Guarded, Expiring {
  readonly op: 'insertBatch';
  readonly count: Whole;
  /** `count` vectors, one after another. */
  readonly vectors: Uint8Array;
  /** One entry a vector; absent: all have tag 0. */
  readonly tags?: readonly Whole[];
  readonly metadata: readonly (Uint8Array | null)[] | null;
  readonly texts: readonly (Uint8Array | null)[] | null;
  readonly requestIds: readonly (Uint8Array | null)[] | null;
  /** One entry a vector, all different. A live record with that external id gets the new content; the others are inserted. */
  readonly externalIds?: readonly string[];
  /** One entry a vector; absent: as nulls. */
  readonly expiresAtMs?: readonly (UnixMs | null)[];
  /** One entry a vector, as in `InsertCall`; a replaced record without one stays under its key. */
  readonly keyIds?: readonly (NamedKey | null)[];
}

/** Deletes records for good, all in one commit. */
export interface DeleteManyCall extends Guarded {
  readonly op: 'deleteMany';
  readonly of:
    | { readonly ids: readonly Whole[] & tags.MaxItems<typeof BATCH_MAX> }
    | { readonly externalIds: readonly string[] & tags.MaxItems<typeof BATCH_MAX> }
    /** Throws `payload_too_large` if more match than one commit takes. */
    | { readonly filter: Filter };
  /** 16 bytes. A repetition with this id deletes nothing, and gets this call's answer. */
  readonly requestId?: Uint8Array | null;
}

/** Applies a merge patch (RFC 7396) to the metadata of records, all in one commit. */
export interface PatchManyCall extends Guarded {
  readonly op: 'patchMany';
  readonly of: DeleteManyCall['of'];
  /** A JSON object. */
  readonly patch: Uint8Array;
}

/** The id of a vault key, in the only spelling, since it is compared as text. */
export type KeyId = string & tags.Pattern<'^[0-9a-f]{32}$'>;

/** Inserts a record that the shard encrypts; its vault makes a missing key. The plaintext goes no further. */
export interface InsertEncryptedCall extends Expiring {
  readonly op: 'insertEncrypted';
  readonly payload: Uint8Array;
  /** Null: a new key. */
  readonly keyId: KeyId | null;
  readonly tag: Whole;
  /** 16 bytes, or null. */
  readonly requestId: Uint8Array | null;
  readonly expiresAtMs?: UnixMs;
}

export type WriteCall =
  | InsertCall
  | InsertBatchCall
  | InsertEncryptedCall
  /** Records that the data key is gone from the vault: its records are lost and not counted. Idempotent. */
  | { readonly op: 'shredKey'; readonly keyId: KeyId }
  | ({ readonly op: 'softDelete'; readonly id: RecordName } & Guarded)
  | ({ readonly op: 'delete'; readonly id: RecordName } & Guarded)
  | DeleteManyCall
  | ({ readonly op: 'updateMetadata'; readonly id: RecordName; readonly metadata: Uint8Array } & Guarded)
  /** Applies a merge patch, which is a JSON object, to the metadata at its turn. */
  | ({ readonly op: 'patchMetadata'; readonly id: RecordName; readonly patch: Uint8Array } & Guarded)
  | PatchManyCall
  /** Switches the access log of the collection, or sets how long its entries are kept. */
  | ({ readonly op: 'auditReads' } & AccessChange)
  | GraphWrite;

export interface WriteResults {
  insert: {
    readonly id: number;
    readonly deduplicated: boolean;
    /** The JSON of a `Receipt`, as the client gets it. */
    readonly receipt: string;
    /** The key that the record is under. */
    readonly keyId?: string;
  };
  /**
   * `created`: the number of new records; the others were replaced. With `deduplicated`, earlier requests have written all of them.
   */
  insertBatch: {
    readonly ids: Uint8Array;
    readonly created: number;
    readonly deduplicated?: true;
    /** The keys that the records are under, one entry a record; absent if all are under none. */
    readonly keyIds?: readonly (string | null)[];
  };
  /**
   * Places in the request, of records that do not exist, are in `missing`; it is empty with `deduplicated`. The last deletion has
   * `sequence`; null if nothing was deleted. A request that was carried out before has `deduplicated`.
   */
  deleteMany: {
    readonly deleted: number;
    readonly missing: readonly number[];
    readonly sequence: number | null;
    readonly deduplicated?: true;
  };
  softDelete: { readonly sequence: number };
  delete: { readonly sequence: number };
  updateMetadata: { readonly id: number; readonly sequence: number };
  patchMetadata: { readonly id: number; readonly sequence: number };
  /** `missing` and `sequence` are like those of `deleteMany`. */
  patchMany: { readonly updated: number; readonly missing: readonly number[]; readonly sequence: number | null };
  insertEncrypted: { readonly id: number; readonly keyId: string };
  shredKey: { readonly sequence: number };
  /** The settings after the change. */
  auditReads: { readonly sequence: number } & AccessSettings;
}
