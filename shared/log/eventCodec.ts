/** Encodes and decodes events by `eventLayout.ts`. The reader refuses every event that the writer cannot make. */
import { isUtf8 } from 'node:buffer';
import { Malformed } from '../errors/malformed.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import {
  DIMENSION_MAX,
  EXTERNAL_ID_MAX_BYTES,
  GCM_TAG_BYTES,
  KEY_ID_BYTES,
  NONCE_BYTES,
  REQUEST_ID_BYTES,
  TIME_MAX_MS,
} from '../limits.js';
import type { Actor } from '../model/actor.js';
import type { DeleteMany, Event, EventHeader, Genesis, Insert, InsertEncrypted, Replace } from './event.js';
import {
  assertBytes,
  assertHolds,
  assertLength,
  assertZero,
  type ByteView,
  byteView,
  readExpiry,
  readId,
  writeId,
} from './eventBytes.js';
import { fixedTypeOf, readFixed, writeFixed } from './eventFixed.js';
import {
  CONFIG_FLAG,
  DELETE_MANY,
  EVENT_END_BYTES,
  EVENT_TYPE,
  EVENT_VERSION,
  EVENT_VERSION_WITHOUT_ACTOR,
  EXPIRY_BYTES,
  eventSizeBytes,
  FLAG,
  GENESIS,
  INSERT,
  INSERT_ENCRYPTED,
  METRIC_SQUARED_L2,
  PAYLOAD_AT,
  SHRED_KEY,
  UPDATE,
} from './eventLayout.js';
import { readUnderKey, typeUnderKey, writeUnderKey } from './eventUnderKey.js';
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

function writeInsert(event: Insert | Replace, target: ByteView, at: number): void {
  const { vector, metadata, text, externalId } = event;
  const { bytes, view } = target;
  const dimension = vector.length / 4;
  assertDimension(dimension);
  const flags = (metadata === null ? 0 : FLAG.metadata) | (text === null ? 0 : FLAG.text);
  writeInserted(event, flags | (externalId === null ? 0 : FLAG.externalId), target, at);
  view.setUint32(at + INSERT.metadataLength, metadata?.length ?? 0, true);
  view.setUint32(at + INSERT.textLength, text?.length ?? 0, true);
  view.setUint32(at + INSERT.dimension, dimension, true);
  const metadataAt = at + INSERT.vector + vector.length;
  bytes.set(vector, at + INSERT.vector);
  if (metadata !== null) bytes.set(metadata, metadataAt);
  if (text !== null) bytes.set(text, metadataAt + (metadata?.length ?? 0));
  if (externalId === null) return;
  if (externalId.length < 1 || externalId.length > EXTERNAL_ID_MAX_BYTES)
    throw new RangeError(`an external id of ${externalId.length} bytes`);
  view.setUint16(at + INSERT.externalIdLength, externalId.length, true);
  bytes.set(externalId, metadataAt + (metadata?.length ?? 0) + (text?.length ?? 0));
}

function writeInsertEncrypted(event: InsertEncrypted, target: ByteView, at: number): void {
  const { keyId, nonce, ciphertext } = event;
  const { bytes, view } = target;
  assertBytes(keyId, KEY_ID_BYTES, 'a key id');
  assertBytes(nonce, NONCE_BYTES, 'a nonce');
  if (ciphertext.length < GCM_TAG_BYTES) throw new RangeError('a ciphertext without its tag');
  writeInserted(event, 0, target, at);
  view.setUint32(at + INSERT_ENCRYPTED.ciphertextLength, ciphertext.length, true);
  bytes.set(keyId, at + INSERT_ENCRYPTED.keyId);
  bytes.set(nonce, at + INSERT_ENCRYPTED.nonce);
  bytes.set(ciphertext, at + INSERT_ENCRYPTED.ciphertext);
}

function writeInserted(
  event: Insert | Replace | InsertEncrypted,
  flags: number,
  { bytes, view }: ByteView,
  at: number,
): void {
  const { recordId, tag, requestId, expiresAtMs } = event;
  writeId(view, at + INSERT.recordId, recordId);
  writeU64(view, at + INSERT.tag, tag);
  if (requestId !== null) {
    assertBytes(requestId, REQUEST_ID_BYTES, 'a request id');
    bytes.set(requestId, at + INSERT.requestId);
  }
  view.setUint8(
    at + INSERT.flags,
    flags | (requestId === null ? 0 : FLAG.requestId) | (expiresAtMs === undefined ? 0 : FLAG.expiry),
  );
}

function assertDimension(dimension: number): void {
  if (!(Number.isInteger(dimension) && dimension >= 1 && dimension <= DIMENSION_MAX))
    throw new RangeError(`a dimension of ${dimension}`);
}

