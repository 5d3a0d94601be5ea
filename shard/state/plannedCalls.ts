/** The writes that a commit is planned from, and their answers. */
import type { DeleteMany, EventHeader, Insert, Replace, Undated } from '../../shared/log/event.js';
import type {
  DeleteManyCall,
  InsertBatchCall,
  InsertEncryptedCall,
  PatchManyCall,
  WriteCall,
} from '../../shared/protocol/writes.js';
import type { AppliedRequest } from './dedupWindow.js';

/** An insert whose payload is already encrypted, so that no waiting write has a secret in it. */
export interface EncryptedInsert extends Omit<InsertEncryptedCall, 'payload' | 'keyId'> {
  /** 32 lowercase hex digits. */
  readonly keyId: string;
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  /** AES-256-GCM ciphertext, with its tag at the end. */
  readonly ciphertext: Uint8Array;
}

/** A write as the queue takes it: the payload of an encrypted insert is already encrypted. */
export type QueuedCall = Exclude<WriteCall, InsertEncryptedCall> | EncryptedInsert;

/** Content of a record in a log, to insert, or to replace the record with its external id. */
export type StatedInsert = Omit<Insert, EventHeader | 'recordId'>;
export type StatedReplace = Undated<Replace>;
export type StatedDeletions = Undated<DeleteMany>;

/** A write that is planned in one step. `stated`: from a log; see `logImport.ts`. */
export type PlannedCall =
  | Exclude<QueuedCall, DeleteManyCall | InsertBatchCall | PatchManyCall>
  | { readonly op: 'stated'; readonly of: StatedDeletions };

/** Content of a write's answer, once the frame is applied. */
export type WriteAnswer =
  | { readonly kind: 'insert'; readonly write: AppliedRequest; readonly deduplicated: boolean }
  /** `isReplay`: earlier requests have written all of it. */
  | { readonly kind: 'batch'; readonly ids: Float64Array; readonly created: number; readonly isReplay: boolean }
  | {
      readonly kind: 'deleted';
      readonly deleted: number;
      readonly missing: readonly number[];
      readonly sequence: number | null;
    }
  | {
      readonly kind: 'patched';
      readonly updated: number;
      readonly missing: readonly number[];
      readonly sequence: number | null;
    }
  /** A repeated deletion. `sequence`: the event that ended the first one. */
  | { readonly kind: 'deletedBefore'; readonly sequence: number }
  /** `keyId` null: a repeated insert; the first event has the key. */
  | { readonly kind: 'encrypted'; readonly write: AppliedRequest; readonly keyId: string | null }
  | { readonly kind: 'added' | 'changed'; readonly id: number; readonly sequence: number }
  | { readonly kind: 'access' | 'sequence'; readonly sequence: number };
