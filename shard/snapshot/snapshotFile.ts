/** Reads a snapshot's file: facts and table at once, chunks one at a time, each verified by its checksum. */
import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { hashStream } from '../../shared/hashing/hash.js';
import {
  type ChunkEntry,
  type ChunkHead,
  type ChunkKind,
  checkHeader,
  checksumHead,
  DamagedSnapshot,
  decodeFooter,
  footerOffset,
  HEADER_BYTES,
  type SnapshotFacts,
  TRAILER_BYTES,
} from './format.js';

export interface OpenedSnapshot {
  readonly path: string;
  readonly sizeBytes: number;
  readonly facts: SnapshotFacts;
  readonly chunks: readonly ChunkEntry[];
}

/**
 * Verifies the file except its chunks. Throws DamagedSnapshot, UnusableSnapshot, and the system's error if the file is
 * missing.
 */
export async function openSnapshot(path: string): Promise<OpenedSnapshot> {
  const file = await open(path, 'r');
  const read = async (from: number, count: number): Promise<Uint8Array> => {
    const bytes = new Uint8Array(count);
    for (let filled = 0; filled < count; ) {
      const { bytesRead } = await file.read(bytes, filled, count - filled, from + filled);
      if (bytesRead === 0) throw new DamagedSnapshot(`it ends before byte ${from + count}`);
      filled += bytesRead;
    }
    return bytes;
  };
  try {
    const { size } = await file.stat();
    checkHeader(await read(0, HEADER_BYTES));
    if (size < HEADER_BYTES + TRAILER_BYTES) throw new DamagedSnapshot(`it has ${size} bytes`);
    const offset = footerOffset(await read(size - TRAILER_BYTES, TRAILER_BYTES), size);
    return { path, sizeBytes: size, ...decodeFooter(await read(offset, size - offset)) };
  } finally {
    await file.close();
  }
}

export const chunksOf = ({ chunks }: OpenedSnapshot, kind: ChunkKind): readonly ChunkEntry[] =>
  chunks.filter((chunk) => chunk.kind === kind);

export const countRows = (chunks: readonly ChunkHead[]): number => chunks.reduce((sum, { rows }) => sum + rows, 0);

/**
 * Returns the bytes of a chunk, not verified, in a new buffer. Blocks the thread during the read of about a MiB. Throws
 * DamagedSnapshot if the file ends too early.
 */
export function readChunk(path: string, { offset, length }: ChunkEntry): ArrayBuffer {
  const bytes = new Uint8Array(length);
  const file = openSync(path, 'r');
  try {
    for (let filled = 0; filled < length; ) {
      const count = readSync(file, bytes, filled, length - filled, offset + filled);
      if (count === 0) throw new DamagedSnapshot(`it ends before byte ${offset + length}`);
      filled += count;
    }
  } finally {
    closeSync(file);
  }
  return bytes.buffer;
}

/** Returns the checksum of a chunk of any kind except records. */
export function checksumOf(head: ChunkHead, bytes: Uint8Array): Uint8Array {
  const stream = hashStream();
  stream.update(checksumHead(head));
  stream.update(bytes);
  return stream.digest();
}

/** Throws DamagedSnapshot if the checksums differ. */
export function assertChecksum({ kind, first, checksum }: ChunkEntry, found: Uint8Array): void {
  if (Buffer.compare(checksum, found) !== 0)
    throw new DamagedSnapshot(`its chunk of ${kind} from ${first} on does not verify`);
}

/** Returns the bytes of a chunk of any kind except records. Throws DamagedSnapshot. */
export function verifiedChunk(path: string, chunk: ChunkEntry): Uint8Array {
  const bytes = new Uint8Array(readChunk(path, chunk));
  assertChecksum(chunk, checksumOf(chunk, bytes));
  return bytes;
}
