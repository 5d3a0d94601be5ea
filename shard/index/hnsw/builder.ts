/**
 * Builds an HNSW graph (Malkov and Yashunin, arXiv 1603.09320; see `kernel/assembly/graphLink.ts`) with all cores. A unit of
 * progress is a row. A small graph depends on the order alone. If threads share the work, the links also depend on their
 * timing.
 *
 * Rows without room in the graph get further graphs: the segments of `segments.ts`. An extended build copies the full graphs of
 * its base, and adds rows to the last one.
 */
import { refusal } from '../../../shared/errors/errors.js';
import { openSharedMemory, PAGE_BYTES, type SharedMemory } from '../../../shared/webAssembly.js';
import type { BuildOrder, BuildRows, IndexBuilder } from '../kind.js';
import type { BuildProgress } from '../progress.js';
import { type PayloadFile, writePayload } from '../store/payloadFile.js';
import { arrange } from './arrange.js';
import { EqualRows } from './equalRows.js';
import { filledUp, GraphMemory, graphBytes, NO_NODE, REGION_BYTES_MAX } from './graphMemory.js';
import { linkNodes, linkThreads } from './linking.js';
import { capacityFor, constructionWidth, neighbours } from './parameters.js';
import { readHnswPayload, type SavedGraph, writeGraph } from './payload.js';
import { rowsFrom } from './segmentRows.js';
import { encoded, formFor, stillSuits, type VectorForm } from './vectorForm.js';
import { WalkScratch, walkLayout } from './walkScratch.js';

/** Address of the graph. Address 0 stays unused. */
const GRAPH_ADDRESS = 64;

export const hnswBuilder: IndexBuilder = {
  build(order) {
    const { rows, parameters, base } = order;
    return writePayload(order, async (file) => {
      const build = new Build(order, file);
      if (base === undefined) await build.fromScratch();
      else {
        const expected = { dimension: rows.dimension, parameters, rows: base.count };
        await readHnswPayload(base, expected, (graphs) => build.extend(graphs));
      }
      return { leftOut: build.leftOut };
    });
  },
};

/** Writes one graph after another to the payload. */
class Build {
  /** Ordinals of rows that no graph has room or a code for. */
  readonly leftOut: number[] = [];
  /** First row of the next graph. */
  #first = 0;
  /** Offset of the next graph in the payload. */
  #offset = 0;
  #memory: SharedMemory | undefined;

  constructor(
    private readonly order: BuildOrder,
    private readonly file: PayloadFile,
  ) {
    order.progress.setTotal(order.rows.count);
  }