type Dated = Pick<Event, EventHeader>;

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
  const dated = { sequence: readU64(view, at + 8), timeMs: readU64(view, at + 16), actor };
  if (dated.timeMs > TIME_MAX_MS) throw new Malformed('a time that no date can be', at + 16);
  const type = view.getUint8(at + 1);
  if ((type === EVENT_TYPE.genesis) !== (dated.sequence === 0))
    throw new Malformed('the genesis, and nothing else, has sequence 0', at + 8);
  switch (type) {
    case EVENT_TYPE.genesis:
      return readGenesis(source, at, end, dated);
    case EVENT_TYPE.insert:
      return readInsert('insert', source, at, end, dated);
    case EVENT_TYPE.replace:
      return readInsert('replace', source, at, end, dated);
    case EVENT_TYPE.insertEncrypted:
      return readInsertEncrypted(source, at, end, dated);
    case EVENT_TYPE.updateMetadata: {
      assertHolds(at, end, UPDATE.metadata);
      const metadataLength = view.getUint32(at + UPDATE.metadataLength, true);
      assertZero(source, at + UPDATE.metadataLength + 4, at + UPDATE.metadata);
      assertLength(at, end, UPDATE.metadata + metadataLength);
      const recordId = readId(view, at + UPDATE.recordId, 'record');
      return { type: 'updateMetadata', ...dated, recordId, metadata: bytes.subarray(at + UPDATE.metadata, end) };
    }
    case EVENT_TYPE.shredKey:
      assertLength(at, end, SHRED_KEY.end);
      return { type: 'shredKey', ...dated, keyId: bytes.subarray(at + SHRED_KEY.keyId, end) };
    case EVENT_TYPE.deleteMany:
      return readDeleteMany(source, at, end, dated);
    default: {
      const fixed = fixedTypeOf(type);
      if (fixed !== undefined) return readFixed(fixed, source, at, end, dated);
      const underKey = typeUnderKey(type);
      if (underKey !== undefined) return readUnderKey(underKey, source, at, end, dated);
      throw new Malformed(`event type ${type} is not known to this program`, at + 1);
    }
  }
}

