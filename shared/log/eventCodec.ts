import { Malformed } from '../errors/malformed.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import { KEY_ID_BYTES, REQUEST_ID_BYTES, TIME_MAX_MS } from '../limits.js';
import type { Actor } from '../model/actor.js';
import type { DeleteMany, Event, EventHead, Genesis, UpdateMetadata } from './event.js';
import {
  assertBytes,
  assertDimension,
  assertHolds,
  assertLength,
  assertZero,
  type ByteView,
  byteView,
  readDimension,
  readId,
  readString,
  writeId,
} from './eventBytes.js';
import { readFixed, writeFixed } from './eventFixed.js';
import { readInsert, readInsertEncrypted, writeInsert, writeInsertEncrypted } from './eventInsert.js';
import {
  CONFIG_FLAG,
  DELETE_MANY,
  EVENT_END_BYTES,
  EVENT_TYPE,
  EVENT_VERSION,
  EVENT_VERSION_WITHOUT_ACTOR,
  EXPIRY_BYTES,
  eventSizeBytes,
  eventTypeOf,
  GENESIS,
  METRIC_SQUARED_L2,
  PAYLOAD_AT,
  SHRED_KEY,
  UPDATE,
} from './eventLayout.js';
import { readUnderKey, writeUnderKey } from './eventUnderKey.js';
import { readText, writeText } from './genesisText.js';

/** Encodes everything except the actor. Throws RangeError for a number out of range, or a field of the wrong length. */
export function encodeEvent(event: Event): Uint8Array {
  const target = byteView(new Uint8Array(eventSizeBytes(event)));
  writeEvent(event, target, 0);
  return target.bytes;
}

/** Writes `event` at `at`, where the target must be zero, and returns its end. Throws like `encodeEvent`. */
export function writeEvent(event: Event, target: ByteView, at: number): number {
  const end = at + eventSizeBytes(event);
  if (end - at >= EVENT_END_BYTES) throw new RangeError(`an event of ${end - at} bytes; the limit is 16 MiB`);
  if ((event.type === 'genesis') !== (event.sequence === 0))
    throw new RangeError('the genesis, and nothing else, has sequence 0');
  if (event.timeMs > TIME_MAX_MS) throw notADate(event.timeMs);
  target.view.setUint8(at, event.actor === null ? EVENT_VERSION_WITHOUT_ACTOR : EVENT_VERSION);
  target.view.setUint8(at + 1, EVENT_TYPE[event.type]);
  writeU64(target.view, at + 8, event.sequence);
  writeU64(target.view, at + 16, event.timeMs);
  writePayload(event, target, at);
  if ('expiresAtMs' in event && event.expiresAtMs !== undefined) writeExpiry(event.expiresAtMs, target, end);
  return end;
}

/** Writes the last field of an event that ends at `end`. */
function writeExpiry(expiresAtMs: number, { view }: ByteView, end: number): void {
  if (expiresAtMs < 1 || expiresAtMs > TIME_MAX_MS) throw notADate(expiresAtMs);
  writeU64(view, end - EXPIRY_BYTES, expiresAtMs);
}

const notADate = (timeMs: number): RangeError => new RangeError(`a time of ${timeMs} ms, which no date can be`);

function writePayload(event: Event, target: ByteView, at: number): void {
  const { bytes, view } = target;
  switch (event.type) {
    case 'genesis':
      writeGenesis(event, target, at);
      return;
    case 'insert':
    case 'replace':
      writeInsert(event, target, at);
      return;
    case 'insertEncrypted':
      writeInsertEncrypted(event, target, at);
      return;
    case 'insertUnderKey':
    case 'replaceUnderKey':
    case 'updateUnderKey':
      writeUnderKey(event, target, at);
      return;
    case 'updateMetadata':
      writeId(view, at + UPDATE.recordId, event.recordId);
      view.setUint32(at + UPDATE.metadataLength, event.metadata.length, true);
      bytes.set(event.metadata, at + UPDATE.metadata);
      return;
    case 'shredKey':
      assertBytes(event.keyId, KEY_ID_BYTES, 'a key id');
      bytes.set(event.keyId, at + SHRED_KEY.keyId);
      return;
    case 'deleteMany':
      assertBytes(event.requestId, REQUEST_ID_BYTES, 'a request id');
      if (event.deleted === 0) throw new RangeError('the end of no deletion');
      bytes.set(event.requestId, at + DELETE_MANY.requestId);
      view.setUint32(at + DELETE_MANY.deleted, event.deleted, true);
      return;
    default:
      writeFixed(event, view, at);
  }
}

function writeGenesis(event: Genesis, { bytes, view }: ByteView, at: number): void {
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
  const flags = (event.normalise ? CONFIG_FLAG.normalise : 0) | (event.text ? CONFIG_FLAG.text : 0);
  view.setUint8(at + GENESIS.flags, flags);
  bytes.set(project, at + GENESIS.project);
  bytes.set(name, at + GENESIS.project + project.length);
  if (event.text) writeText(event.text, { bytes, view }, at + GENESIS.project + project.length + name.length);
}

/** Decodes exactly one event. `actor`: the actor beside it; null for an event of version 1. Throws Malformed. */
export const decodeEvent = (bytes: Uint8Array, actor: Actor | null = null): Event =>
  readEvent(byteView(bytes), 0, bytes.length, actor);

