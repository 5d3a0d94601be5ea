/** The body of an encrypted insert: base64 to bytes, and nothing of it into any message. */
import { assertInsertEncrypted } from '../contract/encrypted.js';
import { invalid } from '../contract/refusal.js';
import type { BodyBounds } from './bounds.js';

export function prepareInsertEncrypted(value: unknown, bounds: BodyBounds) {
  const { payload, collection, key_id, tag } = assertInsertEncrypted(value);
  return {
    collection: collection ?? null,
    payload: payloadBytes(payload, bounds),
    keyId: key_id ?? null,
    tag: tag ?? 0,
  };
}

/**
 * Only what encoding would give again: the standard alphabet, padded, no bit set that no byte has. A payload that is too
 * large is refused as metadata and text are, since it is a field that is wrong and not the body.
 */
function payloadBytes(base64: string, { payloadBytes: max }: BodyBounds): Uint8Array {
  const sizeBytes = Math.floor((base64.length / 4) * 3);
  // Before anything is decoded; up to two characters of padding count as bytes here.
  if (sizeBytes > max + 2) throw tooLarge(max);
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('base64') !== base64) throw invalid('$.payload is not base64');
  if (bytes.length > max) throw tooLarge(max);
  return Uint8Array.from(bytes);
}

const tooLarge = (max: number): Error => invalid(`$.payload: at most ${max} bytes are allowed`);
