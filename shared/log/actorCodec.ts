/**
 * Bytes of an actor, which a frame has beside an event of version 2:
 *
 * ```text
 * u8 key id length, at least 1 | key id | u8 on-behalf-of length, 0: none | on-behalf-of | request id, to the end; empty: none
 * ```
 *
 * All texts are visible ASCII.
 */
import { Malformed } from '../errors/malformed.js';
import { ACTOR_KEY_ID_MAX, ACTOR_TEXT_MAX, type Actor, isVisibleAscii } from '../model/actor.js';

const LENGTHS_BYTES = 2;
/** Most bytes of an actor. */
export const ACTOR_BYTES_MAX = LENGTHS_BYTES + ACTOR_KEY_ID_MAX + 2 * ACTOR_TEXT_MAX;

export const actorSizeBytes = ({ keyId, onBehalfOf, requestId }: Actor): number =>
  LENGTHS_BYTES + keyId.length + (onBehalfOf?.length ?? 0) + (requestId?.length ?? 0);

/** Throws RangeError for an actor that cannot be written. */
export function encodeActor(actor: Actor): Uint8Array {
  const bytes = new Uint8Array(actorSizeBytes(actor));
  writeActor(actor, bytes, 0);
  return bytes;
}

/** Writes the bytes of an actor to `target` from `at` on. Throws RangeError for an actor that cannot be written. */
export function writeActor({ keyId, onBehalfOf, requestId }: Actor, target: Uint8Array, at: number): void {
  assertText(keyId, ACTOR_KEY_ID_MAX, 'key id');
  if (onBehalfOf !== null) assertText(onBehalfOf, ACTOR_TEXT_MAX, 'on-behalf-of');
  if (requestId !== null) assertText(requestId, ACTOR_TEXT_MAX, 'request id');
  target[at] = keyId.length;
  const namedAt = writeText(keyId, target, at + 1);
  target[namedAt] = onBehalfOf?.length ?? 0;
  writeText(requestId ?? '', target, writeText(onBehalfOf ?? '', target, namedAt + 1));
}

/** Writes ASCII, and returns its end. A Buffer would cost more for so short a text. */
function writeText(text: string, target: Uint8Array, at: number): number {
  for (let i = 0; i < text.length; i++) target[at + i] = text.charCodeAt(i);
  return at + text.length;
}

/** The actor in `bytes`. Throws Malformed, with offsets from `offset` on. */
export function decodeActor(bytes: Uint8Array, offset: number): Actor {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const keyEnd = 1 + (bytes[0] ?? 0);
  const namedAt = keyEnd + 1;
  const namedEnd = namedAt + (bytes[keyEnd] ?? 0);
  if (namedEnd > text.length || namedAt > text.length)
    throw new Malformed(`an actor of ${text.length} bytes that are not all there`, offset);
  const read = (from: number, end: number | undefined, max: number): string => {
    const part = text.slice(from, end);
    if (!isVisibleAscii(part, max)) throw new Malformed('a text of an actor that is not visible ASCII', offset + from);
    return part;
  };
  return {
    keyId: read(1, keyEnd, ACTOR_KEY_ID_MAX),
    onBehalfOf: namedEnd === namedAt ? null : read(namedAt, namedEnd, ACTOR_TEXT_MAX),
    requestId: namedEnd === text.length ? null : read(namedEnd, undefined, ACTOR_TEXT_MAX),
  };
}

function assertText(text: string, max: number, what: string): void {
  if (!isVisibleAscii(text, max)) throw new RangeError(`${what} must be 1 to ${max} visible ASCII characters`);
}
