/**
 * The payload of an inverted file index, little-endian.
 *
 *   "VIVF" | u32 version | u32 dimension | u32 lists | u32 count | u32 usual shift | 8 zero bytes |
 *   centroids: lists × dimension × i32 | list of each ordinal: count × u32.
 *
 * A row that is gone has NO_LIST.
 */
import { openPayload, type PayloadPlace, writePayload } from '../store/payloadFile.js';

/** "VIVF". */
const MAGIC = 0x46564956;
const VERSION = 1;
const HEADER_WORDS = 8;
const WORD_BYTES = 4;
/** Words that are written at once, in well below a millisecond. */
const PIECE_WORDS = 1 << 16;
const SHIFT_MAX = 31;

export const NO_LIST = 0xffff_ffff;

interface PayloadHeader {
  readonly dimension: number;
  readonly lists: number;
  /** Number of ordinals. */
  readonly count: number;
  /** Shift from components to codes that suited the sample of the build; see `kMeans.ts`. */
  readonly usualShift: number;
}

export interface IvfPayload extends PayloadHeader {
  /** Components of the centroids, list by list. */
  readonly centroids: Int32Array;
  /** List of each ordinal. */
  readonly assigned: Uint32Array;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array | Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** Writes a payload to a new file. `centroidOf`: returns the components of a list's centroid. */
export function writeIvfPayload(
  place: PayloadPlace,
  header: PayloadHeader,
  centroidOf: (list: number) => Int32Array,
  assigned: Uint32Array,
): Promise<void> {
  const { dimension, lists, count, usualShift } = header;
  return writePayload(place, async (file) => {
    let offset = 0;
    const write = async (words: Int32Array | Uint32Array): Promise<void> => {
      await file.write(bytesOf(words), offset);
      offset += words.byteLength;
    };
    await write(Uint32Array.of(MAGIC, VERSION, dimension, lists, count, usualShift, 0, 0));
    const atOnce = Math.max(1, Math.floor(PIECE_WORDS / dimension));
    for (let first = 0; first < lists; first += atOnce) {
      const piece = new Int32Array(Math.min(atOnce, lists - first) * dimension);
      for (let at = 0; at < piece.length; at += dimension) piece.set(centroidOf(first + at / dimension), at);
      await write(piece);
    }
    for (let first = 0; first < count; first += PIECE_WORDS)
      await write(assigned.subarray(first, Math.min(first + PIECE_WORDS, count)));
  });
}

/** Reads a payload. Throws an Error with a message of one line if the file is inconsistent or of another dimension. */
export async function readIvfPayload(place: PayloadPlace, dimension: number): Promise<IvfPayload> {
  const file = await openPayload(place);
  try {
    const header = new Uint32Array(HEADER_WORDS);
    await file.read(bytesOf(header), 0);
    const parsed = parseHeader(header, dimension);
    const { lists, count } = parsed;
    const expectedBytes = (HEADER_WORDS + lists * dimension + count) * WORD_BYTES;
    const sizeBytes = await file.sizeBytes();
    if (sizeBytes !== expectedBytes) throw new Error(`an IVF payload of ${sizeBytes} bytes, not ${expectedBytes}`);
    const centroids = new Int32Array(lists * dimension);
    const assigned = new Uint32Array(count);
    await file.read(bytesOf(centroids), HEADER_WORDS * WORD_BYTES);
    await file.read(bytesOf(assigned), (HEADER_WORDS + lists * dimension) * WORD_BYTES);
    for (const list of assigned)
      if (list >= lists && list !== NO_LIST) throw new Error(`an IVF payload with a row in list ${list} of ${lists}`);
    return { ...parsed, centroids, assigned };
  } finally {
    await file.close();
  }
}

function parseHeader(words: Uint32Array, dimension: number): PayloadHeader {
  const [magic, version, found, lists = 0, count = 0, usualShift = 0] = words;
  if (magic !== MAGIC) throw new Error('this is not an IVF payload');
  if (version !== VERSION) throw new Error(`an IVF payload of version ${version}; this reads version ${VERSION}`);
  if (found !== dimension) throw new Error(`an IVF payload of ${found} dimensions, not ${dimension}`);
  if (lists === 0 || usualShift > SHIFT_MAX) throw new Error('an IVF payload with an invalid header');
  return { dimension, lists, count, usualShift };
}
