/** Standard base64 (RFC 4648, section 4), the encoding of bytes in notes and proofs of transparency logs. */
import { fromBase64url } from '../bytes.js';

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at;
    const bits = (bytes[at]! << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    text += DIGITS[bits >> 18]! + DIGITS[(bits >> 12) & 63]!;
    text += left > 1 ? DIGITS[(bits >> 6) & 63]! : '=';
    text += left > 2 ? DIGITS[bits & 63]! : '=';
  }
  return text;
}

/** Undefined unless `text` is the one canonical encoding of the bytes, with its padding. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  return fromBase64url(text.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_'));
}
