/** Calls about encrypted records and their keys. */
import type { Asked } from './asked.js';

/** A secret. Its unique `mark` is its tag in the log, and determines its plaintext. */
export interface Secret {
  readonly mark: number;
  /** 32 hex digits; null: the vault creates one. */
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

/** Concerns no single collection. */
export interface ShredCall extends Asked<'shred', { readonly keyId: string }> {
  readonly keyId: string;
}

/** Concerns no single collection. */
export interface KeyStatusCall extends Asked<'keyStatus', { readonly status: string }> {
  readonly keyId: string;
}
