/** Events to bytes, as `eventLayout.ts` lays them out. */
import { unreachable } from '../errors.js';
import { EDGE_KINDS, NODE_KINDS } from '../graph.js';
import { DIMENSION_MAX, GCM_TAG_BYTES, KEY_ID_BYTES, NONCE_BYTES, REQUEST_ID_BYTES, TIME_MAX_MS } from '../limits.js';
import { writeU64 } from '../u64.js';
import type { AddEdge, AddNode, Event, Genesis, Insert, InsertEncrypted } from './event.js';
import {
  DELETION,
  EDGE,
  EVENT_END_BYTES,
  EVENT_TYPE,
  EVENT_VERSION,
  eventSizeBytes,
  FLAG,
  GENESIS,
  INSERT,
  INSERT_ENCRYPTED,
  METRIC_SQUARED_L2,
  NODE,
  SHRED_KEY,
  UPDATE,
} from './eventLayout.js';

/** Zeroed bytes that are being filled, and a view of the same bytes. */
export interface Target {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** `sizeBytes` zeroes. */
export function newTarget(sizeBytes: number): Target {
  const bytes = new Uint8Array(sizeBytes);
  return { bytes, view: new DataView(bytes.buffer) };
}

/** Throws RangeError where the event cannot be written: a number out of range, a field of the wrong length. */
export function encodeEvent(event: Event): Uint8Array {
  const target = newTarget(eventSizeBytes(event));
  writeEvent(event, target, 0);
  return target.bytes;
}

/** Writes `event` at `at`, where the target holds zeroes, and returns where it ends. Throws as `encodeEvent`. */
export function writeEvent(event: Event, target: Target, at: number): number {
  const end = at + eventSizeBytes(event);
  if (end - at >= EVENT_END_BYTES) throw new RangeError(`an event of ${end - at} bytes; the limit is 16 MiB`);
  if ((event.type === 'genesis') !== (event.sequence === 0))
    throw new RangeError('the genesis, and nothing else, has sequence 0');
  if (event.timeMs > TIME_MAX_MS) throw new RangeError(`a time of ${event.timeMs} ms, which no date can be`);
  target.view.setUint8(at, EVENT_VERSION);
  target.view.setUint8(at + 1, EVENT_TYPE[event.type]);
  writeU64(target.view, at + 8, event.sequence);
  writeU64(target.view, at + 16, event.timeMs);
  writePayload(event, target, at);
  return end;
}

function writePayload(event: Event, target: Target, at: number): void {
  switch (event.type) {
    case 'genesis':
      writeGenesis(event, target, at);
      return;
    case 'insert':
      writeInsert(event, target, at);
      return;
    case 'softDelete':
    case 'delete':
      writeId(target.view, at + DELETION.id, event.recordId);
      return;
    case 'updateMetadata':
      writeId(target.view, at + UPDATE.recordId, event.recordId);
      target.view.setUint32(at + UPDATE.metadataLength, event.metadata.length, true);
      target.bytes.set(event.metadata, at + UPDATE.metadata);
      return;
    case 'insertEncrypted':
      writeInsertEncrypted(event, target, at);
      return;
    case 'shredKey':
      assertBytes(event.keyId, KEY_ID_BYTES, 'a key id');
      target.bytes.set(event.keyId, at + SHRED_KEY.keyId);
      return;
    case 'addNode':
      writeNode(event, target, at);
      return;
    case 'deleteNode':
      writeId(target.view, at + DELETION.id, event.nodeId);
      return;
    case 'addEdge':
      writeEdge(event, target, at);
      return;
    case 'deleteEdge':
      writeId(target.view, at + DELETION.id, event.edgeId);
      return;
    default:
      unreachable(event);
  }
}

function writeGenesis(event: Genesis, { bytes, view }: Target, at: number): void {
  assertDimension(event.dimension);
  const project = Buffer.from(event.project);
  const name = Buffer.from(event.name);
  for (const text of [project, name])
    if (text.length < 1 || text.length > 255) throw new RangeError('a project and a name have 1 to 255 bytes');
  writeU64(view, at + GENESIS.collectionId, event.collectionId);
  view.setUint32(at + GENESIS.dimension, event.dimension, true);
  view.setUint8(at + GENESIS.metric, METRIC_SQUARED_L2);
  view.setUint8(at + GENESIS.projectLength, project.length);
  view.setUint8(at + GENESIS.nameLength, name.length);
  bytes.set(project, at + GENESIS.project);
  bytes.set(name, at + GENESIS.project + project.length);
}

function writeInsert(event: Insert, { bytes, view }: Target, at: number): void {
  const { requestId, vector, metadata, text } = event;
  const dimension = vector.length / 4;
  assertDimension(dimension);
  if (requestId !== null) assertBytes(requestId, REQUEST_ID_BYTES, 'a request id');
  writeId(view, at + INSERT.recordId, event.recordId);
  writeU64(view, at + INSERT.tag, event.tag);
  if (requestId !== null) bytes.set(requestId, at + INSERT.requestId);
  view.setUint8(
    at + INSERT.flags,
    (requestId === null ? 0 : FLAG.requestId) |
      (metadata === null ? 0 : FLAG.metadata) |
      (text === null ? 0 : FLAG.text),
  );
  view.setUint32(at + INSERT.metadataLength, metadata?.length ?? 0, true);
  view.setUint32(at + INSERT.textLength, text?.length ?? 0, true);
  view.setUint32(at + INSERT.dimension, dimension, true);
  let end = at + INSERT.vector;
  bytes.set(vector, end);
  end += vector.length;
  if (metadata !== null) bytes.set(metadata, end);
  end += metadata?.length ?? 0;
  if (text !== null) bytes.set(text, end);
}

function writeInsertEncrypted(event: InsertEncrypted, { bytes, view }: Target, at: number): void {
  const { requestId, keyId, nonce, ciphertext } = event;
  if (requestId !== null) assertBytes(requestId, REQUEST_ID_BYTES, 'a request id');
  assertBytes(keyId, KEY_ID_BYTES, 'a key id');
  assertBytes(nonce, NONCE_BYTES, 'a nonce');
  if (ciphertext.length < GCM_TAG_BYTES) throw new RangeError('a ciphertext without its tag');
  writeId(view, at + INSERT_ENCRYPTED.recordId, event.recordId);
  writeU64(view, at + INSERT_ENCRYPTED.tag, event.tag);
  if (requestId !== null) bytes.set(requestId, at + INSERT_ENCRYPTED.requestId);
  view.setUint8(at + INSERT_ENCRYPTED.flags, requestId === null ? 0 : FLAG.requestId);
  view.setUint32(at + INSERT_ENCRYPTED.ciphertextLength, ciphertext.length, true);
  bytes.set(keyId, at + INSERT_ENCRYPTED.keyId);
  bytes.set(nonce, at + INSERT_ENCRYPTED.nonce);
  bytes.set(ciphertext, at + INSERT_ENCRYPTED.ciphertext);
}

function writeNode({ nodeId, recordId, kind }: AddNode, { view }: Target, at: number): void {
  assertKind(kind, NODE_KINDS);
  writeId(view, at + NODE.nodeId, nodeId);
  if (recordId !== null) writeId(view, at + NODE.recordId, recordId);
  view.setUint8(at + NODE.kind, kind);
}

function writeEdge({ edgeId, from, to, kind }: AddEdge, { view }: Target, at: number): void {
  assertKind(kind, EDGE_KINDS);
  writeId(view, at + EDGE.edgeId, edgeId);
  writeId(view, at + EDGE.from, from);
  writeId(view, at + EDGE.to, to);
  view.setUint8(at + EDGE.kind, kind);
}

function writeId(view: DataView, at: number, id: number): void {
  if (id === 0) throw new RangeError('ids begin at 1');
  writeU64(view, at, id);
}

function assertBytes(field: Uint8Array, sizeBytes: number, what: string): void {
  if (field.length !== sizeBytes) throw new RangeError(`${what} has ${sizeBytes} bytes`);
}

function assertKind(kind: number, kinds: readonly string[]): void {
  if (kinds[kind] === undefined) throw new RangeError(`a kind of ${kind}`);
}

function assertDimension(dimension: number): void {
  if (!(Number.isInteger(dimension) && dimension >= 1 && dimension <= DIMENSION_MAX))
    throw new RangeError(`a dimension of ${dimension}`);
}
