/** Vectors as text of JSON, a few times as fast as `JSON.stringify`. */
import { FIXED_ONE } from '../../shared/limits.js';

/** `-32768.00000,` */
const COMPONENT_BYTES = 13;
/** Five decimals tell any two neighbouring 65536ths apart: the service rounds them to the very same one. */
const DECIMALS = 5;
const DECIMALS_ONE = 10 ** DECIMALS;
const FRACTION_BITS = Math.log2(FIXED_ONE);
/** A length, a dot and the decimals, in a power of two. */
const ENTRY_BYTES = 8;

const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** The bytes of `[[…],[…]]`, of vectors in Q16.16. */
export function vectorsText(vectors: readonly Int32Array[]): Buffer {
  const components = vectors.reduce((sum, { length }) => sum + length, 0);
  const bytes = Buffer.allocUnsafe(components * COMPONENT_BYTES + 3 * vectors.length + 2);
  let at = 0;
  bytes[at++] = OPEN;
  for (const [i, vector] of vectors.entries()) {
    if (i > 0) bytes[at++] = COMMA;
    bytes[at++] = OPEN;
    for (let j = 0; j < vector.length; j++) {
      if (j > 0) bytes[at++] = COMMA;
      at = writeComponent(bytes, at, vector[j]!);
    }
    bytes[at++] = CLOSE;
  }
  bytes[at++] = CLOSE;
  return bytes.subarray(0, at);
}

/** Returns where it ends. */
function writeComponent(bytes: Buffer, begin: number, component: number): number {
  let at = begin;
  if (component < 0) bytes[at++] = MINUS;
  // −2^31 has no i32 of the other sign, but a u32.
  const size = (component < 0 ? -component : component) >>> 0;
  const whole = size >>> FRACTION_BITS;
  if (whole < 10) bytes[at++] = ZERO + whole;
  else at = writeDigits(bytes, at, whole, whole < 100 ? 2 : whole < 1_000 ? 3 : whole < 10_000 ? 4 : 5);
  const entry = (size & (FIXED_ONE - 1)) * ENTRY_BYTES;
  const length = fractions[entry]!;
  for (let i = 1; i <= length; i++) bytes[at++] = fractions[entry + i]!;
  return at;
}

function writeDigits(bytes: Uint8Array, begin: number, value: number, digits: number): number {
  let rest = value;
  for (let i = begin + digits - 1; i >= begin; i--) {
    const tens = Math.floor(rest / 10);
    bytes[i] = ZERO + rest - 10 * tens;
    rest = tens;
  }
  return begin + digits;
}

/** Of each fraction, in 65536ths: how many bytes its text has, and these. */
function fractionTexts(): Uint8Array {
  const texts = new Uint8Array(FIXED_ONE * ENTRY_BYTES);
  for (let fraction = 1; fraction < FIXED_ONE; fraction++) {
    const entry = fraction * ENTRY_BYTES;
    let decimals = Math.round((fraction * DECIMALS_ONE) / FIXED_ONE);
    let digits = DECIMALS;
    while (decimals % 10 === 0) {
      decimals /= 10;
      digits -= 1;
    }
    texts[entry] = 1 + digits;
    texts[entry + 1] = DOT;
    writeDigits(texts, entry + 2, decimals, digits);
  }
  return texts;
}

const fractions = fractionTexts();
