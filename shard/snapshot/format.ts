/**
 * The bytes of a snapshot: what a collection is after the last event of a frame, so that its log need not be read up to
 * there. All integers and floats are little-endian; u64 are below 2^53.
 *
 *   header    0  "VSNP" | u32 version = 1 | 8 B checksum: the first of H over the 8 bytes before
 *   chunks   16  one after another, without a gap: see below
 *   facts        u64 collection id | u64 sequence | u64 time_ms of the last event | u64 log bytes | u64 position of the
 *                last frame | u64 record ids ever given | u64 live records | u64 request ids the window takes | u64 sequence
 *                of the last write that changed the graph | u64 1 where that was one of a record, else 0 | u64 bytes the
 *                state takes beside its vectors | u64 made at, unix ms | config hash | chain head | state hash (32 each)
 *   table        one entry a chunk, in the order of the file: u32 kind | u32 rows stored | u64 first row | u64 rows |
 *                u64 offset | u64 length | seal (32)
 *   trailer −40  u64 offset of the facts | checksum: H over that offset, facts and table (32)
 *
 * A chunk holds rows of one kind, about a MiB of them, so that neither who writes nor who reads has more than that of the
 * file at a time. Its seal is H("VSNC" | u32 kind | u64 first row | u64 rows | u32 rows stored | the bytes); of a chunk of
 * records it is taken over the head and the records' leaves in the state tree instead (`recordChunk.ts`). The seals
 * are in the table, and the table is under the file's checksum: with it every byte of the file is.
 *
 *   frames       f64 first sequence | f64 time of its first event | f64 position
 *   chain heads  32, by sequence: the leaves of the log tree
 *   records      by id, see `recordChunk.ts`; rows: ids, rows stored: those not deleted for good
 *   encrypted    f64 id | f64 tag | f64 inserted at, unix ms | f64 sequence | f64 state (1 live, 2 tombstoned) | key id
 *                (16) | content hash (32), by id
 *   shredded     key id (16)
 *   leaf changes f64 sequence | f64 index of the leaf | f64 leaves there were | the leaf before (32)
 *   requests     request id (16) | f64 record id | f64 sequence, oldest first
 *   nodes        f64 kind, −1: deleted | f64 record id, 0: none
 *   edges        f64 kind, −1: deleted | f64 from | f64 to
 *   graph roots  f64 sequence | root (32): those that the graph once had
 *   lifetimes    f64: how many lists `Lifetimes.save` gives, the length of each, and all their numbers
 *
 * The state tree's leaves are not in the file: they are made again from the records, and with them the state hash. No
 * plaintext of an encrypted record and no data key, wrapped or not, is ever in a state, and so none is in a snapshot.
 */
import { hash } from '../../shared/hash.js';
import { HASH_BYTES, KEY_ID_BYTES } from '../../shared/limits.js';
import { writeU64 } from '../../shared/u64.js';
import { DamagedSnapshot, UnusableSnapshot } from './damagedSnapshot.js';

export const SNAPSHOT_VERSION = 1;
export const HEADER_BYTES = 16;
export const TRAILER_BYTES = 40;
/** What a chunk is filled up to; one record that is larger has one of its own. */
export const CHUNK_BYTES = 1 << 20;

const MAGIC = 'VSNP';
const SEAL_MAGIC = Buffer.from('VSNC', 'latin1');
const CHECKSUM_BYTES = 8;

export const KIND = {
  frames: 1,
  chainHeads: 2,
  records: 3,
  leafChanges: 4,
  requests: 5,
  nodes: 6,
  edges: 7,
  graphRoots: 8,
  encrypted: 9,
  shredded: 10,
  lifetimes: 11,
} as const;
export type ChunkKind = keyof typeof KIND;

/** Bytes of a row, of the kinds whose rows are all alike. */
export const ROW_BYTES = {
  frames: 24,
  chainHeads: HASH_BYTES,
  encrypted: 40 + KEY_ID_BYTES + HASH_BYTES,
  shredded: KEY_ID_BYTES,
  leafChanges: 24 + HASH_BYTES,
  requests: 32,
  nodes: 16,
  edges: 24,
  graphRoots: 8 + HASH_BYTES,
  lifetimes: 8,
} as const;
export type RowKind = keyof typeof ROW_BYTES;

export interface SnapshotFacts {
  readonly collectionId: number;
  /** Of the last event in it. */
  readonly sequence: number;
  readonly timeMs: number;
  readonly logBytes: number;
  /** Of the frame that ends with that event. */
  readonly position: number;
  /** Ids ever given to records. */
  readonly recordIds: number;
  readonly liveRecords: number;
  readonly dedupWindow: number;
  readonly graphChangedBy: { readonly sequence: number; readonly isOfRecord: boolean };
  /** As `describedBytes` estimates it. */
  readonly describedBytes: number;
  readonly madeAtMs: number;
  readonly configHash: Uint8Array;
  readonly chainHead: Uint8Array;
  readonly stateHash: Uint8Array;
}

export interface ChunkHead {
  readonly kind: ChunkKind;
  /** Number of its first row; of records, the first id. */
  readonly first: number;
  readonly rows: number;
  /** As `rows`, but of records: those that are there. */
  readonly stored: number;
}

export interface ChunkEntry extends ChunkHead {
  readonly offset: number;
  readonly length: number;
  readonly seal: Uint8Array;
}

const SEAL_HEAD_BYTES = 28;

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

export function encodeHeader(): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES);
  bytes.set(Buffer.from(MAGIC, 'latin1'));
  viewOf(bytes).setUint32(4, SNAPSHOT_VERSION, true);
  bytes.set(hash(bytes.subarray(0, 8)).subarray(0, CHECKSUM_BYTES), 8);
  return bytes;
}

/** Throws DamagedSnapshot, and UnusableSnapshot where another version has written it. */
export function checkHeader(bytes: Uint8Array): void {
  const isWhole = isSame(hash(bytes.subarray(0, 8)).subarray(0, CHECKSUM_BYTES), bytes.subarray(8, HEADER_BYTES));
  if (!isWhole || Buffer.from(bytes.subarray(0, 4)).toString('latin1') !== MAGIC)
    throw new DamagedSnapshot('its header does not verify');
  const version = viewOf(bytes).getUint32(4, true);
  if (version !== SNAPSHOT_VERSION)
    throw new UnusableSnapshot(
      `snapshot version ${version} is not known here; this program reads version ${SNAPSHOT_VERSION}`,
    );
}

/** What the seal of a chunk is taken over, before its bytes. */
export function sealHead({ kind, first, rows, stored }: ChunkHead): Uint8Array {
  const bytes = new Uint8Array(SEAL_HEAD_BYTES);
  const view = viewOf(bytes);
  bytes.set(SEAL_MAGIC);
  view.setUint32(4, KIND[kind], true);
  writeU64(view, 8, first);
  writeU64(view, 16, rows);
  view.setUint32(24, stored, true);
  return bytes;
}
