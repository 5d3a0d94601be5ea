/** A record's payload under a data key: AES-256-GCM (NIST SP 800-38D) with a fresh 96-bit nonce each. */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Entropy } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors.js';
import { GCM_TAG_BYTES, NONCE_BYTES } from '../../shared/limits.js';

export interface Sealed {
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  /** As long as the plaintext, and the 16-byte tag after it. */
  readonly ciphertext: Uint8Array;
}

const CIPHER = 'aes-256-gcm';

/**
 * `aad`: what the payload belongs to; the same must be given to decrypt it. Random nonces are safe for 2^32 payloads under
 * one key, more than a collection takes.
 */
export function encrypt(plaintext: Uint8Array, dataKey: Uint8Array, aad: Uint8Array, entropy: Entropy): Sealed {
  const nonce = entropy(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, dataKey, nonce, { authTagLength: GCM_TAG_BYTES });
  cipher.setAAD(aad);
  const encrypted = cipher.update(plaintext);
  cipher.final();
  const ciphertext = new Uint8Array(encrypted.length + GCM_TAG_BYTES);
  ciphertext.set(encrypted);
  ciphertext.set(cipher.getAuthTag(), encrypted.length);
  return { nonce, ciphertext };
}

/** Throws VouchError `internal_error` where key, nonce, ciphertext and `aad` do not belong together. */
export function decrypt({ nonce, ciphertext }: Sealed, dataKey: Uint8Array, aad: Uint8Array): Buffer {
  const end = ciphertext.length - GCM_TAG_BYTES;
  if (nonce.length !== NONCE_BYTES || end < 0) throw doesNotDecrypt();
  const decipher = createDecipheriv(CIPHER, dataKey, nonce, { authTagLength: GCM_TAG_BYTES });
  decipher.setAAD(aad);
  decipher.setAuthTag(ciphertext.subarray(end));
  const plaintext = decipher.update(ciphertext.subarray(0, end));
  try {
    decipher.final();
    return plaintext;
  } catch (error) {
    plaintext.fill(0);
    throw doesNotDecrypt(error);
  }
}

const doesNotDecrypt = (cause?: unknown): VouchError =>
  new VouchError('internal_error', 'an encrypted record does not decrypt: it, or its key, is not what it was', {
    cause,
  });
