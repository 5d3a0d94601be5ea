/** The texts by which an index knows values that are no numbers. A long one is not held a second time: its hash stands for it. */
import { canonicalJson } from '../../shared/hashing/canonicalJson.js';
import { hash } from '../../shared/hashing/hash.js';
import type { Json } from '../../shared/model/filter.js';

const PLAIN_CHARS_MAX = 128;
/** The part of a long string that is kept for its order. */
const PREFIX_CHARS = 32;
/** A collision of hashes of 16 bytes cannot be found. */
const DIGEST_BYTES = 16;

/** `others`: true, false, null, arrays and objects. */
export type TermKind = 'strings' | 'longStrings' | 'others';

export function kindOf(value: Exclude<Json, number>): TermKind {
  if (typeof value !== 'string') return 'others';
  return isAbridged(value) ? 'longStrings' : 'strings';
}

/** Whether it is a long string, whose term is not the string. */
export const isAbridged = (value: Json): value is string => typeof value === 'string' && value.length > PLAIN_CHARS_MAX;

export const prefixOf = (term: string): string => term.slice(0, PREFIX_CHARS);

/** The beginning and the hash of a long string, in one string of a fixed length. */
function abridged(long: string): string {
  // UTF-16, in which lone surrogates differ; and through bytes, so that the result does not keep all of the string alive.
  const bytes = Buffer.from(long, 'utf16le');
  const prefix = bytes.subarray(0, 2 * PREFIX_CHARS);
  return Buffer.concat([prefix, hash(bytes).subarray(0, DIGEST_BYTES)]).toString('utf16le');
}

/** Returns the text that stands for a value that is no number. */
export function termOf(value: Exclude<Json, number>): string {
  if (typeof value === 'string') return isAbridged(value) ? abridged(value) : value;
  const text = canonicalJson(value);
  if (text.length <= PLAIN_CHARS_MAX) return text;
  const digest = hash(Buffer.from(text, 'utf16le')).subarray(0, DIGEST_BYTES);
  // No JSON begins with this.
  return `#${Buffer.from(digest).toString('latin1')}`;
}
