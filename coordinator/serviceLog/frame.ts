/**
 * A frame of the service log, written whole. Integers are little-endian, except the lengths, which have the form of an entry
 * bundle.
 *
 * ```text
 *    0  "VSL1" | u32 entries | u64 entries before the frame
 *   16  each entry: u16 length, big-endian | bytes
 *  −16  checksum: the first 16 bytes of H over everything before
 * ```
 */
import { Malformed } from '../../shared/errors/malformed.js';
import { hash } from '../../shared/hashing/hash.js';
import { readU64, writeU64 } from '../../shared/hashing/u64.js';

const MAGIC = Buffer.from('VSL1', 'latin1');
const HEAD_BYTES = 16;
const CHECKSUM_BYTES = 16;
const LENGTH_BYTES = 2;

export interface LogFrame {
  /** Entries before the frame. */
  readonly first: number;
  /** Views into the frame. */
  readonly entries: readonly Uint8Array[];
}

export function encodeFrame({ first, entries }: LogFrame): Uint8Array {
  const bundle = bundleOf(entries);
  const frame = Buffer.alloc(HEAD_BYTES + bundle.length + CHECKSUM_BYTES);
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  frame.set(MAGIC);
  view.setUint32(4, entries.length, true);
  writeU64(view, 8, first);
  frame.set(bundle, HEAD_BYTES);
  const end = frame.length - CHECKSUM_BYTES;
  frame.set(hash(frame.subarray(0, end)).subarray(0, CHECKSUM_BYTES), end);
  return frame;
}

/** Throws Malformed if the bytes are not an intact frame. */
export function decodeFrame(frame: Uint8Array): LogFrame {
  const end = frame.length - CHECKSUM_BYTES;
  if (end < HEAD_BYTES || Buffer.compare(frame.subarray(0, MAGIC.length), MAGIC) !== 0)
    throw new Malformed('this is not a frame of version 1', 0);
  if (Buffer.compare(hash(frame.subarray(0, end)).subarray(0, CHECKSUM_BYTES), frame.subarray(end)) !== 0)
    throw new Malformed('the checksum of the frame does not verify', end);
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const entries: Uint8Array[] = [];
  let at = HEAD_BYTES;
  while (at < end) {
    const from = at + LENGTH_BYTES;
    at = from + view.getUint16(at);
    entries.push(frame.subarray(from, at));
  }
  if (at !== end || entries.length !== view.getUint32(4, true))
    throw new Malformed('the frame has another number of entries than it says', 4);
  return { first: readU64(view, 8), entries };
}

/** The entries as an entry bundle of c2sp.org/tlog-tiles. */
export function bundleOf(entries: readonly Uint8Array[]): Uint8Array {
  const bundle = Buffer.alloc(entries.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0));
  let at = 0;
  for (const entry of entries) {
    bundle.writeUInt16BE(entry.length, at);
    bundle.set(entry, at + LENGTH_BYTES);
    at += LENGTH_BYTES + entry.length;
  }
  return bundle;
}
