/**
 * The seal of a vault entry: a separate key over the wrapped key, kept where it can be erased at once.
 *
 * Several servers agree on an entry through a Raft log. Each keeps its proposals for some minutes, even after a deletion from the
 * stream. So entries are sealed, and the seal does not go through that log. Once the seal is erased, no copy of the entry in any
 * log can be opened, under any master key.
 *
 *   wrapped key, sealed:  0 seal id (8) | 8 nonce (12) | 20 the wrapped key encrypted | GCM tag (16)
 *   seal, as stored:      0 "VSK1" | 4 the key (32)         its id: the first bytes of BLAKE3 over a domain and the key
 *   erased, in its place: 0 "VSK0"
 *
 * Project and key id are authenticated. A seal covers the few versions of an entry with the same wrapped key.
 */
import type { Entropy } from '../clock.js';
import { Malformed } from '../errors/malformed.js';
import { hash, toHex } from '../hashing/hash.js';
import { GCM_TAG_BYTES, NONCE_BYTES } from '../limits.js';
import { gcmDecrypt, gcmEncrypt } from './aesGcm.js';
import { type EntryName, nameBytes } from './entryName.js';

export const SEAL_BYTES = 32;
const ID_BYTES = 8;
const CIPHERTEXT_AT = ID_BYTES + NONCE_BYTES;
const ID_DOMAIN = Buffer.from('vouch vault seal id');
const MAGIC = Buffer.from('VSK1');
/** The bytes in place of an erased seal. */
export const ERASED = Buffer.from('VSK0');

/** 16 hex that identify a seal without revealing it. */
export const sealIdOf = (seal: Uint8Array): string =>
  toHex(hash(Buffer.concat([ID_DOMAIN, seal])).subarray(0, ID_BYTES));

export const encodeSeal = (seal: Uint8Array): Buffer => Buffer.concat([MAGIC, seal]);

/** Undefined if the bytes are not a seal. The caller compares its id. */
export function decodeSeal(bytes: Uint8Array): Uint8Array | undefined {
  const isSeal = bytes.length === MAGIC.length + SEAL_BYTES && MAGIC.equals(bytes.subarray(0, MAGIC.length));
  return isSeal ? bytes.subarray(MAGIC.length) : undefined;
}

export const isErased = (bytes: Uint8Array): boolean => ERASED.equals(bytes);

export const sealWrapped = (seal: Uint8Array, wrapped: Uint8Array, name: EntryName, entropy: Entropy): Uint8Array =>
  Buffer.concat([Buffer.from(sealIdOf(seal), 'hex'), gcmEncrypt(wrapped, seal, nameBytes(name), entropy)]);

/** The id of the seal of a sealed wrapped key. Throws Malformed if the bytes are not a sealed key. */
export function sealIdIn(sealed: Uint8Array): string {
  if (sealed.length < CIPHERTEXT_AT + GCM_TAG_BYTES) throw new Malformed('its sealed key is too short', sealed.length);
  return toHex(sealed.subarray(0, ID_BYTES));
}

/** Opens a sealed key. Throws Malformed if it does not verify. */
export function openSealed(seal: Uint8Array, sealed: Uint8Array, name: EntryName): Uint8Array {
  if (sealIdIn(sealed) !== sealIdOf(seal)) throw new Malformed('its key is under another seal', 0);
  const nonce = sealed.subarray(ID_BYTES, CIPHERTEXT_AT);
  try {
    return Uint8Array.from(gcmDecrypt(nonce, sealed.subarray(CIPHERTEXT_AT), seal, nameBytes(name)));
  } catch {
    throw new Malformed('its sealed key does not verify', CIPHERTEXT_AT);
  }
}
