/** The reads of a graph. Long ones pause between slices. */
import { unreachable, VouchError } from '../../shared/errors/errors.js';
import {
  GRAPH_PAGE_MAX,
  type GraphEdge,
  type GraphHit,
  type GraphNode,
  type GraphRead,
  type GraphResults,
} from '../../shared/model/graph.js';
import type { RecordName } from '../../shared/model/recordName.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import { TopK } from '../kernel/topK.js';
import type { Graph } from './graph.js';
import { missingNode } from './graphPlan.js';
import { walk } from './walk.js';

type Read<Op extends GraphRead['op']> = Extract<GraphRead, { op: Op }>;

/** `find`: returns the id of a record; undefined if none has the name. */
export async function readGraph(
  graph: Graph,
  call: GraphRead,
  slice: Slice,
  find: (name: RecordName) => number | undefined,
): Promise<GraphResults[GraphRead['op']]> {
  switch (call.op) {
    case 'graphNode':
      return nodeOf(graph, call.id);
    case 'graphNodes':
      return call.of === undefined ? nodes(graph, call, slice) : nodesOfRecord(graph, call, slice, find(call.of));
    case 'graphEdges':
      return edges(graph, call, slice);
    case 'graphSubgraph':
      return subgraph(graph, call, slice);
    case 'graphQuery':
      return query(graph, call, slice);
    default:
      return unreachable(call);
  }
}

function nodeOf(graph: Graph, id: number): GraphNode {
  const node = graph.node(id);
  if (node === undefined) throw missingNode(id);
  return node;
}

async function nodes(
  graph: Graph,
  { kind, offset, limit }: Read<'graphNodes'>,
  slice: Slice,
): Promise<GraphResults['graphNodes']> {
  const count = graph.countNodes(kind);
  const page: GraphNode[] = [];
  let skipped = 0;
  for (let id = 1; page.length < limit && skipped + page.length < count && id < graph.nextNodeId; id++) {
    if (slice.step()) await slice.next();
    const node = graph.node(id);
    if (node === undefined || (kind !== null && node.kind !== kind)) continue;
    if (skipped < offset) skipped++;
    else page.push(node);
  }
  return { nodes: page, count };
}

/** Lists the nodes of a record, which are few. */
async function nodesOfRecord(
  graph: Graph,
  { kind, offset, limit }: Read<'graphNodes'>,
  slice: Slice,
  recordId: number | undefined,
): Promise<GraphResults['graphNodes']> {
  const found: GraphNode[] = [];
  for (const id of recordId === undefined ? [] : graph.nodesOfRecord(recordId)) {
    const node = graph.node(id);
    if (node !== undefined && (kind === null || node.kind === kind)) found.push(node);
    if (slice.step()) await slice.next();
  }
  return { nodes: found.slice(offset, offset + limit), count: found.length };
}

async function edges(
  graph: Graph,
  { id, offset, limit }: Read<'graphEdges'>,
  slice: Slice,
): Promise<GraphResults['graphEdges']> {
  nodeOf(graph, id);
  const page: GraphEdge[] = [];
  let skipped = 0;
  const ids = graph.outgoing(id);
  const { length } = ids;
  for (let i = 0; i < length && page.length < (limit ?? GRAPH_PAGE_MAX + 1); i++) {
    if (slice.step()) await slice.next();
    const edge = graph.edge(ids[i]!);
    if (edge === undefined) continue;
    if (skipped < offset) skipped++;
    else page.push(edge);
  }
  if (page.length > GRAPH_PAGE_MAX)
    throw tooMany(`node ${id} has more than ${GRAPH_PAGE_MAX} outgoing edges: ask for them with offset and limit`);
  return { edges: page };
}

async function subgraph(
  graph: Graph,
  { root, depth }: Read<'graphSubgraph'>,
  slice: Slice,
): Promise<GraphResults['graphSubgraph']> {
  nodeOf(graph, root);
  const depths = new Map<number, number>();
  await walk(graph, [root], { direction: 'outgoing', depth, edgeKind: null, slice }, (nodeId, hops) => {
    depths.set(nodeId, hops);
    return depths.size <= GRAPH_PAGE_MAX;
  });
  const between: GraphEdge[] = [];
  for (const nodeId of depths.keys()) {
    const ids = graph.outgoing(nodeId);
    const { length } = ids;
    for (let i = 0; i < length && between.length <= GRAPH_PAGE_MAX; i++) {
      if (slice.step()) await slice.next();
      const edge = graph.edge(ids[i]!);
      if (edge !== undefined && depths.has(edge.to)) between.push(edge);
    }
  }
  if (depths.size > GRAPH_PAGE_MAX || between.length > GRAPH_PAGE_MAX)
    throw tooMany(
      `the subgraph has more than ${GRAPH_PAGE_MAX} nodes or edges: ask for less depth, or use /v1/graph/query`,
    );
  const byDepthThenId = [...depths].sort(([a, one], [b, other]) => one - other || a - b);
  const nodeIds = byDepthThenId.map(([nodeId]) => nodeId);
  return { nodes: existingNodes(graph, nodeIds), edges: between.sort((a, b) => a.id - b.id) };
}

async function query(
  graph: Graph,
  { start, direction, edgeKind, nodeKind, depth, limit }: Read<'graphQuery'>,
  slice: Slice,
): Promise<GraphResults['graphQuery']> {
  nodeOf(graph, start);
  let count = 0;
  const rings: number[][] = [];
  await walk(graph, [start], { direction, depth, edgeKind, slice }, (nodeId, hops) => {
    rings[hops] ??= [];
    if (nodeKind !== null && graph.node(nodeId)?.kind !== nodeKind) return true;
    rings[hops].push(nodeId);
    count++;
    return true;
  });
  const hits: GraphHit[] = [];
  for (const [hops, ring] of rings.entries()) {
    if (hits.length >= limit) break;
    const first = await smallest(ring, limit - hits.length, slice);
    hits.push(...existingNodes(graph, first).map((node) => ({ ...node, depth: hops })));
  }
  return { hits, count };
}

/** Returns the nodes that still exist: a node may be deleted while a walk pauses. */
const existingNodes = (graph: Graph, ids: readonly number[]): GraphNode[] => ids.flatMap((id) => graph.node(id) ?? []);

/** Returns the `count` smallest ids, ascending. */
async function smallest(ids: readonly number[], count: number, slice: Slice): Promise<number[]> {
  const best = new TopK(Math.min(count, ids.length));
  for (const id of ids) {
    best.offer(0, id, 0);
    if (slice.step()) await slice.next();
  }
  return [...best.sorted().keys];
}

const tooMany = (message: string): VouchError => new VouchError('validation_error', message);
