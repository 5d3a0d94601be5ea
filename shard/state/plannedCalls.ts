/** The writes that a commit is planned from, and their answers. */
import type { DeleteMany, Insert, Replace } from '../../shared/log/event.js';
import type { DeleteManyCall, InsertBatchCall, InsertEncryptedCall, WriteCall } from '../../shared/protocol/calls.js';
import type { AppliedRequest } from './dedupWindow.js';

/** An insert whose payload is encrypted: no write waits for its commit with a secret in it. */
export interface SealedInsert extends Omit<InsertEncryptedCall, 'payload' | 'keyId'> {
  /** 32 lowercase hex. */
  readonly keyId: string;
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  /** AES-256-GCM, its tag at the end. */
  readonly ciphertext: Uint8Array;
}

export type SealedCall = Exclude<WriteCall, InsertEncryptedCall> | SealedInsert;

/** The content of a record as a log tells it, to be inserted, or to replace that of the record that has its external id. */
export type StatedInsert = Omit<Insert, 'sequence' | 'timeMs' | 'recordId'>;
export type StatedReplace = Omit<Replace, 'sequence' | 'timeMs'>;
export type StatedDeletions = Omit<DeleteMany, 'sequence' | 'timeMs'>;

/** A write that is planned at once. `stated`: from a log, see `logImport.ts`. */
export type PlannedCall =
  | Exclude<SealedCall, DeleteManyCall | InsertBatchCall>
  | { readonly op: 'stated'; readonly of: StatedInsert | StatedReplace | StatedDeletions };

/** The content of a write's answer, once the frame is applied. */
export type WriteAnswer =
  | { readonly kind: 'insert'; readonly write: AppliedRequest; readonly deduplicated: boolean }
  | { readonly kind: 'batch'; readonly ids: Float64Array; readonly created: number }
  | {
      readonly kind: 'deleted';
      readonly deleted: number;
      readonly missing: readonly number[];
      readonly sequence: number | null;
    }
  /** The request was carried out before; `sequence`: of the event that ended its deletions. */
  | { readonly kind: 'deletedBefore'; readonly sequence: number }
  /** `keyId` null: a repeated insert, whose first event has the key. */
  | { readonly kind: 'encrypted'; readonly write: AppliedRequest; readonly keyId: string | null }
  | { readonly kind: 'added'; readonly id: number; readonly sequence: number }
  | { readonly kind: 'sequence'; readonly sequence: number };
