/**
 * Counts the depth, arrays, objects, strings and members of JSON from its bytes. Refuses JSON that takes JSON.parse too long.
 *
 * An array, an object or a string takes at most half a microsecond. A new key takes some two microseconds: it enters a table
 * and the shape of an object. V8 hashes a string of more than 16,383 characters by its length only. So each key of that length
 * is compared with all others.
 *
 * Strings are found with the runtime's own search, and numbers are skipped 16 bytes at a time. On a body of vectors this
 * takes a few percent of the time of JSON.parse.
 */
import { hashEntropy } from '../clock.js';
import { VouchError } from '../errors/errors.js';
import { NumberTable } from '../hashing/numberTable.js';
import { JSON_DEPTH_MAX, JSON_KEY_MAX_BYTES, JSON_KEYS_MAX, JSON_MEMBERS_MAX, JSON_PIECES_MAX } from '../limits.js';

const SPACE = 0x20;
const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
/** After so many bytes without a bracket or a quote, long numbers are likely: they are skipped in blocks. */
const NEAR_BYTES = 32;
const BLOCK_BYTES = 16;
/** Bytes of a long key that a message shows. */
const SHOWN_KEY_BYTES = 32;

export interface JsonCounts {
  /** Arrays, objects and strings, also keys. */
  readonly pieces: number;
  /** Members of all objects; a repeated key is counted each time. */
  readonly members: number;
}

const invalid = (message: string): VouchError => new VouchError('validation_error', message);

interface NestingOptions {
  /** Error messages repeat no part of the JSON. */
  readonly isSecret?: boolean;
  /** Shared by all JSON of one request. */
  readonly budget?: JsonBudget;
}

/**
 * Throws `validation_error` if `json` nests deeper than `depthMax`, has a key of more than `JSON_KEY_MAX_BYTES`, or exceeds its
 * budget. The parser detects malformed JSON.
 */
export function assertNesting(
  json: Buffer,
  depthMax: number,
  path = '$',
  { isSecret = false, budget = new JsonBudget() }: NestingOptions = {},
): JsonCounts {
  let words: Words | undefined;
  let depth = 0;
  let members = 0;
  let pieces = 0;
  let plainBytes = 0;
  let quote = -1;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]!;
    if (byte === QUOTE) {
      const key = i + 1;
      i = endOfString(json, i);
      pieces += 1;
      if (isColonNext(json, i + 1)) {
        members += 1;
        if (i - key > JSON_KEY_MAX_BYTES) throw longKey(isSecret ? undefined : json.subarray(key, i), i - key, path);
      }
      plainBytes = 0;
    } else if (byte === ARRAY || byte === OBJECT) {
      depth += 1;
      pieces += 1;
      plainBytes = 0;
      if (depth > depthMax) throw tooDeep(path);
    } else if (byte === ARRAY_END || byte === OBJECT_END) {
      depth -= 1;
      plainBytes = 0;
    } else if (++plainBytes === NEAR_BYTES) {
      if (quote < i) quote = nextQuote(json, i);
      words ??= wordsOf(json);
      i = skipBlocks(words, i + 1, quote) - 1;
      plainBytes = 0;
    }
  }
  const counts = { pieces, members };
  budget.spend(json, counts, path);
  return counts;
}

/** Makes the error for JSON that nests too deeply. Only metadata and filters nest in a body, so their bound is the body's. */
export const tooDeep = (path: string): VouchError =>
  invalid(`${path} nests deeper than the ${JSON_DEPTH_MAX} levels of metadata or of a filter`);

/** Makes the error for a key that is too long. `key`: its bytes; undefined: the message must not repeat them. */
export function longKey(key: Buffer | undefined, sizeBytes: number, path: string): VouchError {
  const shown =
    key === undefined ? '' : `, which begins with ${JSON.stringify(key.toString('utf8', 0, SHOWN_KEY_BYTES))}`;
  return invalid(`${path} has a key of ${sizeBytes} bytes${shown}: at most ${JSON_KEY_MAX_BYTES} are allowed`);
}