  /** Builds graphs of all rows that have none. */
  async fromScratch(): Promise<void> {
    const { rows, progress } = this.order;
    const form = formFor(rowsFrom(rows, this.#first), progress);
    do await this.#build(form);
    while (this.#first < rows.count);
  }

  /** Copies the full graphs of the base, and builds the last one and further ones. */
  async extend(graphs: readonly SavedGraph[]): Promise<void> {
    const { progress, rows } = this.order;
    for (const graph of graphs.slice(0, -1)) {
      this.#offset = await graph.copy(this.file, this.#offset, () => progress.obey());
      this.#first += graph.rows;
      progress.advance(graph.rows);
    }
    const last = graphs.at(-1)!;
    const rest = rowsFrom(rows, this.#first);
    const { form } = last.shape;
    const isKept = !form.isFloat && stillSuits(form, rest, last.rows);
    const wanted = isKept ? form : formFor(rest, progress);
    await this.#build(wanted, isKept || (form.isFloat && wanted.isFloat) ? last : undefined);
    if (this.#first < rows.count) await this.fromScratch();
  }

  /** Builds the next graph, of as many rows as it has room for. `from`: the graph of the base, if its nodes can be kept. */
  async #build(form: VectorForm, from?: SavedGraph): Promise<void> {
    const { rows: all, parameters, progress, graphBytesMax = REGION_BYTES_MAX } = this.order;
    const rows = rowsFrom(all, this.#first);
    const width = constructionWidth(parameters);
    const links = { form, neighbours: neighbours(parameters), constructionWidth: width };
    const shape = filledUp(links, capacityFor(rows.count, all.count), graphBytesMax);
    const threads = linkThreads(Math.min(rows.count, shape.capacity) - (from?.count ?? 0));
    const walkAddress = GRAPH_ADDRESS + graphBytes(shape);
    const layout = walkLayout(shape, { most: width, slots: 0 });
    const memory = this.#memoryOf(walkAddress + threads * layout.sizeBytes);
    const graph = new GraphMemory(memory.buffer, GRAPH_ADDRESS, shape);
    const restored = await from?.restore(graph, () => progress.obey());
    const nodes = { ordinals: Array.from(restored ?? []), known: from?.rows ?? 0, leftOut: [] };
    const before = graph.count;
    const end = await addNodes(rows, graph, nodes, progress);
    progress.advance(end - (graph.count - before));
    const walks = Array.from({ length: threads }, (_, thread) => walkAddress + thread * layout.sizeBytes);
    const words = new Uint32Array(memory.buffer);
    for (const walk of walks) new WalkScratch(words, walk, layout);
    await linkNodes(memory, graph, walks, progress);
    const isAlone = this.#first === 0 && end === all.count;
    const toWrite = { graph, ordinals: Uint32Array.from(nodes.ordinals), rows: isAlone ? undefined : end };
    this.#offset = await writeGraph(this.file, this.#offset, toWrite);
    for (const ordinal of nodes.leftOut) this.leftOut.push(this.#first + ordinal);
    this.#first += end;
  }

  /**
   * Returns memory of at least this size. Reuses that of the graph before, which the garbage collector may free late. Throws
   * `capacity_exceeded`.
   */
  #memoryOf(sizeBytes: number): SharedMemory {
    if (this.#memory !== undefined && this.#memory.buffer.byteLength >= sizeBytes) return this.#memory;
    const pages = Math.ceil(sizeBytes / PAGE_BYTES);
    try {
      this.#memory = openSharedMemory(pages * PAGE_BYTES);
      this.#memory.grow(pages - 1);
      return this.#memory;
    } catch (error) {
      throw error instanceof RangeError ? refusal('capacity_exceeded', 'memory') : error;
    }
  }
}

interface GraphNodes {
  /** The row of each node. */
  readonly ordinals: number[];
  /** Number of rows that the base knew: equal ones of them share a node already. */
  readonly known: number;
  /** Rows without a node. */
  readonly leftOut: number[];
}

/**
 * Adds nodes for the rows that have none, as far as there is room, and the ordinal of each to `ordinals`. Returns the number of
 * rows that the graph then has. Rows outside the range of the codes are added to `leftOut`.
 */
async function addNodes(
  rows: BuildRows,
  graph: GraphMemory,
  { ordinals, known, leftOut }: GraphNodes,
  progress: BuildProgress,
): Promise<number> {
  const { form } = graph.shape;
  const nodeOf = new Uint32Array(rows.count).fill(NO_NODE);
  for (const [node, ordinal] of ordinals.entries()) nodeOf[ordinal] = node;
  const has = (ordinal: number): boolean => nodeOf[ordinal] !== NO_NODE;
  const vectorOf = (ordinal: number): Int32Array | undefined => {
    if (has(ordinal)) return graph.vectorOf(nodeOf[ordinal]!);
    return rows.isLive(ordinal) ? encoded(form, rows.components(ordinal)) : undefined;
  };
  const leaveOut = (ordinal: number): void => {
    if (rows.isLive(ordinal)) leftOut.push(ordinal);
  };
  const placed = {
    ...{ has, leaveOut },
    add: (ordinal: number, vector: Int32Array) => {
      if (!graph.hasRoom) return false;
      nodeOf[ordinal] = graph.add(vector);
      ordinals.push(ordinal);
      return true;
    },
    share: (first: number, ordinal: number) => {
      if (!has(first) && !has(ordinal)) leaveOut(ordinal);
    },
  };
  return arrange(placed, new EqualRows(vectorOf), { count: rows.count, known }, () => {
    progress.obey();
    return undefined;
  });
}
