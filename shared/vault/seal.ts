/**
 * The seal of a vault entry: a key of its own over the wrapped key, kept where it can be erased at once.
 *
 * Several servers agree on an entry through a Raft log, and each keeps what was proposed there for minutes, whatever is
 * deleted from the stream. So what passes through that log is sealed, and the seal does not pass through it: once the seal
 * is erased, no copy of the entry opens any more, in whatever log, and under whatever master key.
 *
 *   wrapped key, sealed:  0 seal id (8) | 8 nonce (12) | 20 the wrapped key encrypted | GCM tag (16)
 *   seal, as stored:      0 "VSK1" | 4 the key (32)         its id: the first bytes of BLAKE3 over a domain and the key
 *   erased, in its place: 0 "VSK0"
 *
 * AES-256-GCM (NIST SP 800-38D); project and key id are authenticated. A seal seals the few versions of an entry with the same wrapped key.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Entropy } from '../clock.js';
import { hash, toHex } from '../hash.js';
import { GCM_TAG_BYTES, NONCE_BYTES } from '../limits.js';
import { Malformed } from '../malformed.js';

export interface EntryName {
  readonly project: string;
  readonly keyId: string;
}

export const SEAL_BYTES = 32;
const CIPHER = 'aes-256-gcm';
const ID_BYTES = 8;
const CIPHERTEXT_AT = ID_BYTES + NONCE_BYTES;
const ID_DOMAIN = Buffer.from('vouch vault seal id');
const MAGIC = Buffer.from('VSK1');
/** What stands in a seal's place once it is erased. */
export const ERASED = Buffer.from('VSK0');

/** 16 hex: says which seal it is, and nothing about it. */
export const sealIdOf = (seal: Uint8Array): string =>
  toHex(hash(Buffer.concat([ID_DOMAIN, seal])).subarray(0, ID_BYTES));

export const encodeSeal = (seal: Uint8Array): Buffer => Buffer.concat([MAGIC, seal]);

/** Undefined where the bytes are no seal. Whether it is the right one, its id tells. */
export function decodeSeal(bytes: Uint8Array): Uint8Array | undefined {
  const isSeal = bytes.length === MAGIC.length + SEAL_BYTES && MAGIC.equals(bytes.subarray(0, MAGIC.length));
  return isSeal ? bytes.subarray(MAGIC.length) : undefined;
}

export const isErased = (bytes: Uint8Array): boolean => ERASED.equals(bytes);

export function sealWrapped(seal: Uint8Array, wrapped: Uint8Array, name: EntryName, entropy: Entropy): Uint8Array {
  const nonce = entropy(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, seal, nonce, { authTagLength: GCM_TAG_BYTES });
  cipher.setAAD(nameBytes(name));
  const encrypted = Buffer.concat([cipher.update(wrapped), cipher.final(), cipher.getAuthTag()]);
  return Buffer.concat([Buffer.from(sealIdOf(seal), 'hex'), nonce, encrypted]);
}

/** Of the seal that a sealed wrapped key is under. Throws Malformed where it is none. */
export function sealIdIn(sealed: Uint8Array): string {
  if (sealed.length < CIPHERTEXT_AT + GCM_TAG_BYTES) throw new Malformed('its sealed key is too short', sealed.length);
  return toHex(sealed.subarray(0, ID_BYTES));
}

/** Throws Malformed where it does not verify. */
export function openSealed(seal: Uint8Array, sealed: Uint8Array, name: EntryName): Uint8Array {
  if (sealIdIn(sealed) !== sealIdOf(seal)) throw new Malformed('its key is under another seal', 0);
  const tagAt = sealed.length - GCM_TAG_BYTES;
  const nonce = sealed.subarray(ID_BYTES, CIPHERTEXT_AT);
  const decipher = createDecipheriv(CIPHER, seal, nonce, { authTagLength: GCM_TAG_BYTES });
  decipher.setAAD(nameBytes(name));
  decipher.setAuthTag(sealed.subarray(tagAt));
  const wrapped = decipher.update(sealed.subarray(CIPHERTEXT_AT, tagAt));
  try {
    decipher.final();
  } catch {
    throw new Malformed('its sealed key does not verify', CIPHERTEXT_AT);
  }
  return Uint8Array.from(wrapped);
}

const nameBytes = ({ project, keyId }: EntryName): Buffer =>
  Buffer.concat([Buffer.from(project), Buffer.from(keyId, 'hex')]);
