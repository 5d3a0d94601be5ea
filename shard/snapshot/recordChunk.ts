/**
 * Records in a chunk, ascending by id. With n records of d components:
 *
 * ```text
 * Head         f64 id × n | f64 tag × n | f64 inserted at, unix ms × n | i32 metadata length × n.
 *              i32 text length × n | i32 external id length × n; −1 in all three: none.
 *              u8 state × n (1 live, 2 tombstoned; 4 added: with an expiry), padded with zeros to a multiple of 4.
 * Vectors      i32 × d × n, Q16.16.
 * Descriptions metadata, text and external id of each record that has them, UTF-8; then its expiry, if any, as a u64.
 * ```
 *
 * The checksum covers the head and, for every id of the chunk, its leaf in the state tree. A reader computes these from the
 * records. So it hashes each byte once, both to verify the file and to build the tree.
 */
import { hashStream } from '../../shared/hashing/hash.js';
import { readU64 } from '../../shared/hashing/u64.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { EXPIRY_BYTES } from '../../shared/log/eventLayout.js';
import { type LeafRecord, leafHashes, RECORD_STATE, type RecordState } from '../audit/leaf.js';
import { type ChunkHead, checksumHead, DamagedSnapshot } from './format.js';

const HEAD_ROW_BYTES = 37;
/** In the state of a record with an expiry. */
export const EXPIRES = 4;
/** Length of a description that a record does not have. */
export const NONE = -1;

export const recordBytes = (dimension: number, describedBytes: number): number =>
  HEAD_ROW_BYTES + 4 * dimension + describedBytes;

interface RecordColumns {
  readonly head: Uint8Array;
  readonly ids: Float64Array;
  readonly tags: Float64Array;
  readonly insertedMs: Float64Array;
  readonly metadataLengths: Int32Array;
  readonly textLengths: Int32Array;
  readonly externalIdLengths: Int32Array;
  readonly states: Uint8Array;
}

export interface RecordRows extends RecordColumns {
  readonly vectors: Uint8Array;
  readonly descriptions: Uint8Array;
}

const headBytes = (stored: number): number => Math.ceil((HEAD_ROW_BYTES * stored) / 4) * 4;

/** `at`: a multiple of 8. */
export function columnsAt(buffer: ArrayBuffer, at: number, stored: number): RecordColumns {
  const lengthsAt = at + 24 * stored;
  return {
    head: new Uint8Array(buffer, at, headBytes(stored)),
    ids: new Float64Array(buffer, at, stored),
    tags: new Float64Array(buffer, at + 8 * stored, stored),
    insertedMs: new Float64Array(buffer, at + 16 * stored, stored),
    metadataLengths: new Int32Array(buffer, lengthsAt, stored),
    textLengths: new Int32Array(buffer, lengthsAt + 4 * stored, stored),
    externalIdLengths: new Int32Array(buffer, lengthsAt + 8 * stored, stored),
    states: new Uint8Array(buffer, lengthsAt + 12 * stored, stored),
  };
}

/** Makes an empty chunk to fill in. */
export const emptyRows = (stored: number, dimension: number, descriptionBytes: number): RecordRows =>
  rowsOf(new ArrayBuffer(headBytes(stored) + 4 * dimension * stored + descriptionBytes), stored, dimension);

/** Throws DamagedSnapshot if the chunk cannot have so many records. */
export function rowsOf(buffer: ArrayBuffer, stored: number, dimension: number): RecordRows {
  const vectorsAt = headBytes(stored);
  const vectorBytes = 4 * dimension * stored;
  if (vectorsAt + vectorBytes > buffer.byteLength) throw new DamagedSnapshot('a chunk of records is too short');
  return {
    ...columnsAt(buffer, 0, stored),
    vectors: new Uint8Array(buffer, vectorsAt, vectorBytes),
    descriptions: new Uint8Array(buffer, vectorsAt + vectorBytes),
  };
}

