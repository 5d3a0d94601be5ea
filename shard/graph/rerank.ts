/**
 * Nearness in the graph to the best hits of a search: adjusted = distance · (1 + weight · hops), as
 * `shard/search/found.ts` tells distances, so the decayed one where there is decay. Where no seed is within reach the
 * distance stands as it is.
 */
import type { GraphRerank } from '../../shared/calls.js';
import { distanceOf, type Found } from '../search/found.js';
import type { Graph } from './graph.js';
import type { Pace } from './pace.js';
import { walk } from './walk.js';

const UNREACHED = -1;

/**
 * The same hits, every one with its hops, ordered by adjusted distance, equal ones by score, then by id. Seeds are the
 * nodes linked to the first `seedCount` hits. The walk ends when all hits that have nodes are reached.
 */
export async function rerankByGraph(found: Found, graph: Graph, options: GraphRerank, pace: Pace): Promise<Found> {
  const hops = await hopsOf(found.ids, graph, options, pace);
  const adjusted = Float64Array.from(
    hops,
    (distance, i) => distanceOf(found, i) * (1 + options.weight * Math.max(distance, 0)),
  );
  const { ids, scores } = found;
  const order = Uint32Array.from(ids, (_, i) => i).sort(
    (a, b) => adjusted[a]! - adjusted[b]! || scores[a]! - scores[b]! || ids[a]! - ids[b]!,
  );
  return inOrder(found, hops, order);
}

/** Of each hit, the least over its nodes. */
async function hopsOf(
  recordIds: Float64Array,
  graph: Graph,
  { seedCount, maxDepth, direction }: GraphRerank,
  pace: Pace,
): Promise<Int32Array> {
  const hops = new Int32Array(recordIds.length).fill(UNREACHED);
  const places = new Map<number, number>();
  const seeds: number[] = [];
  for (const [i, recordId] of recordIds.entries()) {
    const nodeIds = graph.nodesOf(recordId);
    if (nodeIds.length === 0) continue;
    places.set(recordId, i);
    if (i < seedCount) seeds.push(...nodeIds);
  }
  await walk(graph, seeds, { direction, depth: maxDepth, edgeKind: null }, pace, (nodeId, depth) => {
    const recordId = graph.node(nodeId)?.recordId;
    const place = recordId == null ? undefined : places.get(recordId);
    if (place === undefined) return true;
    hops[place] = depth;
    places.delete(recordId!);
    return places.size > 0;
  });
  return hops;
}

function inOrder({ ids, slots, scores, aged }: Found, hops: Int32Array, order: Uint32Array): Found {
  const moved = {
    ids: Float64Array.from(order, (i) => ids[i]!),
    slots: order.map((i) => slots[i]!),
    scores: Float64Array.from(order, (i) => scores[i]!),
    hops: Int32Array.from(order, (i) => hops[i]!),
  };
  if (aged === undefined) return moved;
  const factors = Float64Array.from(order, (i) => aged.factors[i]!);
  const agesSecs = Float64Array.from(order, (i) => aged.agesSecs[i]!);
  return { ...moved, aged: { factors, agesSecs } };
}
