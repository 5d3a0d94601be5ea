/**
 * Counts the depth, arrays, objects and members of JSON from its bytes, before it is parsed: JSON.parse takes half a
 * microsecond for each, so a body of brackets could block a thread for seconds. Long keys are refused here for the same
 * reason: V8 hashes a string of more than 16,383 characters by its length alone, so each such key is compared with all others.
 *
 * Strings are found with the runtime's own search, and numbers are skipped 16 bytes at a time: on a body of vectors this
 * takes a few percent of the time of JSON.parse.
 */
import { VouchError } from '../errors/errors.js';
import { JSON_KEY_MAX_BYTES } from '../limits.js';

/** Arrays and objects in one body: about 0.3 s of parsing. */
const CONTAINERS_MAX = 1_000_000;

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

export interface JsonCounts {
  /** Arrays, objects and strings, also keys: the cost of parsing beside the bytes. */
  readonly pieces: number;
  /** Members of all objects; a repeated key is counted each time. */
  readonly members: number;
}

const invalid = (message: string): VouchError => new VouchError('validation_error', message);

/**
 * Throws `validation_error` if `json` nests deeper than `depthMax`, has a key of more than `JSON_KEY_MAX_BYTES`, or too many
 * arrays and objects. Ill-formed JSON is left to the parser.
 */
export function assertNesting(json: Buffer, depthMax: number, path = '$'): JsonCounts {
  const words = wordsOf(json);
  let depth = 0;
  let members = 0;
  let containers = 0;
  let strings = 0;
  let plainBytes = 0;
  let quote = -1;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]!;
    if (byte === QUOTE) {
      const open = i;
      i = endOfString(json, open);
      strings += 1;
      if (isColonNext(json, i + 1)) {
        members += 1;
        if (i - open - 1 > JSON_KEY_MAX_BYTES)
          throw invalid(`${path} has a key of ${i - open - 1} bytes: at most ${JSON_KEY_MAX_BYTES} are allowed`);
      }
      plainBytes = 0;
    } else if (byte === ARRAY || byte === OBJECT) {
      depth += 1;
      containers += 1;
      plainBytes = 0;
      if (depth > depthMax) throw invalid(`${path} nests deeper than the ${depthMax} levels allowed`);
      if (containers > CONTAINERS_MAX) throw invalid(`${path} holds more than ${CONTAINERS_MAX} arrays and objects`);
    } else if (byte === ARRAY_END || byte === OBJECT_END) {
      depth -= 1;
      plainBytes = 0;
    } else if (++plainBytes === NEAR_BYTES) {
      if (quote < i) quote = nextQuote(json, i);
      i = skipBlocks(words, i + 1, quote) - 1;
      plainBytes = 0;
    }
  }
  return { pieces: containers + strings, members };
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