/** Whether the event of these bytes has an actor beside it. Throws Malformed for an unknown version. */
export function hasActor({ view }: ByteView, at: number): boolean {
  const version = view.getUint8(at);
  if (version !== EVENT_VERSION && version !== EVENT_VERSION_WITHOUT_ACTOR)
    throw new Malformed(
      `event version ${version}; this program knows ${EVENT_VERSION_WITHOUT_ACTOR} and ${EVENT_VERSION}`,
      at,
    );
  return version === EVENT_VERSION;
}

/** The event at `at` to `end`. Throws Malformed, with offsets counted from the first byte of `source`. */
export function readEvent(source: ByteView, at: number, end: number, actor: Actor | null): Event {
  if (end - at < PAYLOAD_AT) throw new Malformed('an event shorter than its header', at);
  const { view, bytes } = source;
  if (hasActor(source, at) !== (actor !== null))
    throw new Malformed(actor === null ? 'an event without its actor' : 'an event of version 1 with an actor', at);
  assertZero(source, at + 2, at + 8);
  const head = headOf(view, at, actor);
  switch (head.type) {
    case 'genesis':
      return readGenesis(head, source, at, end);
    case 'insert':
    case 'replace':
      return readInsert(head, source, at, end);
    case 'insertEncrypted':
      return readInsertEncrypted(head, source, at, end);
    case 'insertUnderKey':
    case 'replaceUnderKey':
    case 'updateUnderKey':
      return readUnderKey(head, source, at, end);
    case 'updateMetadata':
      return readUpdate(head, source, at, end);
    case 'shredKey':
      assertLength(at, end, SHRED_KEY.end);
      return { ...head, keyId: bytes.subarray(at + SHRED_KEY.keyId, end) };
    case 'deleteMany':
      return readDeleteMany(head, source, at, end);
    default:
      return readFixed(head, source, at, end);
  }
}

/** Reads type, sequence and time of the event at `at`. */
function headOf(view: DataView, at: number, actor: Actor | null): EventHead {
  const sequence = readU64(view, at + 8);
  const timeMs = readU64(view, at + 16);
  if (timeMs > TIME_MAX_MS) throw new Malformed('a time that no date can be', at + 16);
  const number = view.getUint8(at + 1);
  const type = eventTypeOf(number);
  if (type === undefined) throw new Malformed(`event type ${number} is not known to this program`, at + 1);
  if ((type === 'genesis') !== (sequence === 0))
    throw new Malformed('the genesis, and nothing else, has sequence 0', at + 8);
  return { type, sequence, timeMs, actor } as EventHead;
}

function readGenesis({ timeMs, actor }: EventHead<'genesis'>, source: ByteView, at: number, end: number): Genesis {
  const { view } = source;
  assertHolds(at, end, GENESIS.project);
  const metric = view.getUint8(at + GENESIS.metric);
  if (metric !== METRIC_SQUARED_L2) throw new Malformed(`metric ${metric} is not known`, at + GENESIS.metric);
  const flags = view.getUint8(at + GENESIS.flags);
  if ((flags & ~(CONFIG_FLAG.normalise | CONFIG_FLAG.text)) !== 0)
    throw new Malformed(`genesis flags ${flags} are not known`, at + GENESIS.flags);
  const projectEnd = GENESIS.project + view.getUint8(at + GENESIS.projectLength);
  const nameEnd = projectEnd + view.getUint8(at + GENESIS.nameLength);
  const text = (flags & CONFIG_FLAG.text) === 0 ? undefined : readText(source, at, nameEnd, end);
  if (text === undefined) assertLength(at, end, nameEnd);
  if (projectEnd === GENESIS.project || nameEnd === projectEnd)
    throw new Malformed('a genesis without a project or a name', at + GENESIS.projectLength);
  return {
    type: 'genesis',
    sequence: 0,
    timeMs,
    actor,
    collectionId: readU64(view, at + GENESIS.collectionId),
    dimension: readDimension(view, at + GENESIS.dimension),
    metric: 'squared_l2',
    ...((flags & CONFIG_FLAG.normalise) !== 0 && { normalise: true }),
    ...(text && { text }),
    project: readString(source, at + GENESIS.project, at + projectEnd),
    name: readString(source, at + projectEnd, at + nameEnd),
  };
}

function readUpdate(
  { type, sequence, timeMs, actor }: EventHead<'updateMetadata'>,
  source: ByteView,
  at: number,
  end: number,
): UpdateMetadata {
  const { bytes, view } = source;
  assertHolds(at, end, UPDATE.metadata);
  const metadataLength = view.getUint32(at + UPDATE.metadataLength, true);
  assertZero(source, at + UPDATE.metadataLength + 4, at + UPDATE.metadata);
  assertLength(at, end, UPDATE.metadata + metadataLength);
  const recordId = readId(view, at + UPDATE.recordId, 'record');
  return { type, sequence, timeMs, actor, recordId, metadata: bytes.subarray(at + UPDATE.metadata, end) };
}

function readDeleteMany(
  { type, sequence, timeMs, actor }: EventHead<'deleteMany'>,
  source: ByteView,
  at: number,
  end: number,
): DeleteMany {
  const { bytes, view } = source;
  assertLength(at, end, DELETE_MANY.end);
  assertZero(source, at + DELETE_MANY.deleted + 4, end);
  const deleted = view.getUint32(at + DELETE_MANY.deleted, true);
  if (deleted === 0) throw new Malformed('the end of no deletion', at + DELETE_MANY.deleted);
  const requestId = bytes.subarray(at + DELETE_MANY.requestId, at + DELETE_MANY.deleted);
  return { type, sequence, timeMs, actor, requestId, deleted };
}
