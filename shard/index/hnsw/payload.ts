/**
 * The payload of an HNSW index, little-endian: one graph, or several one after another. The generation's manifest has its
 * checksum.
 *
 * ```text
 * "VHN1" | u32 dimension | neighbours | construction width | is float | capacity | nodes | entry |
 * words of upper lists | u32 zero | f64 step | 16 zero bytes |
 * middles: i32 × dimension, padded to 16 bytes | ordinals: u32 × nodes | upper lists | records
 * ```
 *
 * `kernel/assembly/graph.ts` has the layout of the last two. Each of several graphs begins with "VHN2", and has the number of
 * its rows in place of the u32 zero. Its rows follow those of the graph before, and its ordinals count from its first row.
 */
import type { IndexParameters } from '../../../shared/model/indexSpec.js';
import { openPayload, type PayloadFile, type PayloadPlace } from '../store/payloadFile.js';
import {
  type GraphMemory,
  type GraphShape,
  graphBytes,
  NO_NODE,
  REGION_BYTES_MAX,
  recordBytesOf,
} from './graphMemory.js';
import { constructionWidth, neighbours } from './parameters.js';

/** "VHN1" and "VHN2". */
const ALONE = 0x314e4856;
const ONE_OF_SEVERAL = 0x324e4856;
const HEAD_BYTES = 64;
/** Place of the number of rows among the words of the head. */
const ROWS = 9;
const STEP_AT = 40;
const WORD_BYTES = 4;
/** Bytes read or written at once. */
const PIECE_BYTES = 1 << 20;

const headBytesOf = (dimension: number): number => HEAD_BYTES + 16 * Math.ceil((dimension * WORD_BYTES) / 16);

const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array | Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

export interface GraphToWrite {
  readonly graph: GraphMemory;
  /** Ordinal of each node, counted from the first row of the graph. */
  readonly ordinals: Uint32Array;
  /** Number of rows of the graph; undefined if the payload has no other graph. */
  readonly rows: number | undefined;
}

/** Writes a graph to a payload, at `offset`. Returns the offset behind it. */
export async function writeGraph(
  file: PayloadFile,
  offset: number,
  { graph, ordinals, rows }: GraphToWrite,
): Promise<number> {
  const { count, entry, upperWords, shape } = graph;
  const { form, neighbours, constructionWidth, capacity } = shape;
  const { length: dimension } = form.middles;
  const head = new Int32Array(headBytesOf(dimension) / WORD_BYTES);
  head.set([ALONE, dimension, neighbours, constructionWidth, Number(form.isFloat), capacity, count, entry, upperWords]);
  if (rows !== undefined) noteRows(head, rows);
  new DataView(head.buffer).setFloat64(STEP_AT, form.step, true);
  head.set(form.middles, HEAD_BYTES / WORD_BYTES);
  let end = offset;
  for (const bytes of [bytesOf(head), bytesOf(ordinals), graph.uppers(), graph.records()])
    for (const piece of pieces(bytes)) {
      // Copy the piece, since it may change during the write.
      await file.write(piece.slice(), end);
      end += piece.length;
    }
  return end;
}

/** Makes a head that of one of several graphs. */
function noteRows(head: Int32Array, rows: number): void {
  head[0] = ONE_OF_SEVERAL;
  head[ROWS] = rows;
}

/** A graph in a payload. Its functions throw an Error with a message of one line if the file is inconsistent. */
export interface SavedGraph {
  readonly shape: GraphShape;
  /** Number of nodes. */
  readonly count: number;
  /** Number of rows, each of which has an ordinal. */
  readonly rows: number;
  /**
   * Fills an empty graph of this shape, whose capacity may differ, and returns the ordinal of each node. Does not check
   * links. Awaits `stepped` before each piece that is read.
   */
  restore(graph: GraphMemory, stepped: () => void | Promise<void>): Promise<Uint32Array>;
  /** Copies the graph to another payload, as one of several. Returns the offset behind it. Calls `stepped` before each piece. */
  copy(to: PayloadFile, offset: number, stepped: () => void): Promise<number>;
}

/** Facts of the graphs that a payload must have. */
interface ExpectedPayload {
  readonly dimension: number;
  readonly parameters: IndexParameters;
  /** Number of rows of the generation. */
  readonly rows: number;
}

/**
 * Opens a payload for the duration of `use`, and returns the result of that. Throws an Error with a message of one line if the
 * file is inconsistent, has other parameters, or does not have `rows` rows.
 */
export async function readHnswPayload<Result>(
  place: PayloadPlace,
  expected: ExpectedPayload,
  use: (graphs: readonly SavedGraph[]) => Promise<Result>,
): Promise<Result> {
  const file = await openPayload(place);
  try {
    return await use(await graphsIn(file, expected));
  } finally {
    await file.close();
  }
}

