/** Bytes to events, as `eventLayout.ts` lays them out. Whatever could not have been written is refused. */
import { isUtf8 } from 'node:buffer';
import { EDGE_KINDS, NODE_KINDS } from '../graph.js';
import { DIMENSION_MAX, GCM_TAG_BYTES, NONCE_BYTES, REQUEST_ID_BYTES, TIME_MAX_MS } from '../limits.js';
import { Malformed } from '../malformed.js';
import { readU64 } from '../u64.js';
import type { AddEdge, AddNode, Event, Genesis, Insert, InsertEncrypted } from './event.js';
import {
  DELETION,
  EDGE,
  EVENT_TYPE,
  EVENT_VERSION,
  FLAG,
  GENESIS,
  INSERT,
  INSERT_ENCRYPTED,
  METRIC_SQUARED_L2,
  NODE,
  PAYLOAD_AT,
  SHRED_KEY,
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
  if (dated.timeMs > TIME_MAX_MS) throw new Malformed('a time that no date can be', at + 16);
  const type = view.getUint8(at + 1);
  if ((type === EVENT_TYPE.genesis) !== (dated.sequence === 0))
    throw new Malformed('the genesis, and nothing else, has sequence 0', at + 8);
  switch (type) {
    case EVENT_TYPE.genesis:
      return readGenesis(source, at, end, dated);
    case EVENT_TYPE.insert:
      return readInsert(source, at, end, dated);
    case EVENT_TYPE.softDelete:
      return { type: 'softDelete', ...dated, recordId: readDeletion(source, at, end, 'record') };
    case EVENT_TYPE.delete:
      return { type: 'delete', ...dated, recordId: readDeletion(source, at, end, 'record') };
    case EVENT_TYPE.updateMetadata: {
      assertHolds(at, end, UPDATE.metadata);
      const metadataLength = view.getUint32(at + UPDATE.metadataLength, true);
      assertZero(source, at + UPDATE.metadataLength + 4, at + UPDATE.metadata);
      assertLength(at, end, UPDATE.metadata + metadataLength);
      const recordId = readId(view, at + UPDATE.recordId, 'record');
      return { type: 'updateMetadata', ...dated, recordId, metadata: source.bytes.subarray(at + UPDATE.metadata, end) };
    }
    case EVENT_TYPE.insertEncrypted:
      return readInsertEncrypted(source, at, end, dated);
    case EVENT_TYPE.shredKey:
      assertLength(at, end, SHRED_KEY.end);
      return { type: 'shredKey', ...dated, keyId: source.bytes.subarray(at + SHRED_KEY.keyId, end) };
    case EVENT_TYPE.addNode:
      return readNode(source, at, end, dated);
    case EVENT_TYPE.deleteNode:
      return { type: 'deleteNode', ...dated, nodeId: readDeletion(source, at, end, 'node') };
    case EVENT_TYPE.addEdge:
      return readEdge(source, at, end, dated);
    case EVENT_TYPE.deleteEdge:
      return { type: 'deleteEdge', ...dated, edgeId: readDeletion(source, at, end, 'edge') };
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
    recordId: readId(view, at + INSERT.recordId, 'record'),
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

function readInsertEncrypted(source: Source, at: number, end: number, { sequence, timeMs }: Dated): InsertEncrypted {
  const { bytes, view } = source;
  assertHolds(at, end, INSERT_ENCRYPTED.ciphertext);
  const ciphertextLength = view.getUint32(at + INSERT_ENCRYPTED.ciphertextLength, true);
  assertLength(at, end, INSERT_ENCRYPTED.ciphertext + ciphertextLength);
  if (ciphertextLength < GCM_TAG_BYTES)
    throw new Malformed('a ciphertext without its tag', at + INSERT_ENCRYPTED.ciphertextLength);
  const flags = view.getUint8(at + INSERT_ENCRYPTED.flags);
  if ((flags & ~FLAG.requestId) !== 0)
    throw new Malformed(`flags ${flags} of an encrypted insert are not known`, at + INSERT_ENCRYPTED.flags);
  const hasRequestId = flags !== 0;
  if (!hasRequestId) assertZero(source, at + INSERT_ENCRYPTED.requestId, at + INSERT_ENCRYPTED.flags);
  assertZero(source, at + INSERT_ENCRYPTED.flags + 1, at + INSERT_ENCRYPTED.ciphertextLength);
  assertZero(source, at + INSERT_ENCRYPTED.nonce + NONCE_BYTES, at + INSERT_ENCRYPTED.ciphertext);
  const requestId = bytes.subarray(at + INSERT_ENCRYPTED.requestId, at + INSERT_ENCRYPTED.flags);
  return {
    type: 'insertEncrypted',
    sequence,
    timeMs,
    recordId: readId(view, at + INSERT_ENCRYPTED.recordId, 'record'),
    tag: readU64(view, at + INSERT_ENCRYPTED.tag),
    requestId: hasRequestId ? requestId : null,
    keyId: bytes.subarray(at + INSERT_ENCRYPTED.keyId, at + INSERT_ENCRYPTED.nonce),
    nonce: bytes.subarray(at + INSERT_ENCRYPTED.nonce, at + INSERT_ENCRYPTED.nonce + NONCE_BYTES),
    ciphertext: bytes.subarray(at + INSERT_ENCRYPTED.ciphertext, end),
  };
}

function readNode(source: Source, at: number, end: number, dated: Dated): AddNode {
  const { view } = source;
  assertLength(at, end, NODE.end);
  const nodeId = readId(view, at + NODE.nodeId, 'node');
  const recordId = readU64(view, at + NODE.recordId) || null;
  const kind = readKind(view, at + NODE.kind, NODE_KINDS);
  assertZero(source, at + NODE.kind + 1, end);
  return { type: 'addNode', ...dated, nodeId, recordId, kind };
}

function readEdge(source: Source, at: number, end: number, dated: Dated): AddEdge {
  const { view } = source;
  assertLength(at, end, EDGE.end);
  const edgeId = readId(view, at + EDGE.edgeId, 'edge');
  const from = readId(view, at + EDGE.from, 'node');
  const to = readId(view, at + EDGE.to, 'node');
  const kind = readKind(view, at + EDGE.kind, EDGE_KINDS);
  assertZero(source, at + EDGE.kind + 1, end);
  return { type: 'addEdge', ...dated, edgeId, from, to, kind };
}

type Named = 'record' | 'node' | 'edge';

function readDeletion({ view }: Source, at: number, end: number, what: Named): number {
  assertLength(at, end, DELETION.end);
  return readId(view, at + DELETION.id, what);
}

function readId(view: DataView, at: number, what: Named): number {
  const id = readU64(view, at);
  if (id === 0) throw new Malformed(`${what} id 0`, at);
  return id;
}

function readKind(view: DataView, at: number, kinds: readonly string[]): number {
  const kind = view.getUint8(at);
  if (kinds[kind] === undefined) throw new Malformed(`a kind of ${kind}`, at);
  return kind;
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
