/** AES-256-GCM (NIST SP 800-38D) with random nonces of 96 bits: safe for 2^32 messages under one key. */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Entropy } from '../clock.js';
import { GCM_TAG_BYTES, NONCE_BYTES } from '../limits.js';

const CIPHER = 'aes-256-gcm';
const OPTIONS = { authTagLength: GCM_TAG_BYTES };

/** A key, and the bytes that are authenticated with each message under it. */
export interface GcmKey {
  readonly bytes: Uint8Array;
  readonly associated: Uint8Array;
}

/** Nonce (12), ciphertext as long as the plaintext, tag (16). */
export function gcmEncrypt(plaintext: Uint8Array, key: GcmKey, entropy: Entropy): Uint8Array {
  const nonce = entropy(NONCE_BYTES);
  return Buffer.concat([nonce, gcmEncryptWith(nonce, plaintext, key)]);
}

/** Ciphertext as long as the plaintext, tag (16); written to `encrypted`. The nonce must never be used with the key again. */
export function gcmEncryptWith(
  nonce: Uint8Array,
  plaintext: Uint8Array,
  { bytes, associated }: GcmKey,
  encrypted: Uint8Array = new Uint8Array(plaintext.length + GCM_TAG_BYTES),
): Uint8Array {
  // Without options, which cost a microsecond: a tag of 16 bytes is the default.
  const cipher = createCipheriv(CIPHER, bytes, nonce);
  cipher.setAAD(associated);
  encrypted.set(cipher.update(plaintext));
  cipher.final();
  encrypted.set(cipher.getAuthTag(), plaintext.length);
  return encrypted;
}

/** `ciphertext`: with its tag. Throws an Error if key, nonce and ciphertext do not belong together. */
export function gcmDecrypt(nonce: Uint8Array, ciphertext: Uint8Array, { bytes, associated }: GcmKey): Buffer {
  const end = ciphertext.length - GCM_TAG_BYTES;
  if (nonce.length !== NONCE_BYTES || end < 0) throw new Error('a nonce or a tag is missing');
  const decipher = createDecipheriv(CIPHER, bytes, nonce, OPTIONS);
  decipher.setAAD(associated);
  decipher.setAuthTag(ciphertext.subarray(end));
  const plaintext = decipher.update(ciphertext.subarray(0, end));
  try {
    decipher.final();
    return plaintext;
  } catch (error) {
    plaintext.fill(0);
    throw error;
  }
}
