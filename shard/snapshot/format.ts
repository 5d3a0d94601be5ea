/**
 * The bytes of a snapshot: the state of a collection after the last event of a frame. A collection is opened from it
 * without reading the log up to there. Integers and floats are little-endian; u64 are below 2^53.
 *
 * ```text
 * Header    0  "VSNP" | u32 version = 3 | 8 B checksum: the first of H over the 8 bytes before.
 * Chunks   16  one after another, without a gap: see below.
 * Facts        u64 collection id | u64 sequence | u64 time_ms of the last event | u64 log bytes.
 *              u64 position of the last frame | u64 record ids ever given | u64 live records.
 *              u64 request ids the window takes | u64 sequence of the last write that changed the graph.
 *              u64 1 if that was a record's, else 0 | u64 bytes of the state besides its vectors.
 *              u64 made at, unix ms | config hash | chain head | state hash (32 each).
 * Table        per chunk, in the order of the file: u32 kind | u32 rows stored | u64 first row.
 *              u64 rows | u64 offset | u64 length | checksum (32).
 * Trailer −40  u64 offset of the facts | checksum: H over that offset, facts and table (32).
 * ```
 *
 * A chunk has rows of one kind, about a MiB of them. Writer and reader have one chunk in memory at a time. Its checksum is
 * H("VSNC" | u32 kind | u64 first row | u64 rows | u32 rows stored | the bytes). The checksum of a chunk of records covers
 * the head and the records' leaves in the state tree instead (`recordChunk.ts`). The table contains these checksums and is
 * under the file's checksum. So the checksum covers every byte of the file.
 *
 * ```text
 * Frames       f64 first sequence | f64 time of its first event | f64 position.
 * Chain heads  32, by sequence: the leaves of the log tree.
 * Records      by id, see `recordChunk.ts`; rows: ids; rows stored: those not permanently deleted.
 * Encrypted    by id: f64 id | f64 tag | f64 inserted at, unix ms | f64 sequence.
 *              f64 state (1 live, 2 tombstoned; added: 4 with content, 8 with lost content) | f64 ciphertext bytes |
 *              key id (16) | content hash or commitment (32).
 * Contents     groups of encrypted records with content, see `contentChunk.ts`. If the log has contents there is a
 *              chunk, perhaps without rows.
 * Expiries     f64 id of an encrypted record | f64 unix ms; only of those that expire.
 * Shredded     key id (16).
 * Erasures     f64 kind | f64 sequence | key id (16), see `rows.ts`; absent in files of versions before certificates.
 * Leaf changes f64 sequence | f64 index of the leaf | f64 leaves at that time | the leaf before (32).
 * Requests     request id (16) | f64 record id | f64 sequence, oldest first.
 * Nodes        f64 kind, −1: deleted | f64 record id, 0: none.
 * Edges        f64 kind, −1: deleted | f64 from | f64 to.
 * Graph roots  f64 sequence | root (32): the graph's former roots.
 * Read audit   f64: 1 on, 2 with requests; absent: off.
 * Lifetimes    f64: number of lists of `VersionVisibility.save`, the length of each, all their numbers.
 * ```
 *
 * The leaves of the state tree are not in the file. They are computed from the records, and with them the state hash. A
 * state has no plaintext of an encrypted payload and no data key, wrapped or not, and contents under keys are encrypted. So a
 * snapshot has nothing in plain that a shred erases.
 */
import { Malformed } from '../../shared/errors/malformed.js';
import { hash } from '../../shared/hashing/hash.js';
import { readU64, writeU64 } from '../../shared/hashing/u64.js';
import { HASH_BYTES } from '../../shared/limits.js';

/** Thrown for a snapshot that does not verify. It is set aside: an older one, or the log, has all of its data. */
export class DamagedSnapshot extends Error {
  override name = 'DamagedSnapshot';
}

/**
 * Thrown for a snapshot that verifies but cannot be used: another version or other settings wrote it. It is left as it
 * is.
 */
export class UnusableSnapshot extends Error {
  override name = 'UnusableSnapshot';
}

