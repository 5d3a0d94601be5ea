/** Encodes and decodes inserts and replacements, plain and encrypted, by the layouts `INSERT` and `INSERT_ENCRYPTED`. */
import { isUtf8 } from 'node:buffer';
import { Malformed } from '../errors/malformed.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import { EXTERNAL_ID_MAX_BYTES, GCM_TAG_BYTES, KEY_ID_BYTES, NONCE_BYTES, REQUEST_ID_BYTES } from '../limits.js';
import type { EventHead, Insert, InsertEncrypted, Replace } from './event.js';
import {
  assertBytes,
  assertDimension,
  assertHolds,
  assertLength,
  assertZero,
  type ByteView,
  readDimension,
  readExpiry,
  readId,
  writeId,
} from './eventBytes.js';
import { EXPIRY_BYTES, FLAG, INSERT, INSERT_ENCRYPTED } from './eventLayout.js';

export function writeInsert(event: Insert | Replace, target: ByteView, at: number): void {
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

export function writeInsertEncrypted(event: InsertEncrypted, target: ByteView, at: number): void {
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

export function readInsert(
  { type, sequence, timeMs, actor }: EventHead<'insert' | 'replace'>,
  source: ByteView,
  at: number,
  end: number,
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

export function readInsertEncrypted(
  { type, sequence, timeMs, actor }: EventHead<'insertEncrypted'>,
  source: ByteView,
  at: number,
  end: number,
): InsertEncrypted {
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
    type,
    sequence,
    timeMs,
    actor,
    recordId: readId(view, at + INSERT_ENCRYPTED.recordId, 'record'),
    tag: readU64(view, at + INSERT_ENCRYPTED.tag),
    requestId: hasRequestId ? part(INSERT_ENCRYPTED.requestId, INSERT_ENCRYPTED.flags) : null,
    keyId: part(INSERT_ENCRYPTED.keyId, INSERT_ENCRYPTED.nonce),
    nonce: part(INSERT_ENCRYPTED.nonce, INSERT_ENCRYPTED.nonce + NONCE_BYTES),
    ciphertext: part(INSERT_ENCRYPTED.ciphertext, ciphertextEnd),
    ...(hasExpiry && { expiresAtMs: readExpiry(view, end) }),
  };
}
