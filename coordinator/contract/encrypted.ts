/** Requests and answers about encrypted records and their keys. No refusal repeats a payload. */
import typia, { type tags } from 'typia';
import type { VouchError } from '../../shared/errors.js';
import { invalid, type Mismatch, refuseBody } from './refusal.js';
import type { Whole } from './values.js';

/** A key id as it is answered; other spellings are refused. */
type KeyId = string & tags.Pattern<'^[0-9a-f]{32}$'>;

export interface InsertEncryptedRequest {
  /** The plaintext in base64, with padding, at most 64 KiB. It is encrypted before it is stored. */
  payload: string;
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** 32 lowercase hex; omitted: a fresh one. */
  key_id?: KeyId | null;
  tag?: Whole | null;
}

export interface InsertEncryptedResponse {
  id: number;
  /** Names the key to shred. */
  key_id: string;
}

export interface EncryptedRecordResponse {
  id: number;
  key_id: string;
  /** The plaintext in base64. */
  payload: string;
}

export interface ShredResponse {
  key_id: string;
  shredded: true;
}

export interface KeyStatusResponse {
  key_id: string;
  /** Whether there is a key that records can be read with. */
  exists: boolean;
  status: 'active' | 'shredded' | 'unknown';
}

/** Fields whose values may be shown to whoever sent them. */
const SHOWN = ['$input.collection', '$input.key_id', '$input.tag'];

function refuseEncrypted(mismatch: Mismatch): VouchError {
  if (SHOWN.includes(mismatch.path ?? '')) return refuseBody(mismatch);
  return invalid(mismatch.path === '$input.payload' ? '$.payload: expected a string' : '$: expected a JSON object');
}

export const assertInsertEncrypted = typia.createAssert<InsertEncryptedRequest>(refuseEncrypted);

const isKeyId = typia.createIs<KeyId>();

/** Throws `validation_error`. */
export function keyIdParameter(parameter: string | undefined): string {
  if (isKeyId(parameter)) return parameter;
  throw invalid('the key id in the path is not 32 lowercase hex');
}
