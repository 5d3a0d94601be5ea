/**
 * A data key under a master key, as the vault holds it.
 *
 *   0 u8 version (1) | 1 master key id (8) | 9 nonce (12) | 21 the data key encrypted (32) | 53 GCM tag (16) | 69 end
 *
 * AES-256-GCM (NIST SP 800-38D). Project and key id are authenticated with it, so that a wrapped key put in the place of
 * another opens nothing.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Entropy } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors.js';
import { toHex } from '../../shared/hash.js';
import { MASTER_KEY_ID_BYTES, type MasterKey } from './masterKeyFile.js';

export interface KeyName {
  readonly project: string;
  /** 32 lowercase hex. */
  readonly keyId: string;
}

export const DATA_KEY_BYTES = 32;
const CIPHER = 'aes-256-gcm';
const VERSION = 1;
const NONCE_AT = 1 + MASTER_KEY_ID_BYTES;
const NONCE_BYTES = 12;
const KEY_AT = NONCE_AT + NONCE_BYTES;
const TAG_AT = KEY_AT + DATA_KEY_BYTES;
const TAG_BYTES = 16;
export const WRAPPED_KEY_BYTES = TAG_AT + TAG_BYTES;

export function wrapKey(master: MasterKey, dataKey: Uint8Array, name: KeyName, entropy: Entropy): Uint8Array {
  if (dataKey.length !== DATA_KEY_BYTES) throw new RangeError(`a data key has ${DATA_KEY_BYTES} bytes`);
  const nonce = entropy(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, master.bytes, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(nameBytes(name));
  const encrypted = cipher.update(dataKey);
  cipher.final();
  const wrapped = new Uint8Array(WRAPPED_KEY_BYTES);
  wrapped[0] = VERSION;
  wrapped.set(Buffer.from(master.id, 'hex'), 1);
  wrapped.set(nonce, NONCE_AT);
  wrapped.set(encrypted, KEY_AT);
  wrapped.set(cipher.getAuthTag(), TAG_AT);
  encrypted.fill(0);
  return wrapped;
}

/** The id of the master key that it is under. Throws VouchError `internal_error` where the bytes are no wrapped key. */
export function masterIdOf(wrapped: Uint8Array, { keyId }: KeyName): string {
  if (wrapped.length !== WRAPPED_KEY_BYTES || wrapped[0] !== VERSION)
    throw new VouchError('internal_error', `the wrapped key ${keyId} is of a version that is not known here`);
  return toHex(wrapped.subarray(1, NONCE_AT));
}

/**
 * The data key, which the caller fills with zeros after use. Throws VouchError `internal_error` where
 * it does not verify: under another master key, other bytes, or another key's.
 */
export function unwrapKey(master: MasterKey, wrapped: Uint8Array, name: KeyName): Buffer {
  const id = masterIdOf(wrapped, name);
  const nonce = wrapped.subarray(NONCE_AT, KEY_AT);
  const decipher = createDecipheriv(CIPHER, master.bytes, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(nameBytes(name));
  decipher.setAuthTag(wrapped.subarray(TAG_AT));
  const dataKey = decipher.update(wrapped.subarray(KEY_AT, TAG_AT));
  try {
    if (id !== master.id) throw new Error('it is under another master key');
    decipher.final();
    return dataKey;
  } catch (cause) {
    dataKey.fill(0);
    throw new VouchError('internal_error', `the wrapped key ${name.keyId} does not verify`, { cause });
  }
}

/** A key id has always the same length, so no two names give the same bytes. */
const nameBytes = ({ project, keyId }: KeyName): Buffer =>
  Buffer.concat([Buffer.from(project), Buffer.from(keyId, 'hex')]);
