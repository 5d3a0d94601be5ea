/**
 * Builds an HNSW graph (Malkov and Yashunin, arXiv 1603.09320; see `kernel/assembly/graphLink.ts`) with all cores. A unit of
 * progress is a row. A small graph depends on the order alone. If threads share the work, the links also depend on their
 * timing.
 */
import { openSharedMemory, PAGE_BYTES } from '../../../shared/webAssembly.js';
import type { BuildOrder, IndexBuilder } from '../kind.js';
import { arrange } from './arrange.js';
import { EqualRows } from './equalRows.js';
import { filledUp, GraphMemory, graphBytes, NO_NODE } from './graphMemory.js';
import { linkNodes, linkThreads } from './linking.js';
import { capacityFor, constructionWidth, neighbours } from './parameters.js';
import { type HnswPayload, readHnswPayload, writeHnswPayload } from './payload.js';
import { encoded, formFor, stillSuits, suits, type VectorForm } from './vectorForm.js';
import { WalkScratch, walkBytes } from './walkScratch.js';

/** Address of the graph. Address 0 stays unused. */
const GRAPH_ADDRESS = 64;

export const hnswBuilder: IndexBuilder = {
  async build(order) {
    const { rows, parameters, base, progress } = order;
    if (base === undefined) return build(order, formFor(rows, progress), undefined);
    const expected = { dimension: rows.dimension, parameters, rows: base.count };
    return readHnswPayload(base, expected, (payload) => {
      const { form } = payload.shape;
      if (!form.isFloat && stillSuits(form, rows, base.count)) return build(order, form, payload);
      const wanted = formFor(rows, progress);
      return build(order, wanted, form.isFloat && wanted.isFloat ? payload : undefined);
    });
  },
};

/** `from`: the base, if its nodes can be kept. */
async function build(order: BuildOrder, form: VectorForm, from: HnswPayload | undefined) {
  const { rows, parameters, progress } = order;
  const width = constructionWidth(parameters);
  const links = { form, neighbours: neighbours(parameters), constructionWidth: width };
  const shape = filledUp(links, capacityFor(rows.count));
  const threads = linkThreads(rows.count - (from?.count ?? 0));
  const walkAddress = GRAPH_ADDRESS + graphBytes(shape);
  const pages = Math.ceil((walkAddress + threads * walkBytes(shape, width)) / PAGE_BYTES);
  const memory = openSharedMemory(pages * PAGE_BYTES);
  memory.grow(pages - 1);

  const graph = new GraphMemory(memory.buffer, GRAPH_ADDRESS, shape);
  const nodes: GraphNodes =
    from === undefined
      ? { ordinals: [], known: 0, leftOut: [] }
      : {
          ordinals: Array.from(await from.restore(graph, () => progress.obey())),
          known: order.base!.count,
          leftOut: [],
        };
  progress.setTotal(rows.count);
  progress.advance(rows.count - (await addNodes(order, graph, nodes)));
  const walks = Array.from({ length: threads }, (_, thread) => walkAddress + thread * walkBytes(shape, width));
  for (const walk of walks) new WalkScratch(memory.buffer, shape, walk, width);
  await linkNodes(memory, graph, walks, progress);
  await writeHnswPayload(order, graph, Uint32Array.from(nodes.ordinals));
  return { leftOut: nodes.leftOut };
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
 * Adds nodes for the rows that have none, and the ordinal of each to `ordinals`. Returns how many. Rows outside the range of
 * the codes, or without room, are added to `leftOut`.
 */
async function addNodes(
  { rows, progress }: BuildOrder,
  graph: GraphMemory,
  { ordinals, known, leftOut }: GraphNodes,
): Promise<number> {
  const { form } = graph.shape;
  const before = graph.count;
  const nodeOf = new Uint32Array(rows.count).fill(NO_NODE);
  for (const [node, ordinal] of ordinals.entries()) nodeOf[ordinal] = node;
  const has = (ordinal: number): boolean => nodeOf[ordinal] !== NO_NODE;
  const vectorOf = (ordinal: number): Int32Array | undefined => {
    if (has(ordinal)) return graph.vectorOf(nodeOf[ordinal]!);
    if (!rows.isLive(ordinal) || !suits(form, rows.components(ordinal))) return undefined;
    return encoded(form, rows.components(ordinal));
  };
  const leaveOut = (ordinal: number): void => {
    if (rows.isLive(ordinal)) leftOut.push(ordinal);
  };
  const placed = {
    ...{ has, leaveOut },
    add: (ordinal: number, vector: Int32Array) => {
      if (!graph.hasRoom) return leaveOut(ordinal);
      nodeOf[ordinal] = graph.add(vector);
      ordinals.push(ordinal);
    },
    share: (first: number, ordinal: number) => {
      if (!has(first) && !has(ordinal)) leaveOut(ordinal);
    },
  };
  await arrange(placed, new EqualRows(vectorOf), { count: rows.count, known }, () => {
    progress.obey();
    return undefined;
  });
  return graph.count - before;
}
