/**
 * What a receipt says and what its event hash says: the event is made anew from the receipt, and from the record where that
 * is given. A proof that an event is in a log shows nothing of the receipt's leaves and roots, so this is what ties the
 * record to the log where the log itself is not at hand.
 */
import { eventHash, u8, u32, u64 } from './hashing.js';
import type { Proof } from './receipt.js';
import type { RecordValues } from './records.js';

/** The record as it was after the write, and the request id it was sent with. */
export interface ToldRecord {
  readonly values: RecordValues | 'deleted';
  readonly requestId: Uint8Array | null;
}

const INSERT = 2;
const SOFT_DELETE = 3;
const DELETE = 4;
const UPDATE_METADATA = 5;
const NO_REQUEST_ID = Buffer.alloc(16);

/**
 * What the receipt's event does, where it is just the event that receipt and record tell; undefined where it is another, or
 * where they do not tell all of it: an insert wants the record, and so does an update of metadata.
 */
export function eventTold(proof: Proof, record?: ToldRecord): string | undefined {
  const told = eventsTold(proof, record);
  return told.find(([, type, payload]) => eventHash(eventBytes(proof, type, payload)).equals(proof.eventHash))?.[0];
}

type ToldEvent = readonly [what: string, type: number, payload: Buffer];

function eventsTold({ kind, recordId, newLeaf }: Proof, record: ToldRecord | undefined): ToldEvent[] {
  const values = record === undefined || record.values === 'deleted' ? undefined : record.values;
  if (kind === 'insert')
    return values === undefined ? [] : [['insert', INSERT, insertPayload(values, record!.requestId)]];
  if (newLeaf.every((byte) => byte === 0)) return [['delete', DELETE, u64(recordId)]];
  const softDelete: ToldEvent = ['soft delete', SOFT_DELETE, u64(recordId)];
  if (!values?.metadata) return [softDelete];
  return [softDelete, ['update of metadata', UPDATE_METADATA, updatePayload(recordId, values.metadata)]];
}

const eventBytes = ({ sequence, timeMs }: Proof, type: number, payload: Buffer): Buffer =>
  Buffer.concat([u8(1), u8(type), Buffer.alloc(6), u64(sequence), u64(timeMs), payload]);

function insertPayload(values: RecordValues, requestId: Uint8Array | null): Buffer {
  const { id, tag, vector, metadata, text } = values;
  const flags = (requestId ? 1 : 0) + (metadata ? 2 : 0) + (text ? 4 : 0);
  const lengths = [u32(metadata?.length ?? 0), u32(text?.length ?? 0), u32(vector.length / 4)];
  const fixed = [u64(id), u64(tag), requestId ?? NO_REQUEST_ID, u8(flags), Buffer.alloc(3), ...lengths];
  return Buffer.concat([...fixed, vector, metadata ?? Buffer.alloc(0), text ?? Buffer.alloc(0)]);
}

const updatePayload = (recordId: bigint, metadata: Uint8Array): Buffer =>
  Buffer.concat([u64(recordId), u32(metadata.length), Buffer.alloc(4), metadata]);
