/**
 * A data key under a master key, as stored in the vault. Offsets in bytes:
 *
 *   0 u8 version (1) | 1 master key id (8) | 9 nonce (12) | 21 encrypted data key (32) | 53 GCM tag (16) | 69 end.
 *
 * Project and key id are authenticated with it, so that a wrapped key put in the place of another does not open.
 */
import type { Entropy } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { GCM_TAG_BYTES, NONCE_BYTES } from '../../shared/limits.js';
import { type GcmKey, gcmDecrypt, gcmEncrypt } from '../../shared/vault/aesGcm.js';
import { type EntryName, nameBytes } from '../../shared/vault/entryName.js';
import type { StoredVaultEntry } from '../../shared/vault/vaultStore.js';
import { MASTER_KEY_ID_BYTES, type MasterKey } from './masterKeyFile.js';

export const DATA_KEY_BYTES = 32;
const VERSION = 1;
const NONCE_AT = 1 + MASTER_KEY_ID_BYTES;
const KEY_AT = NONCE_AT + NONCE_BYTES;
export const WRAPPED_KEY_BYTES = KEY_AT + DATA_KEY_BYTES + GCM_TAG_BYTES;

/**
 * The name of the vault entry whose wrapped key names the current master key. The first process that uses the vault
 * makes it. Every machine wraps new data keys under that master key, even if its key file has a newer one. A rotation
 * changes this entry first, and then all others. No project has such a name.
 */
export const MASTER_ENTRY: EntryName = { project: '.master', keyId: '0'.repeat(32) };

export const isMasterEntry = ({ project }: EntryName): boolean => project === MASTER_ENTRY.project;

export function wrapKey(master: MasterKey, dataKey: Uint8Array, name: EntryName, entropy: Entropy): Uint8Array {
  if (dataKey.length !== DATA_KEY_BYTES)
    throw new RangeError(`a data key must have ${DATA_KEY_BYTES} bytes, not ${dataKey.length}`);
  const wrapped = new Uint8Array(WRAPPED_KEY_BYTES);
  wrapped[0] = VERSION;
  wrapped.set(Buffer.from(master.id, 'hex'), 1);
  wrapped.set(gcmEncrypt(dataKey, boundTo(name, master), entropy), NONCE_AT);
  return wrapped;
}

/**
 * Returns the id of the master key that wraps the data key. Throws VouchError `internal_error` if the bytes are not a
 * wrapped key.
 */
export function masterIdOf(wrapped: Uint8Array, { keyId }: EntryName): string {
  if (wrapped.length !== WRAPPED_KEY_BYTES || wrapped[0] !== VERSION)
    throw new VouchError('internal_error', `the wrapped key ${keyId} is of a version that is not known here`);
  return toHex(wrapped.subarray(1, NONCE_AT));
}

/** Returns the id of an entry's master key; undefined for a shredded one. Throws VouchError `internal_error`. */
export const masterOf = (stored: StoredVaultEntry): string | undefined =>
  stored.entry.wrapped === null ? undefined : masterIdOf(stored.entry.wrapped, stored);

/**
 * Returns the data key, which the caller fills with zeros after use. Throws VouchError `internal_error` if it does not
 * verify: under another master key, with other bytes, or of another name.
 */
export function unwrapKey(master: MasterKey, wrapped: Uint8Array, name: EntryName): Buffer {
  try {
    if (masterIdOf(wrapped, name) !== master.id) throw new Error('it is under another master key');
    return gcmDecrypt(wrapped.subarray(NONCE_AT, KEY_AT), wrapped.subarray(KEY_AT), boundTo(name, master));
  } catch (cause) {
    if (cause instanceof VouchError) throw cause;
    throw new VouchError('internal_error', `the wrapped key ${name.keyId} does not verify`, { cause });
  }
}

const boundTo = (name: EntryName, { bytes }: MasterKey): GcmKey => ({ bytes, associated: nameBytes(name) });

/** Returns a copy of a key outside of the heap, whose garbage collector would leave further copies. */
export function privateCopy(key: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new ArrayBuffer(key.length));
  copy.set(key);
  return copy;
}
