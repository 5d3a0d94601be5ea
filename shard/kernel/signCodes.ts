/**
 * One-bit codes on the side of the host: their layout, and the coder. `assembly/signs.ts` has the method (RaBitQ) and
 * the formats. A code takes dimension / 8 bytes and two f32.
 */
import { SeededNumbers } from '../../shared/seededNumbers.js';
import { Arena } from './arena.js';

/** Rotated vectors are padded with zeros to a multiple of this many components. */
const UNIT = 64;
const NUMBER_BYTES = Float32Array.BYTES_PER_ELEMENT;
const NUMBERS_BYTES = 2 * NUMBER_BYTES;
const BYTE_BITS = 8;
/** Header of a query in the kernel; see `assembly/signs.ts`. */
const QUERY_HEADER_BYTES = 32;
const TABLES_BYTES = 32;
/** Rows whose codes are interleaved byte by byte, as the kernel compares them. */
const GROUP_ROWS = 16;
const SEED = 0x2545f491;

const rotatedDimension = (dimension: number): number => Math.ceil(dimension / UNIT) * UNIT;
const signBytesOf = (dimension: number): number => rotatedDimension(dimension) / BYTE_BITS;

/** Returns the bytes of a sign code with its two numbers. */
export const signCodeBytes = (dimension: number): number => signBytesOf(dimension) + NUMBERS_BYTES;

/** Rounds a number of rows up to whole groups. */
export const wholeGroups = (rows: number): number => Math.ceil(rows / GROUP_ROWS) * GROUP_ROWS;

/** Returns the bytes of a rotated vector in the kernel. */
export const rotatedBytes = (dimension: number): number => rotatedDimension(dimension) * NUMBER_BYTES;

/** Returns the bytes of a query in the kernel. */
export const signQueryBytes = (dimension: number): number =>
  QUERY_HEADER_BYTES + rotatedBytes(dimension) + signBytesOf(dimension) * TABLES_BYTES;

/** Writes a query to the kernel's memory; `enterSigns` comes next. */
export function writeSignQuery(buffer: SharedArrayBuffer, address: number, rotated: Float32Array): void {
  new Uint32Array(buffer, address, 1)[0] = rotated.length / BYTE_BITS;
  new Float32Array(buffer, address + QUERY_HEADER_BYTES, rotated.length).set(rotated);
}

/** Rotation of vectors, and its buffers in the coders' memory. */
interface Rotation {
  /** Components of a transform. */
  readonly size: number;
  readonly rounds: number;
  readonly flips: number;
  readonly vector: Float32Array;
  readonly code: Uint8Array;
}

/** Bytes of the memory that the coders of a thread share. Each call uses it from its beginning to its end. */
const WORK_BYTES = 1 << 22;
let work: Arena | undefined;
const rotations = new Map<number, Rotation>();

function rotationOf(dimension: number): Rotation {
  const components = rotatedDimension(dimension);
  const known = rotations.get(components);
  if (known !== undefined) return known;
  const rotation = makeRotation(components);
  rotations.set(components, rotation);
  return rotation;
}

/** Makes the rotation. Its flips must never change: saved codes depend on them. */
function makeRotation(components: number): Rotation {
  work ??= new Arena(WORK_BYTES);
  const size = 2 ** Math.floor(Math.log2(components));
  const rounds = size === components ? 2 : 4;
  const flipBytes = (rounds * components) / BYTE_BITS;
  const codeBytes = components / BYTE_BITS + NUMBERS_BYTES;
  const vector = work.allocate(components * NUMBER_BYTES + flipBytes + codeBytes);
  if (vector === undefined) throw new Error(`no memory for the rotation of ${components} components`);
  const flips = vector + components * NUMBER_BYTES;
  const bits = new Uint8Array(work.buffer, flips, flipBytes);
  const numbers = new SeededNumbers(SEED);
  for (let at = 0; at < rounds * components; at++) if (numbers.next() < 0.5) bits[at >>> 3]! |= 1 << (at & 7);
  return {
    size,
    rounds,
    flips,
    vector: new Float32Array(work.buffer, vector, components),
    code: new Uint8Array(work.buffer, flips + flipBytes, codeBytes),
  };
}

/**
 * Encodes vectors of one dimension as signs. It rotates the difference of a vector from an origin, so that its length
 * spreads over all components and each sign carries most information.
 */
export class SignCoder {
  readonly #rotation: Rotation;

  constructor(readonly dimension: number) {
    this.#rotation = rotationOf(dimension);
  }

  /** Returns a copy of the rotated difference. */
  rotated(components: Int32Array, origin: Int32Array): Float32Array {
    return this.#rotate(components, origin).slice();
  }

  /** Returns the code of the difference. The next call of any coder overwrites it. */
  encode(components: Int32Array, origin: Int32Array): Uint8Array {
    const { code } = this.#rotation;
    const { byteOffset, length } = this.#rotate(components, origin);
    work!.kernel.encodeSigns(byteOffset, length, code.byteOffset);
    return code;
  }

  #rotate(components: Int32Array, origin: Int32Array): Float32Array {
    const { vector, size, rounds, flips } = this.#rotation;
    const { dimension } = this;
    for (let i = 0; i < dimension; i++) vector[i] = components[i]! - origin[i]!;
    vector.fill(0, dimension);
    work!.kernel.rotate(vector.byteOffset, vector.length, size, rounds, flips);
    return vector;
  }
}

/** The codes of rows in the kernel's memory, in groups. */
export class SignCodes {
  readonly #bytes: Uint8Array;
  readonly #signBytes: number;

  /** `rows`: whole groups; `codeBytes`: bytes of a code with its numbers. */
  constructor(
    buffer: SharedArrayBuffer,
    readonly address: number,
    rows: number,
    private readonly codeBytes: number,
  ) {
    this.#signBytes = codeBytes - NUMBERS_BYTES;
    this.#bytes = new Uint8Array(buffer, address, rows * codeBytes);
  }

  write(row: number, code: Uint8Array): void {
    const bytes = this.#bytes;
    for (let i = 0; i < this.codeBytes; i++) bytes[this.#placeOf(row, i)] = code[i]!;
  }

  erase(row: number): void {
    for (let i = 0; i < this.codeBytes; i++) this.#bytes[this.#placeOf(row, i)] = 0;
  }

  /** Copies the code of a row that has been written. */
  read(row: number, into: Uint8Array): void {
    for (let i = 0; i < this.codeBytes; i++) into[i] = this.#bytes[this.#placeOf(row, i)]!;
  }

  /** Offset of byte `i` of a row's code. */
  #placeOf(row: number, i: number): number {
    const lane = row % GROUP_ROWS;
    const group = (row - lane) * this.codeBytes;
    if (i < this.#signBytes) return group + i * GROUP_ROWS + lane;
    const inNumbers = i - this.#signBytes;
    const inNumber = inNumbers % NUMBER_BYTES;
    return group + this.#signBytes * GROUP_ROWS + (inNumbers - inNumber) * GROUP_ROWS + lane * NUMBER_BYTES + inNumber;
  }
}