/** Bounds all JSON of one request together: its body, and the JSON in strings of the body. */
export class JsonBudget {
  #pieces = 0;
  #members = 0;
  #keys: KeyCount | undefined;

  /** Throws `validation_error`. */
  spend(json: Buffer, { pieces, members }: JsonCounts, path: string): void {
    this.#pieces += pieces;
    this.#members += members;
    if (this.#pieces > JSON_PIECES_MAX)
      throw invalid(`${path} holds more than ${JSON_PIECES_MAX} arrays, objects and strings: send it in parts`);
    if (this.#members > JSON_MEMBERS_MAX)
      throw invalid(`${path} holds more than ${JSON_MEMBERS_MAX} members of objects: send it in parts`);
    // Few members have few keys, and need no count. So many short texts may have at most twice as many keys.
    if (this.#members <= JSON_KEYS_MAX) return;
    this.#keys ??= new KeyCount();
    this.#keys.add(json);
    if (this.#keys.size > JSON_KEYS_MAX)
      throw invalid(`${path} holds more than ${JSON_KEYS_MAX} different keys: send it in parts`);
  }
}

/** Counts different keys by a secret hash of 32 bits. Two keys rarely share one, so the count is right to a percent. */
class KeyCount {
  readonly #hashes = new NumberTable();
  readonly #secrets = new Uint32Array(hashEntropy(2 * Uint32Array.BYTES_PER_ELEMENT).slice().buffer);

  get size(): number {
    return this.#hashes.size;
  }

  /** Adds the keys of all objects, until there are too many. */
  add(json: Buffer): void {
    const start = this.#secrets[0]!;
    const factor = this.#secrets[1]! | 1;
    for (let i = nextQuote(json, 0); i < json.length && this.size <= JSON_KEYS_MAX; i = nextQuote(json, i + 1)) {
      const key = i + 1;
      i = endOfString(json, i);
      if (!isColonNext(json, i + 1)) continue;
      let hash = start;
      for (let at = key; at < i; at++) {
        hash = Math.imul(hash ^ json[at]!, factor);
        hash ^= hash >>> 15;
      }
      this.#hashes.add(hash);
    }
  }
}

/** Whether a colon follows, after white space. */
function isColonNext(json: Buffer, from: number): boolean {
  let i = from;
  while (json[i]! <= SPACE) i += 1;
  return json[i] === COLON;
}

/** The aligned words within a buffer, and the position of the first. */
interface Words {
  readonly values: Int32Array;
  readonly at: number;
}

function wordsOf(json: Buffer): Words {
  const at = -json.byteOffset & 3;
  if (at >= json.length) return { values: new Int32Array(0), at: 0 };
  return { values: new Int32Array(json.buffer, json.byteOffset + at, (json.length - at) >> 2), at };
}

/**
 * The position after all blocks from `from` to `to` without a bracket. It begins at a word, a little before `from`, where
 * the bytes are plain as well.
 */
function skipBlocks({ values, at }: Words, from: number, to: number): number {
  let i = from - ((from - at) & 3);
  for (let w = (i - at) >> 2; i + BLOCK_BYTES <= to; w += 4, i += BLOCK_BYTES) {
    // Bit 6 is set in every bracket, but in no digit, sign, dot, comma or space.
    if (((values[w]! | values[w + 1]! | values[w + 2]! | values[w + 3]!) & 0x40404040) !== 0) break;
  }
  return Math.max(from, i);
}

/** The first quote from `from` on, or the length. */
function nextQuote(json: Buffer, from: number): number {
  // A call of the runtime's search costs as much as a loop over so many bytes.
  const near = Math.min(json.length, from + NEAR_BYTES);
  for (let i = from; i < near; i++) if (json[i] === QUOTE) return i;
  const far = json.indexOf(QUOTE, near);
  return far < 0 ? json.length : far;
}

/** The closing quote of the string that opens at `open`, or the length. */
export function endOfString(json: Buffer, open: number): number {
  for (let i = nextQuote(json, open + 1); ; i = nextQuote(json, i + 1)) {
    let backslashes = 0;
    while (json[i - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0 || i >= json.length) return i;
  }
}
