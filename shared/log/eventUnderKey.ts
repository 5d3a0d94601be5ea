/** Encodes and decodes events of records under a key by the layout `UNDER_KEY`. */
import { Malformed } from '../errors/malformed.js';
import { GCM_TAG_BYTES, HASH_BYTES, KEY_ID_BYTES, NONCE_BYTES, REQUEST_ID_BYTES } from '../limits.js';
import type { EventHead, EventUnderKey } from './event.js';
import {
  assertBytes,
  assertHolds,
  assertLength,
  assertZero,
  type ByteView,
  readExpiry,
  readId,
  writeId,
} from './eventBytes.js';
import { EXPIRY_BYTES, FLAG, UNDER_KEY } from './eventLayout.js';

export function writeUnderKey(event: EventUnderKey, { bytes, view }: ByteView, at: number): void {
  const { recordId, requestId, keyId, nonce, commitment, ciphertext } = event;
  assertBytes(keyId, KEY_ID_BYTES, 'a key id');
  assertBytes(nonce, NONCE_BYTES, 'a nonce');
  assertBytes(commitment, HASH_BYTES, 'a commitment');
  if (ciphertext.length < GCM_TAG_BYTES) throw new RangeError('a ciphertext without its tag');
  writeId(view, at + UNDER_KEY.recordId, recordId);
  if (requestId !== null) {
    assertBytes(requestId, REQUEST_ID_BYTES, 'a request id');
    bytes.set(requestId, at + UNDER_KEY.requestId);
  }
  const expires = event.type !== 'updateUnderKey' && event.expiresAtMs !== undefined;
  view.setUint8(at + UNDER_KEY.flags, (requestId === null ? 0 : FLAG.requestId) | (expires ? FLAG.expiry : 0));
  view.setUint32(at + UNDER_KEY.ciphertextLength, ciphertext.length, true);
  bytes.set(keyId, at + UNDER_KEY.keyId);
  bytes.set(nonce, at + UNDER_KEY.nonce);
  bytes.set(commitment, at + UNDER_KEY.commitment);
  bytes.set(ciphertext, at + UNDER_KEY.ciphertext);
}

/** The event at `at` to `end`, with its content not opened. Throws Malformed. */
export function readUnderKey(
  { type, sequence, timeMs, actor }: EventHead<EventUnderKey['type']>,
  source: ByteView,
  at: number,
  end: number,
): EventUnderKey {
  const { bytes, view } = source;
  const part = (from: number, to: number): Uint8Array => bytes.subarray(at + from, at + to);
  assertHolds(at, end, UNDER_KEY.ciphertext);
  const ciphertextLength = view.getUint32(at + UNDER_KEY.ciphertextLength, true);
  const flags = view.getUint8(at + UNDER_KEY.flags);
  const hasExpiry = (flags & FLAG.expiry) !== 0;
  const ciphertextEnd = UNDER_KEY.ciphertext + ciphertextLength;
  assertLength(at, end, ciphertextEnd + (hasExpiry ? EXPIRY_BYTES : 0));
  if (ciphertextLength < GCM_TAG_BYTES)
    throw new Malformed('a ciphertext without its tag', at + UNDER_KEY.ciphertextLength);
  const known = type === 'updateUnderKey' ? FLAG.requestId : FLAG.requestId | FLAG.expiry;
  if ((flags & ~known) !== 0)
    throw new Malformed(`flags ${flags} of an event under a key are not known`, at + UNDER_KEY.flags);
  assertZero(source, at + UNDER_KEY.recordId + 8, at + UNDER_KEY.requestId);
  const hasRequestId = (flags & FLAG.requestId) !== 0;
  if (!hasRequestId) assertZero(source, at + UNDER_KEY.requestId, at + UNDER_KEY.flags);
  assertZero(source, at + UNDER_KEY.flags + 1, at + UNDER_KEY.ciphertextLength);
  assertZero(source, at + UNDER_KEY.nonce + NONCE_BYTES, at + UNDER_KEY.commitment);
  // One literal: a spread would double the cost.
  const event: EventUnderKey = {
    type,
    sequence,
    timeMs,
    actor,
    recordId: readId(view, at + UNDER_KEY.recordId, 'record'),
    requestId: hasRequestId ? part(UNDER_KEY.requestId, UNDER_KEY.flags) : null,
    keyId: part(UNDER_KEY.keyId, UNDER_KEY.nonce),
    nonce: part(UNDER_KEY.nonce, UNDER_KEY.nonce + NONCE_BYTES),
    commitment: part(UNDER_KEY.commitment, UNDER_KEY.ciphertext),
    ciphertext: part(UNDER_KEY.ciphertext, ciphertextEnd),
    content: null,
  };
  return hasExpiry ? Object.assign(event, { expiresAtMs: readExpiry(view, end) }) : event;
}
