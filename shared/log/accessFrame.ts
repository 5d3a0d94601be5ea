/**
 * A frame of an access log. Integers are little-endian. Each frame states what the entries before it hash to, so that an opening
 * reads the last frame alone.
 *
 * ```text
 *   0  "VAF1" | u32 entries | u64 collection id | u64 entries before the frame
 *  24  chain head before (32) | u32 roots | roots (32 each): of the full subtrees over the entries before, left to right
 *      each entry: u32 length | JSON utf8
 * −16  checksum: the first 16 bytes of H over everything before
 * ```
 */
import { Malformed } from '../errors/malformed.js';
import { hash } from '../hashing/hash.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import { HASH_BYTES } from '../limits.js';
import { AccessTree } from './accessTree.js';

const MAGIC = Buffer.from('VAF1', 'latin1');
const CHAIN_AT = 24;
const ROOTS_AT = CHAIN_AT + HASH_BYTES + 4;
const LENGTH_BYTES = 4;
const CHECKSUM_BYTES = 16;

export interface AccessFrame {
  readonly collectionId: number;
  /** The tree of the entries before the frame. */
  readonly before: AccessTree;
  /** JSON in UTF-8; views into the frame. */
  readonly entries: readonly Uint8Array[];
}

/** The bytes of the frame with these entries, JSON texts, and the tree after them. */
export function encodeAccessFrame(
  collectionId: number,
  before: AccessTree,
  entries: readonly string[],
): { readonly bytes: Uint8Array; readonly after: AccessTree } {
  const { roots } = before;
  const entriesAt = ROOTS_AT + HASH_BYTES * roots.length;
  const end = entries.reduce((sum, entry) => sum + LENGTH_BYTES + Buffer.byteLength(entry), entriesAt);
  const bytes = Buffer.allocUnsafe(end + CHECKSUM_BYTES);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  bytes.set(MAGIC);
  view.setUint32(4, entries.length, true);
  writeU64(view, 8, collectionId);
  writeU64(view, 16, before.size);
  bytes.set(before.chainHead, CHAIN_AT);
  view.setUint32(ROOTS_AT - 4, roots.length, true);
  for (const [i, root] of roots.entries()) bytes.set(root, ROOTS_AT + HASH_BYTES * i);
  const after = before.copy();
  let at = entriesAt;
  for (const entry of entries) {
    const from = at + LENGTH_BYTES;
    const length = bytes.write(entry, from);
    // Hashed where it lies, behind the last byte of its length, which is written afterwards.
    after.appendMessage(bytes.subarray(from - 1, from + length));
    view.setUint32(at, length, true);
    at = from + length;
  }
  bytes.set(hash(bytes.subarray(0, end)).subarray(0, CHECKSUM_BYTES), end);
  return { bytes, after };
}

/** Throws Malformed if the bytes are not an intact frame. */
export function decodeAccessFrame(bytes: Uint8Array): AccessFrame {
  const end = bytes.length - CHECKSUM_BYTES;
  if (end < ROOTS_AT || Buffer.compare(bytes.subarray(0, MAGIC.length), MAGIC) !== 0)
    throw new Malformed('this is not a frame of an access log of version 1', 0);
  if (Buffer.compare(hash(bytes.subarray(0, end)).subarray(0, CHECKSUM_BYTES), bytes.subarray(end)) !== 0)
    throw new Malformed('the checksum of the frame does not verify', end);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const roots = Array.from({ length: view.getUint32(ROOTS_AT - 4, true) }, (_, i) =>
    bytes.slice(ROOTS_AT + HASH_BYTES * i, ROOTS_AT + HASH_BYTES * (i + 1)),
  );
  const before = new AccessTree(readU64(view, 16), bytes.slice(CHAIN_AT, CHAIN_AT + HASH_BYTES), roots);
  const entries: Uint8Array[] = [];
  let at = ROOTS_AT + HASH_BYTES * roots.length;
  while (at < end) {
    const from = at + LENGTH_BYTES;
    at = from + view.getUint32(at, true);
    entries.push(bytes.subarray(from, at));
  }
  if (at !== end || entries.length !== view.getUint32(4, true))
    throw new Malformed('the frame has another number of entries than it says', 4);
  return { collectionId: readU64(view, 8), before, entries };
}

/** The tree after the frame. */
export function afterAccessFrame({ before, entries }: AccessFrame): AccessTree {
  const after = before.copy();
  for (const entry of entries) after.append(entry);
  return after;
}
