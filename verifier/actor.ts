/** The actor of an event: who made it. */
import { concat, toUtf8, u8 } from './bytes.js';
import { Reading } from './reading.js';

export interface Actor {
  /** The id of an API key; `system` for what the service does by itself. */
  readonly keyId: string;
  /** The value of the header `Vouch-On-Behalf-Of`. */
  readonly onBehalfOf?: string;
  readonly requestId?: string;
}

const KEY_ID_MAX = 64;
const TEXT_MAX = 128;

/** Throws Refused if the bytes are not exactly one actor. */
export function readActor(bytes: Uint8Array): Actor {
  const reading = new Reading(bytes, 'the actor');
  const text = (length: number, max: number): string => {
    if (length > max) reading.fail(`has a text of ${length} characters`);
    const characters = reading.take(length);
    if (characters.some((byte) => byte < 0x21 || byte > 0x7e)) reading.fail('has a text that is not visible ASCII');
    return String.fromCharCode(...characters);
  };
  const keyIdLength = reading.u8();
  if (keyIdLength === 0) reading.fail('names no key');
  const keyId = text(keyIdLength, KEY_ID_MAX);
  const onBehalfOf = text(reading.u8(), TEXT_MAX);
  const requestId = text(reading.left, TEXT_MAX);
  return { keyId, ...(onBehalfOf !== '' && { onBehalfOf }), ...(requestId !== '' && { requestId }) };
}

export function actorBytes({ keyId, onBehalfOf = '', requestId = '' }: Actor): Uint8Array {
  return concat([u8(keyId.length), toUtf8(keyId), u8(onBehalfOf.length), toUtf8(onBehalfOf), toUtf8(requestId)]);
}

/** Whether `json` is this actor, as the service writes it. */
export function isActor(json: unknown, { keyId, onBehalfOf, requestId }: Actor): boolean {
  const { key_id, on_behalf_of, request_id, ...rest } = (json ?? {}) as Readonly<Record<string, unknown>>;
  return key_id === keyId && on_behalf_of === onBehalfOf && request_id === requestId && Object.keys(rest).length === 0;
}

/** The actor for people, such as `key 7f3a… on behalf of u-17 (request r-1)`. */
export function actorText({ keyId, onBehalfOf, requestId }: Actor): string {
  const key = keyId === 'system' ? 'the service itself' : `key ${keyId}`;
  const person = onBehalfOf === undefined ? '' : ` on behalf of ${onBehalfOf}`;
  return `${key}${person}${requestId === undefined ? '' : ` (request ${requestId})`}`;
}
