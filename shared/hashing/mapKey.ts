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
const IS_NUMERAL = /^\d+$/;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const MARK_CODE = MARK.charCodeAt(0);

/** Returns the hash of the UTF-16 of a text, in which lone surrogates differ, with a character for each of its bytes. */
export const textDigest = (text: string): string =>
  Buffer.from(hash(Buffer.from(text, 'utf16le')).subarray(0, DIGEST_BYTES)).toString('latin1');

/**
 * Returns a text that stands for `text` in a `Map`. Different texts have different keys. Most are their own.
 *
 * V8 hashes strings with a secret seed, with two exceptions that a client could use to make all keys collide: strings of more
 * than 16,383 characters by their length alone, and before Node.js 20.20.2, 22.22.2 and 24.14.1 numerals by their value.
 */
export function mapKey(text: string): string {
  if (text.length > KEY_CHARS_MAX) return LONG_MARK + textDigest(text);
  const first = text.charCodeAt(0);
  if (first > DIGIT_9 || first < MARK_CODE) return text;
  if (first === MARK_CODE) return MARK + text;
  return first >= DIGIT_0 && text.length <= DIGITS_MAX && IS_NUMERAL.test(text) ? MARK + text : text;
}
