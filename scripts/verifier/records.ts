/** Records as the log tells them, and their leaves in the state tree. */
import { ABSENT, H, u8, u32, u64 } from './hashing.js';

export interface RecordValues {
  readonly state: 'live' | 'tombstoned';
  readonly id: bigint;
  readonly tag: bigint;
  /** The time of its insert. */
  readonly insertedMs: bigint;
  /** Little-endian Q16.16. */
  readonly vector: Uint8Array;
  readonly metadata: Uint8Array | null;
  /** UTF-8. */
  readonly text: Uint8Array | null;
}

const NOTHING = new Uint8Array(0);

/** `deleted`: a record deleted for good. */
export function leafOf(record: RecordValues | 'deleted'): Buffer {
  if (record === 'deleted') return ABSENT;
  const { metadata, text } = record;
  return H(
    u8(0x10),
    u8(record.state === 'live' ? 1 : 2),
    u8((metadata ? 2 : 0) + (text ? 4 : 0)),
    u8(0),
    u32(record.vector.length / 4),
    u64(record.id),
    u64(record.tag),
    u64(record.insertedMs),
    u32(metadata?.length ?? 0),
    u32(text?.length ?? 0),
    record.vector,
    metadata ?? NOTHING,
    text ?? NOTHING,
  );
}
