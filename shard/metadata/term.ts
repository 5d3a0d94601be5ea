/** The strings under which values are found again. */
import { canonicalJson } from '../../shared/canonicalJson.js';
import type { Json } from '../../shared/filter.js';
import { hash } from '../../shared/hash.js';

/** A longer text is not held a second time: its hash stands for it. */
export const PLAIN_CHARS_MAX = 128;
/** Of a long string, kept for its order. */
export const PREFIX_CHARS = 32;
/** Two texts of one hash of 16 bytes are not to be found. */
const DIGEST_BYTES = 16;
const BYTES_PER_CHAR = 2;

/** A long string as its beginning and its hash, in one: as many UTF-16 units for every string. */
export function abridged(long: string): string {
  // UTF-16, in which lone halves of surrogate pairs differ; and through bytes, so that nothing holds on to all of it.
  const bytes = Buffer.from(long, 'utf16le');
  const prefix = bytes.subarray(0, PREFIX_CHARS * BYTES_PER_CHAR);
  return Buffer.concat([prefix, hash(bytes).subarray(0, DIGEST_BYTES)]).toString('utf16le');
}

/** Of what is neither a string nor a number. */
export function termOf(value: Exclude<Json, string | number>): string {
  const text = canonicalJson(value);
  if (text.length <= PLAIN_CHARS_MAX) return text;
  const digest = hash(Buffer.from(text, 'utf16le')).subarray(0, DIGEST_BYTES);
  // No JSON begins with this.
  return `#${Buffer.from(digest).toString('latin1')}`;
}
