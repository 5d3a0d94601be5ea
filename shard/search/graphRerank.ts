/**
 * Orders hits by their distance and their nearness in the graph to the best hits, the seeds. The order is that of distance ·
 * (1 + weight · hops to the nearest seed). Without a seed within reach the distance alone counts. It is that of `distanceOf`.
 */
import type { GraphRerank } from '../../shared/protocol/calls.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { Graph } from '../graph/graph.js';
import { walk } from '../graph/walk.js';
import { distanceOf, type Found, hitsAt } from './found.js';

const UNREACHED = -1;

/**
 * Returns the hits with their hops in that order, equal ones by score, then by id. The seeds are the nodes of the first
 * `seedCount` hits. The walk through the graph ends when it has reached all hits that have nodes.
 */
export async function rerankByGraph(found: Found, graph: Graph, options: GraphRerank, slice: Slice): Promise<Found> {
  const hops = await hopsOf(found.ids, graph, options, slice);
  const adjusted = Float64Array.from(
    hops,
    (distance, i) => distanceOf(found, i) * (1 + options.weight * Math.max(distance, 0)),
  );
  const { ids, scores } = found;
  const order = Uint32Array.from(ids, (_, i) => i).sort(
    (a, b) => adjusted[a]! - adjusted[b]! || scores[a]! - scores[b]! || ids[a]! - ids[b]!,
  );
  return { ...hitsAt(found, order), hops: Int32Array.from(order, (i) => hops[i]!) };
}

/** Returns the hops of each hit, that is of its node nearest to a seed. */
async function hopsOf(
  recordIds: Float64Array,
  graph: Graph,
  { seedCount, maxDepth, direction }: GraphRerank,
  slice: Slice,
): Promise<Int32Array> {
  const hops = new Int32Array(recordIds.length).fill(UNREACHED);
  const unreached = new Map<number, number>();
  const seeds: number[] = [];
  for (const [i, recordId] of recordIds.entries()) {
    const nodeIds = graph.nodesOfRecord(recordId);
    if (slice.due) await slice.next();
    if (nodeIds.length === 0) continue;
    unreached.set(recordId, i);
    if (i < seedCount) for (const nodeId of nodeIds) seeds.push(nodeId);
  }
  await walk(graph, seeds, { direction, depth: maxDepth, edgeKind: null, slice }, (nodeId, depth) => {
    const recordId = graph.node(nodeId)?.recordId;
    const hit = recordId == null ? undefined : unreached.get(recordId);
    if (hit === undefined) return true;
    hops[hit] = depth;
    unreached.delete(recordId!);
    return unreached.size > 0;
  });
  return hops;
}