const SNAPSHOT_VERSION = 3;
export const HEADER_BYTES = 16;
export const TRAILER_BYTES = 40;
/** Size up to which a chunk is filled. A larger record has its own chunk. */
export const CHUNK_BYTES = 1 << 20;
/** Larger chunks and footers are damage, whatever the checksums say: this program writes none. */
const SIZE_MAX_BYTES = 1 << 26;

const MAGIC = Buffer.from('VSNP');
const CHUNK_MAGIC = Buffer.from('VSNC');
const CHECKSUM_HEAD_BYTES = 28;

const KIND = {
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
  readAudit: 12,
  expiries: 13,
  erasures: 14,
  contents: 15,
} as const;
export type ChunkKind = keyof typeof KIND;
export type RowKind = Exclude<ChunkKind, 'records' | 'contents'>;

/** The numbers among the facts, in the order of the file; see the top of this file. */
const FACT_NUMBERS = [
  'collectionId',
  'sequence',
  'timeMs',
  'logBytes',
  'position',
  'recordIds',
  'liveRecords',
  'dedupWindow',
  'graphChangedAt',
  'graphChangedByRecord',
  'describedBytes',
  'madeAtMs',
] as const;
const FACT_HASHES = ['configHash', 'chainHead', 'stateHash'] as const;

export type SnapshotFacts = Readonly<
  Record<(typeof FACT_NUMBERS)[number], number> & Record<(typeof FACT_HASHES)[number], Uint8Array>
>;

const HASHES_AT = 8 * FACT_NUMBERS.length;
const FACTS_BYTES = HASHES_AT + FACT_HASHES.length * HASH_BYTES;
const ENTRY_BYTES = 40 + HASH_BYTES;

export interface ChunkHead {
  readonly kind: ChunkKind;
  /** Number of the chunk's first row; for records, the first id. */
  readonly first: number;
  readonly rows: number;
  /** Equal to `rows`; for records, the number of those not permanently deleted. */
  readonly stored: number;
}

export interface ChunkEntry extends ChunkHead {
  readonly offset: number;
  readonly length: number;
  readonly checksum: Uint8Array;
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

const headerChecksum = (bytes: Uint8Array): Uint8Array => hash(bytes.subarray(0, 8)).subarray(0, 8);
const footerChecksum = (footer: Uint8Array, offset: Uint8Array): Uint8Array => hash(Buffer.concat([offset, footer]));

export function encodeHeader(): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES);
  bytes.set(MAGIC);
  viewOf(bytes).setUint32(4, SNAPSHOT_VERSION, true);
  bytes.set(headerChecksum(bytes), 8);
  return bytes;
}

/** Throws DamagedSnapshot, and UnusableSnapshot if another version wrote it. */
export function checkHeader(bytes: Uint8Array): void {
  if (!isSame(headerChecksum(bytes), bytes.subarray(8, HEADER_BYTES)) || !isSame(MAGIC, bytes.subarray(0, 4)))
    throw new DamagedSnapshot('its header does not verify');
  const version = viewOf(bytes).getUint32(4, true);
  if (version !== SNAPSHOT_VERSION)
    throw new UnusableSnapshot(
      `snapshot version ${version} is not known here; this program reads version ${SNAPSHOT_VERSION}`,
    );
}

/** Returns the bytes that the checksum of a chunk covers before those of the chunk. */
export function checksumHead({ kind, first, rows, stored }: ChunkHead): Uint8Array {
  const bytes = new Uint8Array(CHECKSUM_HEAD_BYTES);
  const view = viewOf(bytes);
  bytes.set(CHUNK_MAGIC);
  view.setUint32(4, KIND[kind], true);
  writeU64(view, 8, first);
  writeU64(view, 16, rows);
  view.setUint32(24, stored, true);
  return bytes;
}

