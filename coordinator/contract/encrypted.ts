/** Requests and answers of encrypted records and their keys. No error message repeats a payload. */
import typia from 'typia';
import type { VouchError } from '../../shared/errors/errors.js';
import { invalid, type Mismatch, refuseBody } from './refusal.js';
import type { ExpiresAt, KeyId, Whole } from './values.js';

export interface InsertEncryptedRequest {
  /** The plaintext in base64, with padding, at most 64 KiB. It is encrypted before it is stored. */
  payload: string;
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** 32 lowercase hex; omitted: a new key. */
  key_id?: KeyId | null;
  tag?: Whole | null;
  /** Unix seconds, in the future: from then on the record is in no answer. Omitted: it does not expire. */
  expires_at?: ExpiresAt | null;
}

export interface InsertEncryptedResponse {
  id: Whole;
  /** The id of the key, by which it can be shredded. */
  key_id: KeyId;
}

export interface EncryptedRecordResponse {
  id: Whole;
  key_id: KeyId;
  /** The plaintext in base64. */
  payload: string;
}

export interface ShredResponse {
  key_id: KeyId;
  shredded: true;
}

export interface KeyStatusResponse {
  key_id: KeyId;
  /** Whether records under this key can be read. */
  exists: boolean;
  status: 'active' | 'shredded' | 'unknown';
}

/** Fields whose values an error message may repeat. */
const SHOWN = ['$input.collection', '$input.key_id', '$input.tag', '$input.expires_at'];

function refuseEncrypted(mismatch: Mismatch): VouchError {
  if (SHOWN.includes(mismatch.path ?? '')) return refuseBody(mismatch);
  return invalid(mismatch.path === '$input.payload' ? '$.payload: expected a string' : '$: expected a JSON object');
}

export const assertInsertEncrypted = typia.createAssert<InsertEncryptedRequest>(refuseEncrypted);

const isKeyId = typia.createIs<KeyId>();

/** Throws `validation_error`. */
export function keyIdParameter(parameter: string | undefined): string {
  if (isKeyId(parameter)) return parameter;
  throw invalid('the key id in the path is not 32 lowercase hex digits');
}
