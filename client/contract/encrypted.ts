/** Made from coordinator/contract/encrypted.ts by `npm run docs`. */

export interface InsertEncryptedRequest {
  /** The plaintext in base64, with padding, at most 64 KiB. It is encrypted before it is stored. */
  payload: string;
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** 32 lowercase hex; omitted: a new key. */
  keyId?: string | null;
  tag?: number | null;
}

export interface InsertEncryptedResponse {
  id: number;
  /** The id of the key, by which it can be shredded. */
  keyId: string;
}

export interface EncryptedRecordResponse {
  id: number;
  keyId: string;
  /** The plaintext in base64. */
  payload: string;
}

export interface ShredResponse {
  keyId: string;
  shredded: true;
}

export interface KeyStatusResponse {
  keyId: string;
  /** Whether records under this key can be read. */
  exists: boolean;
  status: 'active' | 'shredded' | 'unknown';
}
