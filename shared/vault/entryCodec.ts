/**
 * The bytes of a vault entry, in a folder and in JetStream. All integers are little-endian.
 *
 * ```text
 * 0 "VVE1" ("VVE3": the wrapped key is sealed, see `seal.ts`; "VVE2": by an earlier version) | 4 u8 status (1 active, 2 shredded) |
 * 5 u8 project length | 6 u8 wrapped key length (0: none) | 7 u8 zero | 8 u64 revision | 16 u32 collections |
 * 20 u32 pending collections | 24 key id (16) | 40 project utf8 | wrapped key | u64 × collections | u64 × pending |
 * checksum (16): the first bytes of BLAKE3 over everything before
 * ```
 *
 * Project and key id are included, so that an entry does not verify in another's place.
 */
import { Malformed } from '../errors/malformed.js';
import { hash } from '../hashing/hash.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import type { StoredVaultEntry, VaultEntry } from './vaultStore.js';

/** At the number of the parts of the entry's seal. */
const MAGIC = ['VVE1', 'VVE2', 'VVE3'].map((magic) => Buffer.from(magic));
const MAGIC_BYTES = 4;
const STATUS = { active: 1, shredded: 2 } as const;
const KEY_ID_AT = 24;
const KEY_ID_END = 40;
const U64_BYTES = 8;
const CHECKSUM_BYTES = 16;
/** The lengths of a project's name and of a wrapped key take one byte. */
const SHORT_MAX_BYTES = 255;

/** `parts`: of the seal of the wrapped key; 0 without a seal. Throws RangeError if the entry cannot be encoded. */
export function encodeVaultEntry({ project, keyId, entry, revision }: StoredVaultEntry, parts = 0): Buffer {
  const name = Buffer.from(project);
  const wrapped = entry.wrapped ?? new Uint8Array(0);
  if (name.length > SHORT_MAX_BYTES || wrapped.length > SHORT_MAX_BYTES)
    throw new RangeError('a project name and a wrapped key are 255 bytes at most');
  const ids = [...entry.collectionIds, ...entry.pendingIds];
  const idsAt = KEY_ID_END + name.length + wrapped.length;
  const checksumAt = idsAt + ids.length * U64_BYTES;
  const bytes = Buffer.alloc(checksumAt + CHECKSUM_BYTES);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  bytes.set(MAGIC[parts]!);
  bytes.set([STATUS[entry.status], name.length, wrapped.length], 4);
  writeU64(view, 8, revision);
  view.setUint32(16, entry.collectionIds.length, true);
  view.setUint32(20, entry.pendingIds.length, true);
  bytes.set(Buffer.from(keyId, 'hex'), KEY_ID_AT);
  bytes.set(name, KEY_ID_END);
  bytes.set(wrapped, KEY_ID_END + name.length);
  for (const [index, id] of ids.entries()) writeU64(view, idsAt + index * U64_BYTES, id);
  bytes.set(checksumOf(bytes, checksumAt), checksumAt);
  return bytes;
}

/** The number of the parts of the seal of an entry that verifies; 0 if its wrapped key is not sealed. */
export const sealPartsOf = (bytes: Uint8Array): number =>
  MAGIC.findIndex((magic) => magic.equals(bytes.subarray(0, MAGIC_BYTES)));

/** Throws Malformed if the bytes are not the whole entry of this key. The wrapped key is a copy. */
export function decodeVaultEntry(bytes: Uint8Array, project: string, keyId: string): StoredVaultEntry {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const checksumAt = bytes.length - CHECKSUM_BYTES;
  if (checksumAt < KEY_ID_END) throw new Malformed('it is too short', bytes.length);
  if (sealPartsOf(bytes) < 0) throw new Malformed('it is of a version that is not known here', 0);
  if (Buffer.compare(checksumOf(bytes, checksumAt), bytes.subarray(checksumAt)) !== 0)
    throw new Malformed('its checksum does not verify', checksumAt);
  const [statusByte, nameLength, wrappedLength] = bytes.subarray(4, 7) as unknown as [number, number, number];
  const collections = view.getUint32(16, true);
  const pending = view.getUint32(20, true);
  const idsAt = KEY_ID_END + nameLength + wrappedLength;
  if (idsAt + (collections + pending) * U64_BYTES !== checksumAt) throw new Malformed('its lengths do not add up', 16);
  const foundKey = Buffer.from(bytes.subarray(KEY_ID_AT, KEY_ID_END)).toString('hex');
  const foundProject = Buffer.from(bytes.subarray(KEY_ID_END, KEY_ID_END + nameLength)).toString();
  if (foundKey !== keyId || foundProject !== project) throw new Malformed('it is the entry of another key', KEY_ID_AT);
  const ids = Array.from({ length: collections + pending }, (_, index) => readU64(view, idsAt + index * U64_BYTES));
  const wrapped = new Uint8Array(bytes.subarray(idsAt - wrappedLength, idsAt));
  const entry: VaultEntry = {
    status: statusOf(statusByte),
    wrapped: wrappedLength === 0 ? null : wrapped,
    collectionIds: ids.slice(0, collections),
    pendingIds: ids.slice(collections),
  };
  if ((entry.status === 'active') === (entry.wrapped === null)) throw new Malformed('its key and status differ', 4);
  return { project, keyId, entry, revision: readU64(view, 8) };
}

function statusOf(byte: number): VaultEntry['status'] {
  if (byte === STATUS.active) return 'active';
  if (byte === STATUS.shredded) return 'shredded';
  throw new Malformed(`status ${byte} is not known here`, 4);
}

const checksumOf = (bytes: Uint8Array, end: number): Uint8Array =>
  hash(bytes.subarray(0, end)).subarray(0, CHECKSUM_BYTES);
