/** Encrypts and decrypts a record's payload under a data key. */
import type { Entropy } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors/errors.js';
import { NONCE_BYTES } from '../../shared/limits.js';
import { gcmDecrypt, gcmEncryptWith } from '../../shared/vault/aesGcm.js';

/** The result of an encryption. */
export interface Encrypted {
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  /** Ciphertext, as long as the plaintext, then the 16-byte tag. */
  readonly ciphertext: Uint8Array;
}

/** `aad`: the identity of the payload, which decryption requires. */
export function encrypt(plaintext: Uint8Array, dataKey: Uint8Array, aad: Uint8Array, entropy: Entropy): Encrypted {
  const nonce = entropy(NONCE_BYTES);
  return { nonce, ciphertext: gcmEncryptWith(nonce, plaintext, dataKey, aad) };
}

/** Decrypts. Throws VouchError `internal_error` if key, nonce, ciphertext and `aad` do not match. */
export function decrypt({ nonce, ciphertext }: Encrypted, dataKey: Uint8Array, aad: Uint8Array): Buffer {
  try {
    return gcmDecrypt(nonce, ciphertext, dataKey, aad);
  } catch (cause) {
    const message = 'an encrypted record does not decrypt: the record or its key has changed';
    throw new VouchError('internal_error', message, { cause });
  }
}
