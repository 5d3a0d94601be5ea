/**
 * The payload of an HNSW index, little-endian. The generation's manifest has its checksum.
 *
 * ```text
 * "VHN1" | u32 dimension | neighbours | construction width | is float | capacity | nodes | entry |
 * words of upper lists | u32 zero | f64 step | 16 zero bytes |
 * middles: i32 × dimension, padded to 16 bytes | ordinals: u32 × nodes | upper lists | records
 * ```
 *
 * `kernel/assembly/graph.ts` has the layout of the last two.
 */
import type { IndexParameters } from '../../../shared/model/indexSpec.js';
import { createPayload, openPayload, type PayloadPlace } from '../store/payloadFile.js';
import { type GraphMemory, type GraphShape, graphBytes, NO_NODE, REGION_BYTES_MAX } from './graphMemory.js';
import { constructionWidth, neighbours } from './parameters.js';

const MAGIC = 0x314e4856;
const HEAD_BYTES = 64;
const STEP_AT = 40;
const WORD_BYTES = 4;
/** Bytes read or written at once. */
const PIECE_BYTES = 1 << 20;

const middlesBytesOf = (dimension: number): number => 16 * Math.ceil((dimension * WORD_BYTES) / 16);

const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array | Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** Writes a graph to a new file. `ordinals`: the ordinal of each node. */
export async function writeHnswPayload(place: PayloadPlace, graph: GraphMemory, ordinals: Uint32Array): Promise<void> {
  const { count, entry, upperWords, shape } = graph;
  const { form, neighbours, constructionWidth, capacity } = shape;
  const { length: dimension } = form.middles;
  const head = new Int32Array((HEAD_BYTES + middlesBytesOf(dimension)) / WORD_BYTES);
  head.set([MAGIC, dimension, neighbours, constructionWidth, Number(form.isFloat), capacity, count, entry, upperWords]);
  new DataView(head.buffer).setFloat64(STEP_AT, form.step, true);
  head.set(form.middles, HEAD_BYTES / WORD_BYTES);
  const file = await createPayload(place);
  try {
    let offset = 0;
    for (const bytes of [bytesOf(head), bytesOf(ordinals), graph.uppers(), graph.records()])
      for (const piece of pieces(bytes)) {
        // Copy the piece, since it may change during the write.
        await file.write(piece.slice(), offset);
        offset += piece.length;
      }
  } finally {
    await file.close();
  }
}

export interface HnswPayload {
  readonly shape: GraphShape;
  /** Number of nodes. */
  readonly count: number;
  /**
   * Fills an empty graph of this shape, whose capacity may differ, and returns the ordinal of each node. Does not check
   * links. Calls `stepped` before each piece that is read.
   */
  readonly restore: (graph: GraphMemory, stepped?: () => void) => Promise<Uint32Array>;
}

/** Shape of the graph that a payload must have. */
interface ExpectedPayload {
  readonly dimension: number;
  readonly parameters: IndexParameters;
  /** Number of rows of the generation. */
  readonly rows: number;
}

/**
 * Opens a payload for the duration of `use`, and returns the result of that. Throws an Error with a message of one line if the
 * file is inconsistent, has other parameters, or has an ordinal of `rows` or more.
 */
export async function readHnswPayload<Result>(
  place: PayloadPlace,
  { dimension, parameters, rows }: ExpectedPayload,
  use: (payload: HnswPayload) => Promise<Result>,
): Promise<Result> {
  const file = await openPayload(place);
  try {
    const head = new Int32Array((HEAD_BYTES + middlesBytesOf(dimension)) / WORD_BYTES);
    const headBytes = await file.read(bytesOf(head), 0);
    const { shape, count, entry, upperWords } = headOf(head, headBytes, dimension, parameters);
    const restore: HnswPayload['restore'] = async (graph, stepped) => {
      const ordinals = new Uint32Array(count);
      let offset = HEAD_BYTES + middlesBytesOf(dimension);
      for (const bytes of [bytesOf(ordinals), graph.uppers(upperWords), graph.records(count)])
        for (const piece of pieces(bytes)) {
          stepped?.();
          if ((await file.read(piece, offset)) < piece.length)
            throw new Error(`an HNSW payload that ends before byte ${offset + piece.length}`);
          offset += piece.length;
        }
      const sizeBytes = await file.sizeBytes();
      if (sizeBytes !== offset) throw new Error(`an HNSW payload of ${sizeBytes} bytes, not ${offset}`);
      if (ordinals.some((ordinal) => ordinal >= rows))
        throw new Error(`an HNSW payload with ordinals of ${rows} and more`);
      graph.restore(count, entry, upperWords);
      return ordinals;
    };
    return await use({ shape, count, restore });
  } finally {
    await file.close();
  }
}

function headOf(head: Int32Array, headBytes: number, wanted: number, parameters: IndexParameters) {
  const [magic, dimension = 0, m = 0, width = 0, isFloat, capacity = 0, count = 0, entry = 0, upperWords = 0] =
    new Uint32Array(head.buffer, 0, HEAD_BYTES / WORD_BYTES);
  if (headBytes < head.byteLength || magic !== MAGIC)
    throw new Error(`the first ${headBytes} bytes are not the header of an HNSW payload`);
  const asked = [wanted, neighbours(parameters), constructionWidth(parameters)];
  if ([dimension, m, width].some((value, at) => value !== asked[at]))
    throw new Error(`an HNSW payload of ${dimension} dimensions, m ${m}, width ${width}, not ${asked.join(', ')}`);
  if (count > capacity || (count === 0 ? entry !== NO_NODE : entry >= count) || upperWords === 0)
    throw new Error(`an HNSW payload of ${count} nodes with capacity ${capacity} and entry ${entry}`);
  const step = new DataView(head.buffer).getFloat64(STEP_AT, true);
  const middles = head.slice(HEAD_BYTES / WORD_BYTES, HEAD_BYTES / WORD_BYTES + dimension);
  const form = { isFloat: isFloat === 1, middles, step };
  const shape = { form, neighbours: m, constructionWidth: width, capacity };
  if (graphBytes(shape) > REGION_BYTES_MAX)
    throw new Error(`an HNSW payload of ${capacity} nodes, which no region has room for`);
  return { shape, count, entry, upperWords };
}

function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) yield bytes.subarray(from, from + PIECE_BYTES);
}
