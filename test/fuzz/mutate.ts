/** Mutates valid inputs, from a single bit to another length. */
import type { SeededRandom } from '../support/model/random.js';

/** Values at which arithmetic and length checks tend to fail. */
const EDGES = [0, 1, 2, 4, 16, 24, 32, 64, 127, 128, 255, 256, 0x7fff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
/** Fragments for text inputs. */
const FRAGMENTS = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ',',
  ':',
  'null',
  'true',
  '-',
  '1e999',
  '-0',
  '1e-400',
  '9007199254740993',
  '0.1',
  '"__proto__"',
  '"constructor"',
  '\\u0000',
  '\\ud800',
  '\u{1f600}',
  '"$or"',
  '"gte"',
  '%00',
  '%',
  '&',
  '=',
  '..',
  '/',
]; // prettier-ignore

type Mutation = (bytes: Uint8Array, random: SeededRandom, other: Uint8Array) => Uint8Array;

const joined = (...parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));
const put = (bytes: Uint8Array, at: number, piece: Uint8Array, over: number): Uint8Array =>
  joined(bytes.subarray(0, at), piece, bytes.subarray(at + over));
/** A position in the bytes, including the end. */
const place = (bytes: Uint8Array, random: SeededRandom): number => random.int(bytes.length + 1);

const MUTATIONS: readonly Mutation[] = [
  function flipBit(bytes, random) {
    const at = random.int(bytes.length);
    return put(bytes, at, Uint8Array.of(bytes[at]! ^ (1 << random.int(8))), 1);
  },
  function setByte(bytes, random) {
    return put(bytes, random.int(bytes.length), Uint8Array.of(random.int(256)), 1);
  },
  function setNumber(bytes, random) {
    const number = new DataView(new ArrayBuffer(4));
    number.setUint32(0, random.pick(EDGES), random.int(2) === 0);
    return put(bytes, place(bytes, random), new Uint8Array(number.buffer), 4);
  },
  function cut(bytes, random) {
    return bytes.slice(0, random.int(bytes.length));
  },
  function leaveOut(bytes, random) {
    return put(bytes, place(bytes, random), new Uint8Array(), 1 + random.int(16));
  },
  function repeat(bytes, random) {
    const from = place(bytes, random);
    return put(bytes, place(bytes, random), bytes.slice(from, from + 1 + random.int(64)), 0);
  },
  function insertNoise(bytes, random) {
    const noise = Uint8Array.from({ length: 1 + random.int(8) }, () => random.int(256));
    return put(bytes, place(bytes, random), noise, 0);
  },
  function insertFragment(bytes, random) {
    return put(bytes, place(bytes, random), Buffer.from(random.pick(FRAGMENTS)), random.int(3));
  },
  function continueAsAnother(bytes, random, other) {
    return joined(bytes.subarray(0, place(bytes, random)), other.subarray(place(other, random)));
  },
];

/** One sample with one to four mutations, or sometimes only noise. */
export function mutated(samples: readonly Uint8Array[], random: SeededRandom): Uint8Array {
  if (random.int(40) === 0) return Uint8Array.from({ length: random.int(300) }, () => random.int(256));
  let bytes = random.pick(samples);
  for (let left = 1 + random.int(4); left > 0 && bytes.length > 0; left--)
    bytes = random.pick(MUTATIONS)(bytes, random, random.pick(samples));
  return bytes;
}
