/** The answers to what is asked of a graph. Each gives way to others while it takes long. */
import { unreachable, VouchError } from '../../shared/errors.js';
import {
  GRAPH_PAGE_MAX,
  type GraphEdge,
  type GraphHit,
  type GraphNode,
  type GraphRead,
  type GraphResults,
} from '../../shared/graph.js';
import type { Graph } from './graph.js';
import { missingNode } from './graphPlan.js';
import type { Pace } from './pace.js';
import { smallest } from './smallest.js';
import { walk } from './walk.js';

type Read<Op extends GraphRead['op']> = Extract<GraphRead, { op: Op }>;

export async function readGraph(graph: Graph, call: GraphRead, pace: Pace): Promise<GraphResults[GraphRead['op']]> {
  switch (call.op) {
    case 'graphNode':
      return nodeOf(graph, call.id);
    case 'graphNodes':
      return nodes(graph, call, pace);
    case 'graphEdges':
      return edges(graph, call, pace);
    case 'graphSubgraph':
      return subgraph(graph, call, pace);
    case 'graphQuery':
      return query(graph, call, pace);
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
  pace: Pace,
): Promise<GraphResults['graphNodes']> {
  const count = graph.countNodes(kind);
  const page: GraphNode[] = [];
  let skipped = 0;
  for (let id = 1; page.length < limit && skipped + page.length < count && id < graph.nextNodeId; id++) {
    if (pace.step()) await pace.rest();
    const node = graph.node(id);
    if (node === undefined || (kind !== null && node.kind !== kind)) continue;
    if (skipped < offset) skipped++;
    else page.push(node);
  }
  return { nodes: page, count };
}

async function edges(
  graph: Graph,
  { id, offset, limit }: Read<'graphEdges'>,
  pace: Pace,
): Promise<GraphResults['graphEdges']> {
  nodeOf(graph, id);
  const page: GraphEdge[] = [];
  let skipped = 0;
  const ids = graph.outgoing(id);
  const { length } = ids;
  for (let i = 0; i < length && page.length < (limit ?? GRAPH_PAGE_MAX + 1); i++) {
    if (pace.step()) await pace.rest();
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
  pace: Pace,
): Promise<GraphResults['graphSubgraph']> {
  nodeOf(graph, root);
  const depths = new Map<number, number>();
  await walk(graph, [root], { direction: 'outgoing', depth, edgeKind: null }, pace, (nodeId, hops) => {
    depths.set(nodeId, hops);
    return depths.size <= GRAPH_PAGE_MAX;
  });
  const between: GraphEdge[] = [];
  for (const nodeId of depths.keys()) {
    const ids = graph.outgoing(nodeId);
    const { length } = ids;
    for (let i = 0; i < length && between.length <= GRAPH_PAGE_MAX; i++) {
      if (pace.step()) await pace.rest();
      const edge = graph.edge(ids[i]!);
      if (edge !== undefined && depths.has(edge.to)) between.push(edge);
    }
  }
  if (depths.size > GRAPH_PAGE_MAX || between.length > GRAPH_PAGE_MAX)
    throw tooMany(
      `the subgraph has more than ${GRAPH_PAGE_MAX} nodes or edges: ask for less depth, or use /v1/graph/query`,
    );
  const byDepthThenId = [...depths].sort(([a, one], [b, other]) => one - other || a - b);
  return {
    nodes: nodesThere(
      graph,
      byDepthThenId.map(([nodeId]) => nodeId),
    ),
    edges: between.sort((a, b) => a.id - b.id),
  };
}

async function query(
  graph: Graph,
  { start, direction, edgeKind, nodeKind, depth, limit }: Read<'graphQuery'>,
  pace: Pace,
): Promise<GraphResults['graphQuery']> {
  nodeOf(graph, start);
  let count = 0;
  const rings: number[][] = [];
  await walk(graph, [start], { direction, depth, edgeKind }, pace, (nodeId, hops) => {
    rings[hops] ??= [];
    if (nodeKind !== null && graph.node(nodeId)?.kind !== nodeKind) return true;
    rings[hops].push(nodeId);
    count++;
    return true;
  });
  const hits: GraphHit[] = [];
  for (const [hops, ring] of rings.entries()) {
    if (hits.length >= limit) break;
    const first = await smallest(ring, limit - hits.length, pace);
    hits.push(...nodesThere(graph, first).map((node) => ({ ...node, depth: hops })));
  }
  return { hits, count };
}

/** What was deleted while a walk rested is not there any more. */
const nodesThere = (graph: Graph, ids: readonly number[]): GraphNode[] => ids.flatMap((id) => graph.node(id) ?? []);

const tooMany = (message: string): VouchError => new VouchError('validation_error', message);
