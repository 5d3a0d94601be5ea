/** Texts that a node signs with Ed25519 (RFC 8032), in JSON with `signature` and `public_key` in hex. */
import { toHex, toUtf8 } from './bytes.js';
import { isSigned, weaknessOf } from './ed25519.js';
import { hexOf, type JsonObject, textOf } from './json.js';

export interface SignedText {
  readonly text: string;
  /** In hex. */
  readonly publicKey: string;
}

/** The text in `field`, whose signature is verified. Throws an Error with the reason if it does not hold. */
export function signedTextIn(object: JsonObject, field: string): SignedText {
  const text = textOf(object, field);
  const publicKey = hexOf(object, 'public_key', 32);
  const weakness = weaknessOf(publicKey);
  if (weakness !== undefined) throw new Error(`its public key ${toHex(publicKey)} vouches for nothing: ${weakness}`);
  if (!isSigned(toUtf8(text), hexOf(object, 'signature', 64), publicKey))
    throw new Error('the signature is not of this text');
  return { text, publicKey: toHex(publicKey) };
}
