/** Encodings of the formats, for Node and browsers alike: little-endian integers, hex, base64url and UTF-8. */

const utf8Encoder = new TextEncoder();
const utf8Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const toUtf8 = (text: string): Uint8Array => utf8Encoder.encode(text);

/** Throws a TypeError if the bytes are not UTF-8. */
export const fromUtf8 = (bytes: Uint8Array): string => utf8Decoder.decode(bytes);

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const BYTES = Array.from({ length: 256 }, (_, value) => Uint8Array.of(value));

/** A shared array: do not change it. */
export const u8 = (value: number): Uint8Array => BYTES[value] as Uint8Array;

export const u16 = (value: number): Uint8Array => Uint8Array.of(value, value >>> 8);

export const u32 = (value: number): Uint8Array => Uint8Array.of(value, value >>> 8, value >>> 16, value >>> 24);

export function u64(value: bigint): Uint8Array {
  const [low, high] = [Number(value & 0xffff_ffffn), Number(value >> 32n)];
  return Uint8Array.of(low, low >>> 8, low >>> 16, low >>> 24, high, high >>> 8, high >>> 16, high >>> 24);
}

export const readU32 = (bytes: Uint8Array, at: number): number =>
  (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;

export const readU64 = (bytes: Uint8Array, at: number): bigint =>
  (BigInt(readU32(bytes, at + 4)) << 32n) | BigInt(readU32(bytes, at));

const HEX = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0'));

/** Lowercase. */
export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += HEX[byte];
  return text;
}

/** `text`: an even number of hex digits. */
export const fromHex = (text: string): Uint8Array =>
  Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16));

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Undefined unless `text` is the one canonical encoding of the bytes: without padding, and with unused bits zero. */
export function fromBase64url(text: unknown): Uint8Array | undefined {
  if (typeof text !== 'string' || text.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let [pending, pendingBits, at] = [0, 0, 0];
  for (const char of text) {
    const digit = BASE64URL.indexOf(char);
    if (digit < 0) return undefined;
    pending = (pending << 6) | digit;
    pendingBits += 6;
    if (pendingBits < 8) continue;
    pendingBits -= 8;
    bytes[at++] = pending >> pendingBits;
    pending &= (1 << pendingBits) - 1;
  }
  return pending === 0 ? bytes : undefined;
}
