/**
 * Encrypted contents of records under keys in a chunk: groups, each of records under one key. The records are among the
 * encrypted ones.
 *
 * ```text
 * Salt of the snapshot (32) | per group: u32 records | u32 length of the ciphertext | f64 id × records | ciphertext.
 * Plaintext of a group, per record: u32 length | content, as `recordContent.ts` encodes it.
 * ```
 *
 * A group is one message, since a message costs more than the encryption of a small record. The cipher is AES-256-GCM under a key
 * that `snapshotKeys.ts` derives from the data key, with the nonce u64 first id | 0^4. The ciphertext is bound to the
 * collection, the key id, and ids and commitments of the records. So a chunk has nothing in plain that a shred erases.
 */
import { SNAPSHOT_SALT_BYTES } from '../vault/snapshotKeys.js';
import { DamagedSnapshot } from './format.js';

const HEAD_BYTES = 8;
const ID_BYTES = 8;
const LENGTH_BYTES = 4;

export interface ContentGroup {
  readonly ids: readonly number[];
  /** With its tag. */
  readonly ciphertext: Uint8Array;
}

export const groupBytes = ({ ids, ciphertext }: ContentGroup): number =>
  HEAD_BYTES + ID_BYTES * ids.length + ciphertext.length;

export function encodeGroups(salt: Uint8Array, groups: readonly ContentGroup[]): Uint8Array {
  const sizeBytes = groups.reduce((sum, group) => sum + groupBytes(group), SNAPSHOT_SALT_BYTES);
  const bytes = new Uint8Array(sizeBytes);
  const view = new DataView(bytes.buffer);
  bytes.set(salt);
  let at = SNAPSHOT_SALT_BYTES;
  for (const { ids, ciphertext } of groups) {
    view.setUint32(at, ids.length, true);
    view.setUint32(at + 4, ciphertext.length, true);
    at += HEAD_BYTES;
    for (const id of ids) {
      view.setFloat64(at, id, true);
      at += ID_BYTES;
    }
    bytes.set(ciphertext, at);
    at += ciphertext.length;
  }
  return bytes;
}

/** Returns views of the bytes. Throws DamagedSnapshot. */
export function decodeGroups(bytes: Uint8Array): { salt: Uint8Array; groups: ContentGroup[] } {
  const view = viewOf(bytes);
  const groups: ContentGroup[] = [];
  let at = SNAPSHOT_SALT_BYTES;
  while (at + HEAD_BYTES <= bytes.length) {
    const count = view.getUint32(at, true);
    const from = at + HEAD_BYTES + ID_BYTES * count;
    const end = from + view.getUint32(at + 4, true);
    if (count === 0 || end > bytes.length) break;
    const ids = Array.from({ length: count }, (_, i) => view.getFloat64(at + HEAD_BYTES + ID_BYTES * i, true));
    groups.push({ ids, ciphertext: bytes.subarray(from, end) });
    at = end;
  }
  if (at !== bytes.length) throw new DamagedSnapshot('a chunk of contents is not whole');
  return { salt: bytes.subarray(0, SNAPSHOT_SALT_BYTES), groups };
}

/** Returns the plaintext of a group, and overwrites the contents. */
export function joinContents(contents: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(contents.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0));
  const view = viewOf(bytes);
  let at = 0;
  for (const content of contents) {
    view.setUint32(at, content.length, true);
    bytes.set(content, at + LENGTH_BYTES);
    at += LENGTH_BYTES + content.length;
    content.fill(0);
  }
  return bytes;
}

/** Returns views of the plaintext of a group. Throws DamagedSnapshot unless it has `count` contents. */
export function splitContents(bytes: Uint8Array, count: number): Uint8Array[] {
  const view = viewOf(bytes);
  const contents: Uint8Array[] = [];
  let at = 0;
  while (at + LENGTH_BYTES <= bytes.length) {
    const end = at + LENGTH_BYTES + view.getUint32(at, true);
    contents.push(bytes.subarray(at + LENGTH_BYTES, end));
    at = end;
  }
  if (at !== bytes.length || contents.length !== count) throw new DamagedSnapshot('a group of contents is not whole');
  return contents;
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
