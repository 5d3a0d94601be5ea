/** Inputs within the limits that cost far more than their size: each meets one weakness of an engine or a library. */

type Json = Readonly<Record<string, unknown>>;

/** The largest body. */
export const BODY_BYTES = 32 << 20;
/** UTF-8 of metadata, of a text, of a payload. */
export const FIELD_BYTES = 65_536;
/** Longest string whose characters V8 hashes; a longer one is hashed by its length only. */
export const HASHED_CHARS = 16_383;
/** Characters of the longest key in JSON. */
export const KEY_CHARS = 1_024;
const INTEGERS = 2 ** 31;
const HASHES = 2 ** 32;

/** Different names of one length. */
export const names = (count: number, chars = 4, prefix = ''): string[] =>
  Array.from({ length: count }, (_, i) => prefix + i.toString(36).padStart(chars, '_'));

export const keyed = (keys: readonly string[], value: unknown = 1): Json =>
  Object.fromEntries(keys.map((key) => [key, value]));

/** Nested objects, each below a key of `chars`. */
export function nested(levels: number, chars: number, innermost: unknown): object {
  let value = innermost;
  for (let level = 0; level < levels; level++) value = { ['n'.repeat(chars)]: value };
  return value as object;
}

/** Metadata of short keys in long paths, longer than V8 hashes. */
export const longPaths = (): object => nested(17, 1_000, keyed(names(4_000)));

/** Metadata of 65,000 bytes with as many keys as fit. `prefix`: of all keys. */
export const manyKeys = (prefix = ''): object => keyed(names(Math.floor(65_000 / (9 + prefix.length)), 4, prefix));

/** A letter, and combining marks in the wrong order: sorting them takes quadratic time. */
export function combiningMarks(bytes = FIELD_BYTES): string {
  const each = Math.floor((bytes - 1) / 4);
  return `a${'\u0301'.repeat(each)}${'\u0316'.repeat(each)}`;
}

/** Different words, as many as fit a text. */
export function differentWords(first = 0): string {
  const words: string[] = [];
  let bytes = 0;
  for (let i = first; ; i++) {
    const word = i.toString(36);
    bytes += word.length + 1;
    if (bytes > FIELD_BYTES) return words.join(' ');
    words.push(word);
  }
}

/** Different words with an ending that costs a stemmer much, as many as fit a text. */
export function inflectedWords(first = 0): string {
  let words = '';
  for (let i = first; ; i++) {
    const word = `${i.toString(36)}acoesmente `;
    if (words.length + word.length > FIELD_BYTES) return words;
    words += word;
  }
}

/** Whole numbers that share one bucket of a `Map` of so many: V8's hash of numbers, inverted. */
export function collidingIntegers(count: number): number[] {
  const buckets = 2 ** (Math.ceil(Math.log2(count)) - 1);
  const found: number[] = [];
  for (let hash = 0; hash < HASHES && found.length < count; hash += buckets) {
    const whole = wholeOfHash(hash);
    // Larger numbers are doubles, with another hash.
    if (whole < INTEGERS) found.push(whole);
  }
  return found;
}

function wholeOfHash(hash: number): number {
  let mixed = unshifted(hash, 16);
  mixed = unshifted(Math.imul(mixed, inverse(2_057)) >>> 0, 4);
  mixed = unshifted(Math.imul(mixed, inverse(5)) >>> 0, 12);
  return Math.imul(mixed + 1, inverse(32_767)) >>> 0;
}

/** The inverse of an odd number modulo 2^32. */
function inverse(odd: number): number {
  let found = odd;
  for (let i = 0; i < 5; i++) found = Math.imul(found, 2 - Math.imul(odd, found));
  return found >>> 0;
}

/** The number whose exclusive or with itself, shifted to the right, is `mixed`. */
function unshifted(mixed: number, bits: number): number {
  let found = mixed;
  for (let known = bits; known < 32; known += bits) found = mixed ^ (found >>> bits);
  return found >>> 0;
}

/** A filter with the most conditions and values. `path`: the path of a condition. */
export function largestFilter(path: (i: number) => string, value: (i: number) => unknown): object {
  const conditions = Array.from({ length: 128 }, (_, i) => ({
    [path(i)]: { nin: Array.from({ length: 32 }, (_, j) => value(32 * i + j)) },
  }));
  return { $and: conditions };
}
