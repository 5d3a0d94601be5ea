import { SeededNumbers } from '../../shared/seededNumbers.js';
import { Arena } from './arena.js';

/** Components that are rotated are filled up with zeros to a multiple of this. */
const UNIT = 64;
const NUMBER_BYTES = Float32Array.BYTES_PER_ELEMENT;
const NUMBERS_BYTES = 2 * NUMBER_BYTES;
const BYTE_BITS = 8;
/** Of a query in the kernel: see `assembly/signs.ts`. */
const QUERY_HEADER_BYTES = 32;
const TABLES_BYTES = 32;
/** Rows whose codes lie together, byte by byte, as the kernel compares them. */
const GROUP_ROWS = 16;
const SEED = 0x2545f491;

const rotatedDimension = (dimension: number): number => Math.ceil(dimension / UNIT) * UNIT;
const signBytesOf = (dimension: number): number => rotatedDimension(dimension) / BYTE_BITS;

/** Returns the bytes of a code of signs with its two numbers. */
export const signCodeBytes = (dimension: number): number => signBytesOf(dimension) + NUMBERS_BYTES;

/** Returns as many rows, filled up to whole groups. */
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

/** What is needed to rotate vectors, in the memory of the coders. */
interface Rotation {
  /** Components of a transform. */
  readonly size: number;
  readonly rounds: number;
  readonly flips: number;
  readonly vector: Float32Array;
  readonly code: Uint8Array;
}

/** What the coders of a thread share: each works in it from the beginning of a call to its end. */
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

/** The flips are the same everywhere and for ever: saved codes depend on them. */
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
 * Makes codes of signs of vectors of one dimension. A vector is taken as its difference from an origin, and rotated so that it is
 * spread over all components, whose signs then say as much as they can: signs are flipped and a Walsh–Hadamard transform is applied.
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

  /** Returns the code of the difference in memory that the next call of any coder writes again. */
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

/** Codes of rows in the kernel's memory, in groups. */
export class SignCodes {
  readonly #bytes: Uint8Array;
  readonly #signBytes: number;

  /** `rows`: whole groups; `codeBytes`: of a code with its numbers. */
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

  /** Copies the code of a row, which has been written. */
  read(row: number, into: Uint8Array): void {
    for (let i = 0; i < this.codeBytes; i++) into[i] = this.#bytes[this.#placeOf(row, i)]!;
  }

  /** Where byte `i` of the code of a row lies. */
  #placeOf(row: number, i: number): number {
    const lane = row % GROUP_ROWS;
    const group = (row - lane) * this.codeBytes;
    if (i < this.#signBytes) return group + i * GROUP_ROWS + lane;
    const inNumbers = i - this.#signBytes;
    const inNumber = inNumbers % NUMBER_BYTES;
    return group + this.#signBytes * GROUP_ROWS + (inNumbers - inNumber) * GROUP_ROWS + lane * NUMBER_BYTES + inNumber;
  }
}