/** Returns facts, table and trailer of a file whose chunks end at `offset`. */
export function encodeFooter(facts: SnapshotFacts, chunks: readonly ChunkEntry[], offset: number): Uint8Array {
  const end = FACTS_BYTES + chunks.length * ENTRY_BYTES;
  const bytes = new Uint8Array(end + TRAILER_BYTES);
  const view = viewOf(bytes);
  for (const [i, name] of FACT_NUMBERS.entries()) writeU64(view, 8 * i, facts[name]);
  for (const [i, name] of FACT_HASHES.entries()) bytes.set(facts[name], HASHES_AT + i * HASH_BYTES);
  for (const [i, chunk] of chunks.entries()) {
    const at = FACTS_BYTES + i * ENTRY_BYTES;
    view.setUint32(at, KIND[chunk.kind], true);
    view.setUint32(at + 4, chunk.stored, true);
    writeU64(view, at + 8, chunk.first);
    writeU64(view, at + 16, chunk.rows);
    writeU64(view, at + 24, chunk.offset);
    writeU64(view, at + 32, chunk.length);
    bytes.set(chunk.checksum, at + 40);
  }
  writeU64(view, end, offset);
  bytes.set(footerChecksum(bytes.subarray(0, end), bytes.subarray(end, end + 8)), end + 8);
  return bytes;
}

/** Reads the offset of the facts from the trailer of a file. Throws DamagedSnapshot. */
export function footerOffset(trailer: Uint8Array, fileBytes: number): number {
  const offset = numberAt(viewOf(trailer), 0);
  const sizeBytes = fileBytes - TRAILER_BYTES - offset;
  if (offset < HEADER_BYTES || sizeBytes < FACTS_BYTES || sizeBytes > SIZE_MAX_BYTES)
    throw new DamagedSnapshot('its trailer does not verify');
  return offset;
}

/** `footer`: the bytes from the facts to the end of the file. Throws DamagedSnapshot. */
export function decodeFooter(footer: Uint8Array): { facts: SnapshotFacts; chunks: ChunkEntry[] } {
  const view = viewOf(footer);
  const end = footer.length - TRAILER_BYTES;
  if (!isSame(footerChecksum(footer.subarray(0, end), footer.subarray(end, end + 8)), footer.subarray(end + 8)))
    throw new DamagedSnapshot('its checksum does not verify');
  if ((end - FACTS_BYTES) % ENTRY_BYTES !== 0) throw new DamagedSnapshot('its table is not whole');
  const chunks: ChunkEntry[] = [];
  let offset = HEADER_BYTES;
  for (let at = FACTS_BYTES; at < end; at += ENTRY_BYTES) {
    const chunk = decodeEntry(footer, view, at);
    if (chunk.offset !== offset || chunk.length > SIZE_MAX_BYTES)
      throw new DamagedSnapshot('its table does not fit its chunks');
    offset += chunk.length;
    chunks.push(chunk);
  }
  if (offset !== numberAt(view, end)) throw new DamagedSnapshot('its table does not fit its chunks');
  const hashAt = (i: number): Uint8Array => footer.slice(HASHES_AT + i * HASH_BYTES, HASHES_AT + (i + 1) * HASH_BYTES);
  const facts = Object.fromEntries<number | Uint8Array>([
    ...FACT_NUMBERS.map((name, i) => [name, numberAt(view, 8 * i)] as const),
    ...FACT_HASHES.map((name, i) => [name, hashAt(i)] as const),
  ]);
  return { facts: facts as SnapshotFacts, chunks };
}

function decodeEntry(footer: Uint8Array, view: DataView, at: number): ChunkEntry {
  const code = view.getUint32(at, true);
  const kind = (Object.keys(KIND) as ChunkKind[]).find((each) => KIND[each] === code);
  if (kind === undefined) throw new DamagedSnapshot(`it has a chunk of kind ${code}`);
  return {
    kind,
    stored: view.getUint32(at + 4, true),
    first: numberAt(view, at + 8),
    rows: numberAt(view, at + 16),
    offset: numberAt(view, at + 24),
    length: numberAt(view, at + 32),
    checksum: footer.slice(at + 40, at + ENTRY_BYTES),
  };
}

function numberAt(view: DataView, at: number): number {
  try {
    return readU64(view, at);
  } catch (error) {
    throw error instanceof Malformed ? new DamagedSnapshot(error.message) : error;
  }
}
