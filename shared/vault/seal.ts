/**
 * The seal of a vault entry: a separate key over the wrapped key, kept where it can be erased at once.
 *
 * Several servers agree on an entry through a Raft log. Each keeps its proposals for some minutes, even after a deletion from the
 * stream. So entries are sealed, and the seal does not go through that log. Once the seal is erased, no copy of the entry in any
 * log can be opened, under any master key.
 *
 * A seal has two halves, which are stored and erased one after the other. A server that is killed while it erases a message may
 * keep the bytes. It then keeps one half, which opens nothing.
 *
 * ```text
 * wrapped key, sealed:  0 ids of the halves (2 × 8) | 16 nonce (12) | 28 the wrapped key encrypted | GCM tag (16)
 * half, as stored:      0 "VSK2" (first) or "VSK4" (second) | 4 a key (32)
 * id of a half:         the first bytes of BLAKE3 over a domain and the key
 * the encrypting key:   BLAKE3 over a domain and both halves
 * erasure mark:         0 "VSK0" | 4 u16 first halves that are left | 6 u16 second halves that are left (65535: unknown)
 * ```
 *
 * Earlier versions stored a seal as a whole: "VSK1" | the encrypting key (32), with one id in the entry; and an erasure mark without numbers.
 *
 * Project and key id are authenticated. A seal covers the few versions of an entry with the same wrapped key.
 */
import type { Entropy } from '../clock.js';
import { Malformed } from '../errors/malformed.js';
import { hash, toHex } from '../hashing/hash.js';
import { GCM_TAG_BYTES, NONCE_BYTES } from '../limits.js';
import { type GcmKey, gcmDecrypt, gcmEncrypt } from './aesGcm.js';
import { type EntryName, nameBytes } from './entryName.js';

export const SEAL_BYTES = 32;
const ID_BYTES = 8;
const ID_DOMAIN = Buffer.from('vouch vault seal id');
const PAIR_DOMAIN = Buffer.from('vouch vault seal halves');
const MAGIC = { whole: Buffer.from('VSK1'), first: Buffer.from('VSK2'), second: Buffer.from('VSK4') } as const;
const MAGIC_BYTES = 4;
const ERASED = Buffer.from('VSK0');
const MARK_BYTES = MAGIC_BYTES + 4;

/** The two halves, or the one key of a seal of an earlier version. */
export type Seal = readonly Uint8Array[];
export const HALVES = [0, 1] as const;
export type Half = (typeof HALVES)[number];

/** A stored message of a seal. A whole seal counts as both of its halves. */
export interface SealPart {
  readonly key: Uint8Array;
  readonly halves: readonly Half[];
}

export const freshSeal = (entropy: Entropy): Seal => HALVES.map(() => entropy(SEAL_BYTES));

/** 16 hex that identify a half, or a whole seal, without revealing it. */
export const sealIdOf = (key: Uint8Array): string => toHex(hash(Buffer.concat([ID_DOMAIN, key])).subarray(0, ID_BYTES));

/** The messages of a seal, in the order of their storage. */
export function encodeSeal(seal: Seal): readonly Buffer[] {
  const [first, second] = seal;
  if (second === undefined) return [Buffer.concat([MAGIC.whole, first!])];
  return [Buffer.concat([MAGIC.first, first!]), Buffer.concat([MAGIC.second, second])];
}

/** Undefined if the bytes are not a seal or a half of one. The caller compares its id. */
export function decodeSeal(bytes: Uint8Array): SealPart | undefined {
  if (bytes.length !== MAGIC_BYTES + SEAL_BYTES) return undefined;
  const key = bytes.subarray(MAGIC_BYTES);
  const isOf = (magic: Buffer): boolean => magic.equals(bytes.subarray(0, MAGIC_BYTES));
  if (isOf(MAGIC.whole)) return { key, halves: HALVES };
  if (isOf(MAGIC.first)) return { key, halves: [0] };
  return isOf(MAGIC.second) ? { key, halves: [1] } : undefined;
}

/** The content of an erasure mark: for each half, the number of messages whose erasure is not confirmed. */
export type LeftHalves = readonly [number, number];

/** The number of a half whose erasure was interrupted: its bytes may be in a file of the server. */
export const UNKNOWN = 0xffff;

export function encodeErased(left: LeftHalves): Buffer {
  const bytes = Buffer.alloc(MARK_BYTES);
  bytes.set(ERASED);
  for (const half of HALVES) bytes.writeUInt16LE(left[half], MAGIC_BYTES + 2 * half);
  return bytes;
}

export const isErased = (bytes: Uint8Array): boolean =>
  (bytes.length === MARK_BYTES || bytes.length === MAGIC_BYTES) && ERASED.equals(bytes.subarray(0, MAGIC_BYTES));

/** Undefined if the bytes are not an erasure mark, or are one of an earlier version. */
export function decodeErased(bytes: Uint8Array): LeftHalves | undefined {
  if (!isErased(bytes) || bytes.length !== MARK_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return [view.getUint16(MAGIC_BYTES, true), view.getUint16(MAGIC_BYTES + 2, true)];
}

export const sealWrapped = (seal: Seal, wrapped: Uint8Array, name: EntryName, entropy: Entropy): Uint8Array =>
  Buffer.concat([
    ...seal.map((key) => Buffer.from(sealIdOf(key), 'hex')),
    gcmEncrypt(wrapped, keyOf(seal, name), entropy),
  ]);

/** The ids in a sealed wrapped key of that many parts. Throws Malformed if the bytes are not a sealed key. */
export function sealIdsIn(sealed: Uint8Array, parts: number): readonly string[] {
  if (sealed.length < parts * ID_BYTES + NONCE_BYTES + GCM_TAG_BYTES)
    throw new Malformed('its sealed key is too short', sealed.length);
  return Array.from({ length: parts }, (_, at) => toHex(sealed.subarray(at * ID_BYTES, (at + 1) * ID_BYTES)));
}

/** Opens a sealed key. Throws Malformed if it does not verify. */
export function openSealed(seal: Seal, sealed: Uint8Array, name: EntryName): Uint8Array {
  if (sealIdsIn(sealed, seal.length).join() !== seal.map(sealIdOf).join())
    throw new Malformed('its key is under another seal', 0);
  const nonceAt = seal.length * ID_BYTES;
  const ciphertextAt = nonceAt + NONCE_BYTES;
  try {
    const nonce = sealed.subarray(nonceAt, ciphertextAt);
    return Uint8Array.from(gcmDecrypt(nonce, sealed.subarray(ciphertextAt), keyOf(seal, name)));
  } catch {
    throw new Malformed('its sealed key does not verify', ciphertextAt);
  }
}

const keyOf = (seal: Seal, name: EntryName): GcmKey => ({
  bytes: seal.length === 1 ? seal[0]! : hash(Buffer.concat([PAIR_DOMAIN, ...seal])),
  associated: nameBytes(name),
});
