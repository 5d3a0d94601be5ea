/**
 * The file of a BQ index, little-endian, checked as a whole by the generation's manifest:
 *
 *   "VBQ1" | u32 dimension | u32 code bytes | u32 rows | mean: i32 × components, in whole units of 16 bytes
 *   | a code for each ordinal, zeros for a row that is gone
 */
import { DurableFile } from '../../../shared/durable.js';
import { codeBytesOf } from './code.js';

const MAGIC = 0x31_51_42_56;
const HEADER_BYTES = 16;
const WORD_BYTES = 4;
/** Bytes that are read or written at a stretch. */
const STRETCH_BYTES = 128 << 10;

export interface PayloadHead {
  readonly mean: Int32Array;
  /** Ordinals that have a code. */
  readonly count: number;
}

const codesOffset = (dimension: number): number => HEADER_BYTES + Math.ceil(dimension / 4) * 16;

const bytesOf = (words: Uint32Array | Int32Array): Uint8Array =>
  new Uint8Array(words.buffer, words.byteOffset, words.byteLength);

/**
 * Writes the codes of `head.count` ordinals to a file that is not there yet. `write` puts the codes of the ordinals from
 * `from` to `to` one after another into zeros.
 */
export async function writePayload(
  path: string,
  { mean, count }: PayloadHead,
  write: (into: Uint32Array, from: number, to: number) => void | Promise<void>,
): Promise<void> {
  const file = await DurableFile.create(path);
  try {
    const codeBytes = codeBytesOf(mean.length);
    const start = codesOffset(mean.length);
    const head = new Int32Array(start / WORD_BYTES);
    head.set([MAGIC, mean.length, codeBytes, count]);
    head.set(mean, HEADER_BYTES / WORD_BYTES);
    await file.write(bytesOf(head), 0);
    const words = stretchOfCodes(codeBytes);
    for (const [from, to] of stretches(count, codeBytes)) {
      words.fill(0);
      await write(words, from, to);
      await file.write(bytesOf(words).subarray(0, (to - from) * codeBytes), start + from * codeBytes);
    }
  } finally {
    await file.close();
  }
}

/** Reads what `writePayload` wrote. Throws an Error of one line where the file does not hold together. */
export class PayloadReader {
  private constructor(
    private readonly file: DurableFile,
    readonly head: PayloadHead,
  ) {}

  static async open(path: string, dimension: number): Promise<PayloadReader> {
    const file = await DurableFile.open(path);
    try {
      return new PayloadReader(file, await readHead(file, dimension));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Fills the beginning of `into` with the codes of the ordinals from `from` to `to`. */
  async read(into: Uint32Array, from: number, to: number): Promise<void> {
    const dimension = this.head.mean.length;
    const codeBytes = codeBytesOf(dimension);
    const wanted = bytesOf(into).subarray(0, (to - from) * codeBytes);
    const readBytes = await this.file.read(wanted, codesOffset(dimension) + from * codeBytes);
    if (readBytes < wanted.length) throw new Error('the BQ payload ends too early');
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

type FourNumbers = readonly [number, number, number, number];

async function readHead(file: DurableFile, dimension: number): Promise<PayloadHead> {
  const start = codesOffset(dimension);
  const head = new Int32Array(start / WORD_BYTES);
  const readBytes = await file.read(bytesOf(head), 0);
  const [magic, storedDimension, codeBytes, count] = new Uint32Array(
    head.buffer,
    0,
    4,
  ) as ArrayLike<number> as FourNumbers;
  if (readBytes < HEADER_BYTES || magic !== MAGIC) throw new Error('this is no BQ payload of version 1');
  if (storedDimension !== dimension || codeBytes !== codeBytesOf(dimension))
    throw new Error(`the BQ payload is of ${storedDimension} dimensions and not of ${dimension}`);
  const sizeBytes = await file.sizeBytes();
  if (sizeBytes !== start + count * codeBytes)
    throw new Error(`the BQ payload has ${sizeBytes} bytes, which is not what ${count} rows take`);
  const from = HEADER_BYTES / WORD_BYTES;
  return { mean: head.slice(from, from + dimension), count };
}

const codesAtOnce = (codeBytes: number): number => Math.max(1, Math.floor(STRETCH_BYTES / codeBytes));

/** Room for the codes of one stretch. */
export const stretchOfCodes = (codeBytes: number): Uint32Array =>
  new Uint32Array(codesAtOnce(codeBytes) * (codeBytes / WORD_BYTES));

/** Ordinals up to `count`, as many at a time as are read or written at once. */
export function* stretches(count: number, codeBytes: number): Generator<readonly [from: number, to: number]> {
  const atOnce = codesAtOnce(codeBytes);
  for (let from = 0; from < count; from += atOnce) yield [from, Math.min(from + atOnce, count)];
}
