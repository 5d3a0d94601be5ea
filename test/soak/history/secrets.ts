/** Calls about encrypted records and their keys. */
import type { Asked } from './asked.js';

/** What was to be kept secret: its `mark`, which no other has, is its tag in the log, and its plaintext follows from it. */
export interface Secret {
  readonly mark: number;
  /** 32 hex digits; null: the vault makes one. */
  readonly keyId: string | null;
  readonly requestId: string | null;
}

export const plaintextOf = ({ mark }: { readonly mark: number }): string => `the secret of ${mark}`;

export interface InsertSecretCall extends Asked<'insertEncrypted', { readonly id: number; readonly keyId: string }> {
  readonly secret: Secret;
}

export interface GetSecretCall extends Asked<'getEncrypted', { readonly keyId: string; readonly plaintext: string }> {
  readonly id: number;
}

/** About no one collection. */
export interface ShredCall extends Asked<'shred', { readonly keyId: string }> {
  readonly keyId: string;
}

/** About no one collection. */
export interface KeyStatusCall extends Asked<'keyStatus', { readonly status: string }> {
  readonly keyId: string;
}
