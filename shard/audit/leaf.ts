/** A record as a leaf of the state tree. */
import { DOMAIN, hash } from '../../shared/hash.js';
import { FLAG } from '../../shared/log/eventLayout.js';
import { writeU64 } from '../../shared/u64.js';

export const RECORD_STATE = { live: 1, tombstoned: 2 } as const;
export type RecordState = (typeof RECORD_STATE)[keyof typeof RECORD_STATE];

export interface LeafRecord {
  readonly state: RecordState;
  readonly id: number;
  readonly tag: number;
  /** The time of the record's insert. */
  readonly insertedMs: number;
  /** Little-endian i32 components in Q16.16. */
  readonly vector: Uint8Array;
  readonly metadata: Uint8Array | null;
  /** UTF-8. */
  readonly text: Uint8Array | null;
}

const AT = { state: 1, flags: 2, dimension: 4, id: 8, tag: 16, insertedMs: 24, metadataLength: 32, textLength: 36 };
const VECTOR_AT = 40;

let message = new Uint8Array(4096);
let view = new DataView(message.buffer);

/**
 * H(0x10 ‖ u8 state ‖ u8 flags ‖ 0 ‖ u32 dimension ‖ u64 id ‖ u64 tag ‖ u64 inserted time_ms ‖ u32 metadata length ‖
 * u32 text length ‖ vector ‖ metadata ‖ text). A record deleted for good has the empty leaf instead.
 */
export function leafHash({ state, id, tag, insertedMs, vector, metadata, text }: LeafRecord): Uint8Array {
  const metadataAt = VECTOR_AT + vector.length;
  const textAt = metadataAt + (metadata?.length ?? 0);
  const end = textAt + (text?.length ?? 0);
  if (end > message.length) grow(end);
  message[0] = DOMAIN.stateLeaf;
  message[AT.state] = state;
  message[AT.flags] = (metadata === null ? 0 : FLAG.metadata) | (text === null ? 0 : FLAG.text);
  view.setUint32(AT.dimension, vector.length / 4, true);
  writeU64(view, AT.id, id);
  writeU64(view, AT.tag, tag);
  writeU64(view, AT.insertedMs, insertedMs);
  view.setUint32(AT.metadataLength, metadata?.length ?? 0, true);
  view.setUint32(AT.textLength, text?.length ?? 0, true);
  message.set(vector, VECTOR_AT);
  if (metadata !== null) message.set(metadata, metadataAt);
  if (text !== null) message.set(text, textAt);
  return hash(message.subarray(0, end));
}

/** The largest record met decides how large the message is; it is kept, since the next is likely of the same size. */
function grow(sizeBytes: number): void {
  message = new Uint8Array(2 ** Math.ceil(Math.log2(sizeBytes)));
  view = new DataView(message.buffer);
}
