/**
 * The event of a receipt, rebuilt from the receipt and the record, and compared with its event hash. A proof that an event is in a
 * log does not cover the receipt's leaves and roots. So without the log itself, only this binds the record to the log.
 */
import { concat, equal, u8, u16, u32, u64 } from './bytes.js';
import { eventHash } from './hashing.js';
import type { Proof } from './receipt.js';
import { expiryFlag, expiryOf, type RecordValues } from './records.js';

/** The record after the write, and the request id of the write. */
export interface ClaimedRecord {
  readonly values: RecordValues | 'deleted';
  readonly requestId: Uint8Array | null;
}

const INSERT = 2;
const SOFT_DELETE = 3;
const DELETE = 4;
const UPDATE_METADATA = 5;
const REPLACE = 12;
const NO_REQUEST_ID = new Uint8Array(16);
const NOTHING = new Uint8Array(0);

/**
 * The name of the receipt's event, rebuilt from receipt and record; undefined if no rebuilt event matches. An insert, a
 * replacement and an update of metadata can be rebuilt only with the record.
 */
export function rebuiltEvent(proof: Proof, record?: ClaimedRecord): string | undefined {
  return possibleEvents(proof, record).find(([, type, payload]) =>
    equal(eventHash(eventBytes(proof, type, payload)), proof.eventHash),
  )?.[0];
}

type PossibleEvent = readonly [what: string, type: number, payload: Uint8Array];

function possibleEvents({ kind, recordId, newLeaf }: Proof, record: ClaimedRecord | undefined): PossibleEvent[] {
  // An event of a record under a key has its content as ciphertext.
  const isOpen = record !== undefined && record.values !== 'deleted' && record.values.underKey === undefined;
  const values = isOpen ? (record.values as RecordValues) : undefined;
  if (kind === 'insert')
    return values === undefined ? [] : [['insert', INSERT, insertPayload(values, record!.requestId)]];
  if (newLeaf.every((byte) => byte === 0)) return [['delete', DELETE, u64(recordId)]];
  const softDelete: PossibleEvent = ['soft delete', SOFT_DELETE, u64(recordId)];
  const possible = [softDelete];
  if (values?.metadata)
    possible.push(['update of metadata', UPDATE_METADATA, updatePayload(recordId, values.metadata)]);
  if (values?.externalId) possible.push(['replacement', REPLACE, insertPayload(values, record!.requestId)]);
  return possible;
}

const eventBytes = ({ sequence, timeMs, actor }: Proof, type: number, payload: Uint8Array): Uint8Array =>
  concat([u8(actor === null ? 1 : 2), u8(type), new Uint8Array(6), u64(sequence), u64(timeMs), payload]);

function insertPayload(values: RecordValues, requestId: Uint8Array | null): Uint8Array {
  const { id, tag, vector, metadata, text, externalId, expiresAtMs } = values;
  const flags =
    (requestId ? 1 : 0) + (metadata ? 2 : 0) + (text ? 4 : 0) + (externalId ? 8 : 0) + expiryFlag(expiresAtMs);
  const lengths = [u32(metadata?.length ?? 0), u32(text?.length ?? 0), u32(vector.length / 4)];
  const fixed = [
    u64(id),
    u64(tag),
    requestId ?? NO_REQUEST_ID,
    u8(flags),
    u8(0),
    u16(externalId?.length ?? 0),
    ...lengths,
  ];
  const content = [vector, metadata ?? NOTHING, text ?? NOTHING, externalId ?? NOTHING];
  return concat([...fixed, ...content, expiryOf(expiresAtMs)]);
}

const updatePayload = (recordId: bigint, metadata: Uint8Array): Uint8Array =>
  concat([u64(recordId), u32(metadata.length), new Uint8Array(4), metadata]);
