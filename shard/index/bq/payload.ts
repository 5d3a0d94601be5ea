/**
 * The payload of a BQ index, little-endian. The generation's manifest has its checksum.
 *
 *   "VBQ3" | u32 dimension | u32 code bytes | u32 rows |
 *   mean: i32 × dimension, padded to 16 bytes | for each ordinal a code with its two f32.
 *
 * A row that is gone has zeros.
 */
import { signCodeBytes } from '../../kernel/signCodes.js';
import { openPayload, type PayloadPlace, writePayload } from '../store/payloadFile.js';

const MAGIC = 0x33_51_42_56;
const HEADER_BYTES = 16;
const WORD_BYTES = 4;
/** Bytes of codes that are read or written at once: up to a million components. */
const STRETCH_BYTES = 128 << 10;

const codesOffset = (dimension: number): number => HEADER_BYTES + Math.ceil(dimension / 4) * 16;

const bytesOf = (words: Int32Array): Uint8Array => new Uint8Array(words.buffer, words.byteOffset, words.byteLength);

/**
 * Writes the codes of `count` ordinals to a new file. Calls `write` with a buffer of zeros, to fill with the codes of the
 * ordinals from `from` to `to`.
 */
export function writeBqPayload(
  place: PayloadPlace,
  mean: Int32Array,
  count: number,
  write: (into: Uint8Array, from: number, to: number) => void | Promise<void>,
): Promise<void> {
  return writePayload(place, async (file) => {
    const codeBytes = signCodeBytes(mean.length);
    const start = codesOffset(mean.length);
    const head = new Int32Array(start / WORD_BYTES);
    head.set([MAGIC, mean.length, codeBytes, count]);
    head.set(mean, HEADER_BYTES / WORD_BYTES);
    await file.write(bytesOf(head), 0);
    const codes = stretchOfCodes(codeBytes);
    for (const [from, to] of stretches(count, codeBytes)) {
      codes.fill(0);
      await write(codes, from, to);
      await file.write(codes.subarray(0, (to - from) * codeBytes), start + from * codeBytes);
    }
  });
}

export interface BqPayload {
  readonly mean: Int32Array;
  /** Number of ordinals. */
  readonly count: number;
  /** Reads the codes of the ordinals from `from` to `to` into the beginning of `into`. */
  readonly read: (into: Uint8Array, from: number, to: number) => Promise<void>;
}

/**
 * Opens a payload for the duration of `use`, and returns the result of that. Throws an Error with a message of one line if the
 * file is inconsistent.
 */
export async function readBqPayload<Result>(
  place: PayloadPlace,
  dimension: number,
  use: (payload: BqPayload) => Promise<Result>,
): Promise<Result> {
  const file = await openPayload(place);
  try {
    const start = codesOffset(dimension);
    const head = new Int32Array(start / WORD_BYTES);
    const headBytes = await file.read(bytesOf(head), 0);
    const [magic, storedDimension, codeBytes, count = 0] = new Uint32Array(head.buffer, 0, 4);
    if (headBytes < HEADER_BYTES || magic !== MAGIC) throw new Error('this is not a BQ payload of version 3');
    if (storedDimension !== dimension || codeBytes !== signCodeBytes(dimension))
      throw new Error(`the BQ payload is of ${storedDimension} dimensions, not of ${dimension}`);
    const sizeBytes = await file.sizeBytes();
    if (sizeBytes !== start + count * codeBytes)
      throw new Error(`the BQ payload has ${sizeBytes} bytes, not the ${start + count * codeBytes} of ${count} rows`);
    const read = async (into: Uint8Array, from: number, to: number): Promise<void> => {
      const wanted = into.subarray(0, (to - from) * codeBytes);
      const readBytes = await file.read(wanted, start + from * codeBytes);
      if (readBytes < wanted.length) throw new Error('the BQ payload ends too early');
    };
    const from = HEADER_BYTES / WORD_BYTES;
    return await use({ mean: head.slice(from, from + dimension), count, read });
  } finally {
    await file.close();
  }
}

const codesAtOnce = (codeBytes: number): number => Math.max(1, Math.floor(STRETCH_BYTES / codeBytes));

/** Returns a buffer for the codes of one stretch. */
export const stretchOfCodes = (codeBytes: number): Uint8Array => new Uint8Array(codesAtOnce(codeBytes) * codeBytes);

/** Yields the ordinals up to `count` in stretches. */
export function* stretches(count: number, codeBytes: number): Generator<readonly [from: number, to: number]> {
  const atOnce = codesAtOnce(codeBytes);
  for (let from = 0; from < count; from += atOnce) yield [from, Math.min(from + atOnce, count)];
}
