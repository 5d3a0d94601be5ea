/** Bytes to events, as `eventLayout.ts` lays them out. Whatever could not have been written is refused. */
import { isUtf8 } from 'node:buffer';
import { DIMENSION_MAX, REQUEST_ID_BYTES } from '../limits.js';
import { Malformed } from '../malformed.js';
import { readU64 } from '../u64.js';
import type { Event, Genesis, Insert } from './event.js';
import {
  DELETION,
  EVENT_TYPE,
  EVENT_VERSION,
  FLAG,
  GENESIS,
  INSERT,
  METRIC_SQUARED_L2,
  PAYLOAD_AT,
  UPDATE,
} from './eventLayout.js';

/** Bytes being read, and a view of the same bytes. */
export interface Source {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** Forgets what subclass `bytes` are, so that a part of them is a Uint8Array and nothing else. */
export function sourceOf(bytes: Uint8Array): Source {
  const { buffer, byteOffset, length } = bytes;
  return { bytes: new Uint8Array(buffer, byteOffset, length), view: new DataView(buffer, byteOffset, length) };
}

type Dated = Pick<Event, 'sequence' | 'timeMs'>;

/** The event that `bytes` hold, no byte more or less. Throws Malformed. */
export const decodeEvent = (bytes: Uint8Array): Event => readEvent(sourceOf(bytes), 0, bytes.length);

/** The event at `at` to `end`. Throws Malformed, with offsets counted from the first byte of `source`. */
export function readEvent(source: Source, at: number, end: number): Event {
  if (end - at < PAYLOAD_AT) throw new Malformed('an event shorter than its header', at);
  const { view } = source;
  const version = view.getUint8(at);
  if (version !== EVENT_VERSION)
    throw new Malformed(`event version ${version}; this program knows ${EVENT_VERSION}`, at);
  assertZero(source, at + 2, at + 8);
  const dated = { sequence: readU64(view, at + 8), timeMs: readU64(view, at + 16) };
  const type = view.getUint8(at + 1);
  if ((type === EVENT_TYPE.genesis) !== (dated.sequence === 0))
    throw new Malformed('the genesis, and nothing else, has sequence 0', at + 8);
  switch (type) {
    case EVENT_TYPE.genesis:
      return readGenesis(source, at, end, dated);
    case EVENT_TYPE.insert:
      return readInsert(source, at, end, dated);
    case EVENT_TYPE.softDelete:
      return { type: 'softDelete', ...dated, recordId: readDeletion(source, at, end) };
    case EVENT_TYPE.delete:
      return { type: 'delete', ...dated, recordId: readDeletion(source, at, end) };
    case EVENT_TYPE.updateMetadata: {
      assertHolds(at, end, UPDATE.metadata);
      const metadataLength = view.getUint32(at + UPDATE.metadataLength, true);
      assertZero(source, at + UPDATE.metadataLength + 4, at + UPDATE.metadata);
      assertLength(at, end, UPDATE.metadata + metadataLength);
      const recordId = readRecordId(view, at + UPDATE.recordId);
      return { type: 'updateMetadata', ...dated, recordId, metadata: source.bytes.subarray(at + UPDATE.metadata, end) };
    }
    default:
      throw new Malformed(`event type ${type} is not known to this program`, at + 1);
  }
}

function readGenesis(source: Source, at: number, end: number, { timeMs }: Dated): Genesis {
  const { view } = source;
  assertHolds(at, end, GENESIS.project);
  const metric = view.getUint8(at + GENESIS.metric);
  if (metric !== METRIC_SQUARED_L2) throw new Malformed(`metric ${metric} is not known`, at + GENESIS.metric);
  assertZero(source, at + GENESIS.nameLength + 1, at + GENESIS.project);
  const projectEnd = GENESIS.project + view.getUint8(at + GENESIS.projectLength);
  const nameEnd = projectEnd + view.getUint8(at + GENESIS.nameLength);
  assertLength(at, end, nameEnd);
  if (projectEnd === GENESIS.project || nameEnd === projectEnd)
    throw new Malformed('a genesis without a project or a name', at + GENESIS.projectLength);
  return {
    type: 'genesis',
    sequence: 0,
    timeMs,
    collectionId: readU64(view, at + GENESIS.collectionId),
    dimension: readDimension(view, at + GENESIS.dimension),
    metric: 'squared_l2',
    project: readString(source, at + GENESIS.project, at + projectEnd),
    name: readString(source, at + projectEnd, end),
  };
}

function readInsert(source: Source, at: number, end: number, { sequence, timeMs }: Dated): Insert {
  const { bytes, view } = source;
  assertHolds(at, end, INSERT.vector);
  const vectorEnd = INSERT.vector + 4 * readDimension(view, at + INSERT.dimension);
  const metadataEnd = vectorEnd + view.getUint32(at + INSERT.metadataLength, true);
  assertLength(at, end, metadataEnd + view.getUint32(at + INSERT.textLength, true));
  const flags = view.getUint8(at + INSERT.flags);
  assertFlags(source, at, flags);
  const text = (flags & FLAG.text) === 0 ? null : bytes.subarray(at + metadataEnd, end);
  if (text !== null && !isUtf8(text)) throw new Malformed('text that is not UTF-8', at + metadataEnd);
  return {
    type: 'insert',
    sequence,
    timeMs,
    recordId: readRecordId(view, at + INSERT.recordId),
    tag: readU64(view, at + INSERT.tag),
    requestId: (flags & FLAG.requestId) === 0 ? null : bytes.subarray(at + INSERT.requestId, at + INSERT.flags),
    vector: bytes.subarray(at + INSERT.vector, at + vectorEnd),
    metadata: (flags & FLAG.metadata) === 0 ? null : bytes.subarray(at + vectorEnd, at + metadataEnd),
    text,
  };
}

/** A field whose flag is not set holds nothing. */
function assertFlags(source: Source, at: number, flags: number): void {
  const { view } = source;
  if ((flags & ~(FLAG.requestId | FLAG.metadata | FLAG.text)) !== 0)
    throw new Malformed(`insert flags ${flags} are not known`, at + INSERT.flags);
  assertZero(source, at + INSERT.flags + 1, at + INSERT.metadataLength);
  if ((flags & FLAG.requestId) === 0)
    assertZero(source, at + INSERT.requestId, at + INSERT.requestId + REQUEST_ID_BYTES);
  if ((flags & FLAG.metadata) === 0 && view.getUint32(at + INSERT.metadataLength, true) !== 0)
    throw new Malformed('metadata without its flag', at + INSERT.metadataLength);
  if ((flags & FLAG.text) === 0 && view.getUint32(at + INSERT.textLength, true) !== 0)
    throw new Malformed('text without its flag', at + INSERT.textLength);
}

function readDeletion({ view }: Source, at: number, end: number): number {
  assertLength(at, end, DELETION.end);
  return readRecordId(view, at + DELETION.recordId);
}

function readRecordId(view: DataView, at: number): number {
  const recordId = readU64(view, at);
  if (recordId === 0) throw new Malformed('record id 0', at);
  return recordId;
}

function readDimension(view: DataView, at: number): number {
  const dimension = view.getUint32(at, true);
  if (dimension < 1 || dimension > DIMENSION_MAX) throw new Malformed(`a dimension of ${dimension}`, at);
  return dimension;
}

function readString({ bytes }: Source, at: number, end: number): string {
  const utf8 = bytes.subarray(at, end);
  if (!isUtf8(utf8)) throw new Malformed('a name that is not UTF-8', at);
  return Buffer.from(utf8).toString();
}

function assertHolds(at: number, end: number, fixedBytes: number): void {
  if (end - at < fixedBytes) throw new Malformed(`an event of ${end - at} bytes where ${fixedBytes} are the least`, at);
}

function assertLength(at: number, end: number, sizeBytes: number): void {
  if (end - at !== sizeBytes) throw new Malformed(`an event of ${end - at} bytes whose fields take ${sizeBytes}`, at);
}

function assertZero({ bytes }: Source, at: number, end: number): void {
  for (let i = at; i < end; i++) if (bytes[i] !== 0) throw new Malformed('a byte that must be zero', i);
}