async function graphsIn(file: PayloadFile, expected: ExpectedPayload): Promise<SavedGraph[]> {
  const sizeBytes = await file.sizeBytes();
  const graphs: StoredGraph[] = [];
  let offset = 0;
  do {
    const head = new Int32Array(headBytesOf(expected.dimension) / WORD_BYTES);
    const headBytes = await file.read(bytesOf(head), offset);
    const graph = new StoredGraph(file, offset, head, factsOf(head, headBytes, expected));
    graphs.push(graph);
    offset = graph.isAlone ? sizeBytes : graph.end;
  } while (offset < sizeBytes);
  const rows = graphs.reduce((sum, graph) => sum + graph.rows, 0);
  if (rows !== expected.rows) throw new Error(`an HNSW payload of ${rows} rows, not ${expected.rows}`);
  return graphs;
}

/** Facts of the head of a graph. */
interface GraphFacts extends Pick<SavedGraph, 'shape' | 'count' | 'rows'> {
  readonly entry: number;
  readonly upperWords: number;
}

class StoredGraph implements SavedGraph {
  constructor(
    private readonly file: PayloadFile,
    private readonly offset: number,
    private readonly head: Int32Array,
    private readonly facts: GraphFacts,
  ) {}

  get shape(): GraphShape {
    return this.facts.shape;
  }

  get count(): number {
    return this.facts.count;
  }

  get rows(): number {
    return this.facts.rows;
  }

  get isAlone(): boolean {
    return this.head[0] === ALONE;
  }

  /** Offset behind the graph. */
  get end(): number {
    const { count, upperWords, shape } = this.facts;
    return this.#contentAt + WORD_BYTES * (count + upperWords) + count * recordBytesOf(shape);
  }

  async restore(graph: GraphMemory, stepped: () => void | Promise<void>): Promise<Uint32Array> {
    const { count, entry, upperWords, shape } = this.facts;
    const ordinals = new Uint32Array(count);
    const [uppers, records] = [graph.uppers(upperWords), graph.records(count)];
    let offset = this.#contentAt;
    const fill = async (piece: Uint8Array): Promise<void> => {
      await stepped();
      await this.#read(piece, offset);
      offset += piece.length;
    };
    for (const piece of pieces(bytesOf(ordinals))) {
      await fill(piece);
      this.#checkOrdinals(piece);
    }
    for (const piece of pieces(uppers)) await fill(piece);
    const recordBytes = recordBytesOf(shape);
    const atOnce = Math.max(1, Math.floor(PIECE_BYTES / recordBytes));
    for (let first = 0; first < count; first += atOnce) {
      const end = Math.min(first + atOnce, count);
      await fill(records.subarray(first * recordBytes, end * recordBytes));
      graph.releaseLocks(first, end);
    }
    const sizeBytes = await this.file.sizeBytes();
    if (this.isAlone && sizeBytes !== offset) throw new Error(`an HNSW payload of ${sizeBytes} bytes, not ${offset}`);
    graph.restore(count, entry, upperWords);
    return ordinals;
  }

  async copy(to: PayloadFile, offset: number, stepped: () => void): Promise<number> {
    const head = this.head.slice();
    noteRows(head, this.rows);
    await to.write(bytesOf(head), offset);
    const buffer = new Uint8Array(PIECE_BYTES);
    const apart = offset - this.offset;
    for (let from = this.#contentAt; from < this.end; from += PIECE_BYTES) {
      stepped();
      const piece = buffer.subarray(0, Math.min(PIECE_BYTES, this.end - from));
      await this.#read(piece, from);
      await to.write(piece, from + apart);
    }
    return this.end + apart;
  }

  #checkOrdinals({ buffer, byteOffset, byteLength }: Uint8Array): void {
    const { rows } = this.facts;
    if (new Uint32Array(buffer, byteOffset, byteLength / WORD_BYTES).some((ordinal) => ordinal >= rows))
      throw new Error(`an HNSW payload with ordinals of ${rows} and more`);
  }

  get #contentAt(): number {
    return this.offset + this.head.byteLength;
  }

  async #read(into: Uint8Array, offset: number): Promise<void> {
    if ((await this.file.read(into, offset)) < into.length)
      throw new Error(`an HNSW payload that ends before byte ${offset + into.length}`);
  }
}

function factsOf(head: Int32Array, headBytes: number, expected: ExpectedPayload): GraphFacts {
  const [
    magic,
    dimension = 0,
    m = 0,
    width = 0,
    isFloat,
    capacity = 0,
    count = 0,
    entry = 0,
    upperWords = 0,
    rows = 0,
  ] = new Uint32Array(head.buffer, 0, HEAD_BYTES / WORD_BYTES);
  if (headBytes < head.byteLength || (magic !== ALONE && magic !== ONE_OF_SEVERAL))
    throw new Error(`the first ${headBytes} bytes are not the header of an HNSW payload`);
  const asked = [expected.dimension, neighbours(expected.parameters), constructionWidth(expected.parameters)];
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
  return { shape, count, entry, upperWords, rows: magic === ALONE ? expected.rows : rows };
}

function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) yield bytes.subarray(from, from + PIECE_BYTES);
}
