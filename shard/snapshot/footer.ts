/** Facts, table and trailer of a snapshot, to bytes and back: see `format.ts`. */
import { hash } from '../../shared/hash.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { Malformed } from '../../shared/malformed.js';
import { readU64, writeU64 } from '../../shared/u64.js';
import { DamagedSnapshot } from './damagedSnapshot.js';
import { type ChunkEntry, type ChunkKind, HEADER_BYTES, KIND, type SnapshotFacts, TRAILER_BYTES } from './format.js';

/** Beyond these a file is none that this program has written, whatever its checksums say. */
const CHUNK_BYTES_MAX = 1 << 26;
const FOOTER_BYTES_MAX = 1 << 26;

const NUMBERS = 12;
const FACTS_BYTES = 8 * NUMBERS + 3 * HASH_BYTES;
const ENTRY_BYTES = 40 + HASH_BYTES;

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Facts, table and trailer of a file whose chunks end at `offset`. */
export function encodeFooter(facts: SnapshotFacts, chunks: readonly ChunkEntry[], offset: number): Uint8Array {
  const end = FACTS_BYTES + chunks.length * ENTRY_BYTES;
  const bytes = new Uint8Array(end + TRAILER_BYTES);
  const view = viewOf(bytes);
  for (const [i, number] of numbersOf(facts).entries()) writeU64(view, 8 * i, number);
  for (const [i, each] of [facts.configHash, facts.chainHead, facts.stateHash].entries())
    bytes.set(each, 8 * NUMBERS + i * HASH_BYTES);
  let at = FACTS_BYTES;
  for (const chunk of chunks) {
    view.setUint32(at, KIND[chunk.kind], true);
    view.setUint32(at + 4, chunk.stored, true);
    writeU64(view, at + 8, chunk.first);
    writeU64(view, at + 16, chunk.rows);
    writeU64(view, at + 24, chunk.offset);
    writeU64(view, at + 32, chunk.length);
    bytes.set(chunk.seal, at + 40);
    at += ENTRY_BYTES;
  }
  writeU64(view, end, offset);
  bytes.set(footerChecksum(bytes.subarray(0, end), bytes.subarray(end, end + 8)), end + 8);
  return bytes;
}

/** Where the facts begin, from the trailer of a file. Throws DamagedSnapshot. */
export function footerOffset(trailer: Uint8Array, fileBytes: number): number {
  const offset = numberAt(viewOf(trailer), 0);
  const sizeBytes = fileBytes - TRAILER_BYTES - offset;
  if (offset < HEADER_BYTES || sizeBytes < FACTS_BYTES || sizeBytes > FOOTER_BYTES_MAX)
    throw new DamagedSnapshot('its trailer does not verify');
  return offset;
}

/** `footer`: all from the facts to the end of the file. Throws DamagedSnapshot. */
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
    if (chunk.offset !== offset || chunk.length > CHUNK_BYTES_MAX)
      throw new DamagedSnapshot('its table does not fit its chunks');
    offset += chunk.length;
    chunks.push(chunk);
  }
  if (offset !== numberAt(view, end)) throw new DamagedSnapshot('its table does not fit its chunks');
  return { facts: decodeFacts(footer, view), chunks };
}

const footerChecksum = (footer: Uint8Array, offset: Uint8Array): Uint8Array => hash(Buffer.concat([offset, footer]));

const numbersOf = (facts: SnapshotFacts): readonly number[] => [
  facts.collectionId,
  facts.sequence,
  facts.timeMs,
  facts.logBytes,
  facts.position,
  facts.recordIds,
  facts.liveRecords,
  facts.dedupWindow,
  facts.graphChangedBy.sequence,
  facts.graphChangedBy.isOfRecord ? 1 : 0,
  facts.describedBytes,
  facts.madeAtMs,
];

function decodeFacts(footer: Uint8Array, view: DataView): SnapshotFacts {
  const number = (i: number): number => numberAt(view, 8 * i);
  const hashOf = (i: number): Uint8Array =>
    footer.slice(8 * NUMBERS + i * HASH_BYTES, 8 * NUMBERS + (i + 1) * HASH_BYTES);
  return {
    collectionId: number(0),
    sequence: number(1),
    timeMs: number(2),
    logBytes: number(3),
    position: number(4),
    recordIds: number(5),
    liveRecords: number(6),
    dedupWindow: number(7),
    graphChangedBy: { sequence: number(8), isOfRecord: number(9) === 1 },
    describedBytes: number(10),
    madeAtMs: number(11),
    configHash: hashOf(0),
    chainHead: hashOf(1),
    stateHash: hashOf(2),
  };
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
    seal: footer.slice(at + 40, at + ENTRY_BYTES),
  };
}

function numberAt(view: DataView, at: number): number {
  try {
    return readU64(view, at);
  } catch (error) {
    throw error instanceof Malformed ? new DamagedSnapshot(error.message) : error;
  }
}
