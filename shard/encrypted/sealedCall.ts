/** Writes as they wait for a commit: what a caller wants kept secret is ciphertext by then. */
import type { InsertEncryptedCall, WriteCall } from '../../shared/calls.js';

export interface SealedInsert extends Omit<InsertEncryptedCall, 'payload' | 'keyId'> {
  /** 32 lowercase hex. */
  readonly keyId: string;
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  /** AES-256-GCM, its tag at the end. */
  readonly ciphertext: Uint8Array;
}

export type SealedCall = Exclude<WriteCall, InsertEncryptedCall> | SealedInsert;
