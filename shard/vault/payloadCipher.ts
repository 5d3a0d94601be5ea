/** Encrypts and decrypts a record's payload under a data key. */
import type { Entropy } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors/errors.js';
import { NONCE_BYTES } from '../../shared/limits.js';
import { type GcmKey, gcmDecrypt, gcmEncryptWith } from '../../shared/vault/aesGcm.js';

/** The result of an encryption. */
export interface Encrypted {
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  /** Ciphertext, as long as the plaintext, then the 16-byte tag. */
  readonly ciphertext: Uint8Array;
}

/** Encrypts under a data key that is bound to the identity of the payload. */
export function encrypt(plaintext: Uint8Array, key: GcmKey, entropy: Entropy): Encrypted {
  const nonce = entropy(NONCE_BYTES);
  return { nonce, ciphertext: gcmEncryptWith(nonce, plaintext, key) };
}

/** Decrypts. Throws VouchError `internal_error` if key, nonce and ciphertext do not match. */
export function decrypt({ nonce, ciphertext }: Encrypted, key: GcmKey): Buffer {
  try {
    return gcmDecrypt(nonce, ciphertext, key);
  } catch (cause) {
    const message = 'an encrypted record does not decrypt: the record or its key has changed';
    throw new VouchError('internal_error', message, { cause });
  }
}
