/**
 * How deep JSON nests and how many arrays and objects it holds, found by looking at its bytes before it is parsed:
 * JSON.parse takes half a microsecond for each, so a body of brackets could hold a thread for seconds.
 *
 * Strings are found with the runtime's own search, and numbers between them passed 16 bytes at a time: on a body of
 * vectors this takes a few percent of the time JSON.parse takes.
 */
import { invalid } from '../contract/refusal.js';

/** Arrays and objects in one body: about 0.3 s of parsing. */
const CONTAINERS_MAX = 1_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
/** After so many bytes without a bracket or a quote, long numbers are likely: what follows is passed in blocks. */
const NEAR_BYTES = 32;
const BLOCK_BYTES = 16;

/** Throws `validation_error` where `json` nests deeper than `depthMax`. Ill-formed JSON is left for the parser. */
export function assertNesting(json: Buffer, depthMax: number, path = '$'): void {
  const words = wordsOf(json);
  let depth = 0;
  let containers = 0;
  let plainBytes = 0;
  let quote = -1;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]!;
    if (byte === QUOTE) {
      i = endOfString(json, i);
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
}

/** The whole words of the buffer's memory that lie within it, and where the first of them begins. */
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
 * Where to look on: at `from`, or past every whole block that ends before `to` and holds no bracket. Begins at a word,
 * so a little before `from`, where the bytes are plain as well.
 */
function skipBlocks({ values, at }: Words, from: number, to: number): number {
  let i = from - ((from - at) & 3);
  for (let w = (i - at) >> 2; i + BLOCK_BYTES <= to; w += 4, i += BLOCK_BYTES) {
    // Bit 6 is set in every bracket, and in no digit, sign, dot, comma or space.
    if (((values[w]! | values[w + 1]! | values[w + 2]! | values[w + 3]!) & 0x40404040) !== 0) break;
  }
  return Math.max(from, i);
}

/** The first quote from `from` on, or the length. */
function nextQuote(json: Buffer, from: number): number {
  // A call of the runtime's search costs as much as looking at this many bytes.
  const near = Math.min(json.length, from + NEAR_BYTES);
  for (let i = from; i < near; i++) if (json[i] === QUOTE) return i;
  const far = json.indexOf(QUOTE, near);
  return far < 0 ? json.length : far;
}

/** Where the string that opens at `open` closes, or the length. */
function endOfString(json: Buffer, open: number): number {
  for (let i = nextQuote(json, open + 1); ; i = nextQuote(json, i + 1)) {
    let backslashes = 0;
    while (json[i - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0 || i >= json.length) return i;
  }
}
