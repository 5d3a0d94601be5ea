/**
 * The texts by which an index identifies values other than numbers. The hash of a long text replaces it, to save
 * memory.
 */
import { hash } from '../../shared/hashing/hash.js';
import { textDigest } from '../../shared/hashing/mapKey.js';
import { isArray, type Json, type Scalar } from '../../shared/model/filter.js';

const PLAIN_CHARS_MAX = 128;
/** Part of a long string that is kept for its order. */
const PREFIX_CHARS = 32;
/** Bytes of a hash; no collision of 16 bytes can be found. */
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

/** Returns the term of a long string: its beginning and its hash, in one string of a fixed length. */
export function longTerm(long: string): string {
  // UTF-16, in which lone surrogates differ. Copying bytes keeps the result from referencing the whole string.
  const bytes = Buffer.from(long, 'utf16le');
  const prefix = bytes.subarray(0, 2 * PREFIX_CHARS);
  return Buffer.concat([prefix, hash(bytes).subarray(0, DIGEST_BYTES)]).toString('utf16le');
}

/** Returns the JSON of a scalar: 0 for −0, and `1e999` for infinity, which JSON.parse can return. */
export function scalarJson(value: Scalar): string {
  if (typeof value !== 'number') return JSON.stringify(value);
  return Number.isFinite(value) ? String(value) : value > 0 ? '1e999' : '-1e999';
}

/**
 * Makes the terms of the values of one record or filter. Two values have one term only if they are deeply equal.
 *
 * The term of an array or object consists of the terms of its members, with keys in order. It is hashed if it is long.
 * Each is made once, so a record of many levels costs as much as a flat one of as many bytes.
 */
export class ValueTerms {
  /** Made for the first array or object: most records have none. */
  #ofContainers: Map<object, string> | undefined;

  of(value: Exclude<Json, number>): string {
    if (typeof value === 'string') return isAbridged(value) ? longTerm(value) : value;
    return this.#json(value);
  }

  #json(value: Json): string {
    if (typeof value !== 'object' || value === null) return shortened(scalarJson(value));
    this.#ofContainers ??= new Map();
    const known = this.#ofContainers.get(value);
    if (known !== undefined) return known;
    const term = shortened(isArray(value) ? this.#arrayJson(value) : this.#objectJson(value));
    this.#ofContainers.set(value, term);
    return term;
  }

  #arrayJson(array: readonly Json[]): string {
    let json = '';
    for (const value of array) json += json === '' ? this.#json(value) : `,${this.#json(value)}`;
    return `[${json}]`;
  }

  #objectJson(object: { readonly [key: string]: Json }): string {
    let json = '';
    for (const key of Object.keys(object).sort())
      json += `${json === '' ? '' : ','}${JSON.stringify(key)}:${this.#json(object[key]!)}`;
    return `{${json}}`;
  }
}

/**
 * Replaces a long text by its hash. No JSON begins with `#`, and hashes have one length, so distinct values stay
 * distinct.
 */
function shortened(json: string): string {
  if (json.length <= PLAIN_CHARS_MAX) return json;
  return `#${textDigest(json)}`;
}
