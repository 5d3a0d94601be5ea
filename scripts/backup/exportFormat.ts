/**
 * The file of an export. Integers are little-endian, JSON is UTF-8:
 *
 *   "VOUCHLOG1\n"
 *   u32 length | header    who the collection is, and the index it had
 *   u32 length | frame     for each commit, as it is stored
 *   u32 0
 *   u32 length | trailer   what the log ends with, and the checkpoint that says so
 *   BLAKE3-256 of everything before
 */
import type { CollectionFacts, ExportResponse, SignedCheckpoint } from '../../coordinator/contract/backup.js';

export const MAGIC = Buffer.from('VOUCHLOG1\n', 'latin1');
const LENGTH_BYTES = 4;

export interface ExportHeader extends CollectionFacts {
  readonly format: 1;
  /** Unix milliseconds. */
  readonly exported_at_ms: number;
}

export interface ExportTrailer {
  readonly frames: number;
  readonly sequence: number;
  readonly log_bytes: number;
  readonly chain_head: string;
  readonly log_root: string;
  readonly state_hash: string;
  readonly checkpoint: SignedCheckpoint;
}

export function headerOf(facts: ExportResponse, exportedAtMs: number): ExportHeader {
  const { origin, dimension, metric, created_at_ms, index = { type: 'brute' } } = facts;
  return { format: 1, origin, dimension, metric, created_at_ms, index, exported_at_ms: exportedAtMs };
}

/** `bytes` behind their length. */
export function behindLength(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Whether a header read from a file is of the same collection: its index may have changed since. */
export function isSameCollection(stored: Buffer, { origin, dimension, metric, created_at_ms }: ExportHeader): boolean {
  try {
    const header = JSON.parse(stored.toString('utf8')) as Partial<ExportHeader> | null;
    return (
      header?.format === 1 &&
      header.origin?.project === origin.project &&
      header.origin.name === origin.name &&
      header.origin.id === origin.id &&
      header.dimension === dimension &&
      header.metric === metric &&
      header.created_at_ms === created_at_ms
    );
  } catch {
    return false;
  }
}