function readGenesis(source: ByteView, at: number, end: number, { timeMs, actor }: Dated): Genesis {
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

function readInsert(
  type: 'insert' | 'replace',
  source: ByteView,
  at: number,
  end: number,
  { sequence, timeMs, actor }: Dated,
): Insert | Replace {
  const { bytes, view } = source;
  assertHolds(at, end, INSERT.vector);
  const vectorEnd = INSERT.vector + 4 * readDimension(view, at + INSERT.dimension);
  const metadataEnd = vectorEnd + view.getUint32(at + INSERT.metadataLength, true);
  const textEnd = metadataEnd + view.getUint32(at + INSERT.textLength, true);
  const fieldsEnd = textEnd + view.getUint16(at + INSERT.externalIdLength, true);
  const flags = view.getUint8(at + INSERT.flags);
  assertLength(at, end, fieldsEnd + ((flags & FLAG.expiry) === 0 ? 0 : EXPIRY_BYTES));
  assertFlags(source, at, flags);
  const text = (flags & FLAG.text) === 0 ? null : bytes.subarray(at + metadataEnd, at + textEnd);
  if (text !== null && !isUtf8(text)) throw new Malformed('text that is not UTF-8', at + metadataEnd);
  const externalId = (flags & FLAG.externalId) === 0 ? null : bytes.subarray(at + textEnd, at + fieldsEnd);
  if (externalId !== null) assertExternalId(externalId, at + textEnd);
  else if (type === 'replace') throw new Malformed('a replacement without an external id', at + INSERT.flags);
  // One literal for both types: a spread would double the cost.
  const event = {
    type,
    sequence,
    timeMs,
    actor,
    recordId: readId(view, at + INSERT.recordId, 'record'),
    tag: readU64(view, at + INSERT.tag),
    requestId: (flags & FLAG.requestId) === 0 ? null : bytes.subarray(at + INSERT.requestId, at + INSERT.flags),
    vector: bytes.subarray(at + INSERT.vector, at + vectorEnd),
    metadata: (flags & FLAG.metadata) === 0 ? null : bytes.subarray(at + vectorEnd, at + metadataEnd),
    text,
    externalId,
  } as Insert | Replace;
  return (flags & FLAG.expiry) === 0 ? event : { ...event, expiresAtMs: readExpiry(view, end) };
}

function assertExternalId(externalId: Uint8Array, at: number): void {
  if (externalId.length < 1 || externalId.length > EXTERNAL_ID_MAX_BYTES)
    throw new Malformed(`an external id of ${externalId.length} bytes`, at);
  if (!isUtf8(externalId)) throw new Malformed('an external id that is not UTF-8', at);
}

/** Throws Malformed if a field has content and its flag is not set. */
function assertFlags(source: ByteView, at: number, flags: number): void {
  const { view } = source;
  if ((flags & ~(FLAG.requestId | FLAG.metadata | FLAG.text | FLAG.externalId | FLAG.expiry)) !== 0)
    throw new Malformed(`insert flags ${flags} are not known`, at + INSERT.flags);
  assertZero(source, at + INSERT.flags + 1, at + INSERT.externalIdLength);
  if ((flags & FLAG.requestId) === 0)
    assertZero(source, at + INSERT.requestId, at + INSERT.requestId + REQUEST_ID_BYTES);
  if ((flags & FLAG.metadata) === 0 && view.getUint32(at + INSERT.metadataLength, true) !== 0)
    throw new Malformed('metadata without its flag', at + INSERT.metadataLength);
  if ((flags & FLAG.text) === 0 && view.getUint32(at + INSERT.textLength, true) !== 0)
    throw new Malformed('text without its flag', at + INSERT.textLength);
  if ((flags & FLAG.externalId) === 0 && view.getUint16(at + INSERT.externalIdLength, true) !== 0)
    throw new Malformed('an external id without its flag', at + INSERT.externalIdLength);
}

function readInsertEncrypted(source: ByteView, at: number, end: number, dated: Dated): InsertEncrypted {
  const { bytes, view } = source;
  const part = (from: number, to: number): Uint8Array => bytes.subarray(at + from, at + to);
  assertHolds(at, end, INSERT_ENCRYPTED.ciphertext);
  const ciphertextLength = view.getUint32(at + INSERT_ENCRYPTED.ciphertextLength, true);
  const flags = view.getUint8(at + INSERT_ENCRYPTED.flags);
  const ciphertextEnd = INSERT_ENCRYPTED.ciphertext + ciphertextLength;
  const hasExpiry = (flags & FLAG.expiry) !== 0;
  assertLength(at, end, ciphertextEnd + (hasExpiry ? EXPIRY_BYTES : 0));
  if (ciphertextLength < GCM_TAG_BYTES)
    throw new Malformed('a ciphertext without its tag', at + INSERT_ENCRYPTED.ciphertextLength);
  if ((flags & ~(FLAG.requestId | FLAG.expiry)) !== 0)
    throw new Malformed(`flags ${flags} of an encrypted insert are not known`, at + INSERT_ENCRYPTED.flags);
  const hasRequestId = (flags & FLAG.requestId) !== 0;
  if (!hasRequestId) assertZero(source, at + INSERT_ENCRYPTED.requestId, at + INSERT_ENCRYPTED.flags);
  assertZero(source, at + INSERT_ENCRYPTED.flags + 1, at + INSERT_ENCRYPTED.ciphertextLength);
  assertZero(source, at + INSERT_ENCRYPTED.nonce + NONCE_BYTES, at + INSERT_ENCRYPTED.ciphertext);
  return {
    type: 'insertEncrypted',
    ...dated,
    recordId: readId(view, at + INSERT_ENCRYPTED.recordId, 'record'),
    tag: readU64(view, at + INSERT_ENCRYPTED.tag),
    requestId: hasRequestId ? part(INSERT_ENCRYPTED.requestId, INSERT_ENCRYPTED.flags) : null,
    keyId: part(INSERT_ENCRYPTED.keyId, INSERT_ENCRYPTED.nonce),
    nonce: part(INSERT_ENCRYPTED.nonce, INSERT_ENCRYPTED.nonce + NONCE_BYTES),
    ciphertext: part(INSERT_ENCRYPTED.ciphertext, ciphertextEnd),
    ...(hasExpiry && { expiresAtMs: readExpiry(view, end) }),
  };
}

function readDeleteMany(source: ByteView, at: number, end: number, dated: Dated): DeleteMany {
  const { bytes, view } = source;
  assertLength(at, end, DELETE_MANY.end);
  assertZero(source, at + DELETE_MANY.deleted + 4, end);
  const deleted = view.getUint32(at + DELETE_MANY.deleted, true);
  if (deleted === 0) throw new Malformed('the end of no deletion', at + DELETE_MANY.deleted);
  const requestId = bytes.subarray(at + DELETE_MANY.requestId, at + DELETE_MANY.deleted);
  return { type: 'deleteMany', ...dated, requestId, deleted };
}

function readDimension(view: DataView, at: number): number {
  const dimension = view.getUint32(at, true);
  if (dimension < 1 || dimension > DIMENSION_MAX) throw new Malformed(`a dimension of ${dimension}`, at);
  return dimension;
}

function readString({ bytes }: ByteView, at: number, end: number): string {
  const utf8 = bytes.subarray(at, end);
  if (!isUtf8(utf8)) throw new Malformed('a name that is not UTF-8', at);
  return Buffer.from(utf8).toString();
}
