/**
 * Keys of a `Map` or `Set` for texts that a client chose.
 *
 * V8 hashes strings with a secret seed, except two kinds. It hashes more than 16,383 characters by their length alone, and
 * numerals by their value before Node.js 20.20.2, 22.22.2 and 24.14.1. A client could choose such keys so that all collide.
 * None of the keys here is of either kind.
 */
import { hash } from './hash.js';

/** The longest text that is not replaced by its hash. */
const PLAIN_CHARS_MAX = 128;
/** Length of a digest for which a collision cannot be found. */
const DIGEST_BYTES = 16;
const ESCAPE_CODE = 1;
const ESCAPE = String.fromCharCode(ESCAPE_CODE);
/** Begins the key of a hashed text. No escaped text begins with it. */
const HASHED = '\0';
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/** Returns the hash of a text's UTF-16, in which lone surrogates differ, with a character for each of its bytes. */
export const textDigest = (text: string): string =>
  Buffer.from(hash(Buffer.from(text, 'utf16le')).subarray(0, DIGEST_BYTES)).toString('latin1');

/** Returns a short key for a text of any length. It is never the escaped text of another one. */
export const hashedKey = (text: string): string => HASHED + textDigest(text);

/** Returns the text with a mark before a digit at its beginning, so that no result is a numeral. Different texts stay different. */
export function escaped(text: string): string {
  const first = text.charCodeAt(0);
  return first <= ESCAPE_CODE || (first >= DIGIT_0 && first <= DIGIT_9) ? ESCAPE + text : text;
}

/** Returns the key of a text: mostly the text itself. Different texts have different keys. */
export const mapKey = (text: string): string => (text.length > PLAIN_CHARS_MAX ? hashedKey(text) : escaped(text));
