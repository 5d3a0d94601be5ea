/**
 * Ed25519 with the strictness of the formats (RFC 8032, section 5.1.7, without the cofactor, like OpenSSL). WebCrypto is not used:
 * older browsers lack Ed25519 in it, and implementations accept different keys and signatures.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha512 } from '@noble/hashes/sha2.js';
import { concat, equal, readU64 } from './bytes.js';

const { Point } = ed25519;
type PublicPoint = ReturnType<typeof Point.fromBytes>;
const ORDER = Point.Fn.ORDER;

/**
 * Why 32 bytes are not an acceptable public key; undefined if they are one. Under a key of small order a forged signature holds for
 * any text, or for one text in a few. A second encoding of a point would be a second name of its signer.
 */
export function weaknessOf(publicKey: Uint8Array): string | undefined {
  const point = decoded(publicKey);
  if (point === undefined) return 'it is not a point of the curve';
  if (point.isSmallOrder()) return 'it is of small order: anyone can sign under it';
  return equal(point.toBytes(), publicKey) ? undefined : 'it is not encoded as RFC 8032 asks';
}

/** Whether `signature` (64 bytes) is valid for `message` under `publicKey` (32 bytes), which must have no weakness. */
export function isSigned(message: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): boolean {
  const [r, s] = [signature.subarray(0, 32), numberOf(signature.subarray(32))];
  const point = decoded(publicKey);
  if (point === undefined || s >= ORDER) return false;
  const k = numberOf(sha512(concat([r, publicKey, message]))) % ORDER;
  return equal(Point.BASE.multiplyUnsafe(s).subtract(point.multiplyUnsafe(k)).toBytes(), r);
}

function decoded(publicKey: Uint8Array): PublicPoint | undefined {
  try {
    return Point.fromBytes(publicKey, true);
  } catch {
    return undefined;
  }
}

/** Little-endian; `bytes` are a multiple of 8. */
function numberOf(bytes: Uint8Array): bigint {
  let value = 0n;
  for (let at = bytes.length - 8; at >= 0; at -= 8) value = (value << 64n) | readU64(bytes, at);
  return value;
}