/** Returns the checksum. `leaves`: those of all ids of the chunk, one after another. */
export function checksumOfRecords(head: ChunkHead, columns: RecordColumns, leaves: Uint8Array): Uint8Array {
  const stream = hashStream();
  stream.update(checksumHead(head));
  stream.update(columns.head);
  stream.update(leaves);
  return stream.digest();
}

/**
 * Returns the leaves of all ids of the chunk, one after another. Throws DamagedSnapshot if the records do not fit the
 * chunk.
 */
export function leavesOf({ first, rows: ids }: ChunkHead, rows: RecordRows, dimension: number): Uint8Array {
  assertFits(first, ids, rows);
  const leaves = new Uint8Array(ids * HASH_BYTES);
  const stored = leafHashes([...recordsIn(rows, 4 * dimension)]);
  for (let row = 0; row < rows.ids.length; row++)
    leaves.set(stored.subarray(row * HASH_BYTES, (row + 1) * HASH_BYTES), (rows.ids[row]! - first) * HASH_BYTES);
  return leaves;
}

function* recordsIn(rows: RecordRows, vectorBytes: number): Generator<LeafRecord> {
  let at = 0;
  for (let row = 0; row < rows.ids.length; row++) {
    const metadata = taken(rows.descriptions, at, rows.metadataLengths[row]!);
    at += metadata?.length ?? 0;
    const text = taken(rows.descriptions, at, rows.textLengths[row]!);
    at += text?.length ?? 0;
    const externalId = taken(rows.descriptions, at, rows.externalIdLengths[row]!);
    at += externalId?.length ?? 0;
    const expiresAtMs = takenExpiry(rows.descriptions, at, rows.states[row]!);
    if (expiresAtMs !== undefined) at += EXPIRY_BYTES;
    yield {
      state: (rows.states[row]! & ~EXPIRES) as RecordState,
      id: rows.ids[row]!,
      tag: rows.tags[row]!,
      insertedMs: rows.insertedMs[row]!,
      vector: rows.vectors.subarray(row * vectorBytes, (row + 1) * vectorBytes),
      metadata,
      text,
      externalId,
      expiresAtMs,
    };
  }
}

/** Returns a view of the bytes at `at`; null if the length is `NONE`. */
export const taken = (descriptions: Uint8Array, at: number, length: number): Uint8Array | null =>
  length === NONE ? null : descriptions.subarray(at, at + length);

/** Returns the expiry at `at`; undefined if the state says that the record has none. */
export const takenExpiry = (descriptions: Uint8Array, at: number, state: number): number | undefined =>
  (state & EXPIRES) === 0 ? undefined : readU64(new DataView(descriptions.buffer, descriptions.byteOffset), at);

const isCount = (n: number): boolean => Number.isSafeInteger(n) && n >= 0;

function assertFits(first: number, ids: number, rows: RecordRows): void {
  let before = first - 1;
  let described = 0;
  for (let row = 0; row < rows.ids.length; row++) {
    const id = rows.ids[row]!;
    const expires = (rows.states[row]! & EXPIRES) !== 0;
    const state = rows.states[row]! & ~EXPIRES;
    const metadataLength = rows.metadataLengths[row]!;
    const textLength = rows.textLengths[row]!;
    const externalIdLength = rows.externalIdLengths[row]!;
    const isRecord = state === RECORD_STATE.live || state === RECORD_STATE.tombstoned;
    const areNumbers = isCount(id) && isCount(rows.tags[row]!) && isCount(rows.insertedMs[row]!);
    const areLengths = metadataLength >= NONE && textLength >= NONE && externalIdLength >= NONE;
    if (!(isRecord && areNumbers && id > before && areLengths))
      throw new DamagedSnapshot(`record ${id} does not verify`);
    before = id;
    described += Math.max(metadataLength, 0) + Math.max(textLength, 0) + Math.max(externalIdLength, 0);
    if (expires) described += EXPIRY_BYTES;
  }
  if (before >= first + ids || described !== rows.descriptions.length)
    throw new DamagedSnapshot('a chunk of records is not whole');
}
