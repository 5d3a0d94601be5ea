/** Keys of a `Map` or `Set` that are made of texts which a client chose. */
import { hash } from './hash.js';

/** The longest text that is its own key. */
export const KEY_CHARS_MAX = 128;
/** A collision of hashes of 16 bytes cannot be found. */
const DIGEST_BYTES = 16;
const MARK = '#';
const LONG_MARK = '#!';
/** Whole numbers below 2^32 have so many digits at most. */
const DIGITS_MAX = 10;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const MARK_CODE = MARK.charCodeAt(0);

/** Returns the hash of a text's UTF-16, in which lone surrogates differ, with a character for each of its bytes. */
export const textDigest = (text: string): string =>
  Buffer.from(hash(Buffer.from(text, 'utf16le')).subarray(0, DIGEST_BYTES)).toString('latin1');

/**
 * Returns the key of a text in a `Map`: mostly the text itself. Different texts have different keys.
 *
 * V8 hashes strings with a secret seed, except two kinds, of which a client can make keys that all collide. Strings of more
 * than 16,383 characters are hashed by their length. Numerals are hashed by their value before Node.js 20.20.2, 22.22.2 and
 * 24.14.1.
 */
export function mapKey(text: string): string {
  if (text.length > KEY_CHARS_MAX) return LONG_MARK + textDigest(text);
  const first = text.charCodeAt(0);
  if (!(first >= MARK_CODE && first <= DIGIT_9)) return text;
  if (first === MARK_CODE) return MARK + text;
  return text.length <= DIGITS_MAX && isNumeral(text) ? MARK + text : text;
}

function isNumeral(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < DIGIT_0 || code > DIGIT_9) return false;
  }
  return true;
}
