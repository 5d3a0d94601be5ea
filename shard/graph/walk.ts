/** Breadth-first search. */
import type { Direction } from '../../shared/graph.js';
import type { Graph } from './graph.js';
import { NodeSet } from './nodeSet.js';
import type { Pace } from './pace.js';

export interface Way {
  readonly direction: Direction;
  readonly depth: number;
  /** Edges of one kind only; null: of any. */
  readonly edgeKind: number | null;
}

/**
 * Calls `reached` with each node within `depth` hops of the seeds, once and with its distance, nearest first. Ends where
 * that returns false. Costs a step for each node but the farthest and each edge at one. Writes made while it rests may be seen
 * or not.
 */
export async function walk(
  graph: Graph,
  seeds: readonly number[],
  { direction, depth: farthest, edgeKind }: Way,
  pace: Pace,
  reached: (nodeId: number, depth: number) => boolean,
): Promise<void> {
  const met = new NodeSet();
  let ring = seeds.filter((seed) => met.add(seed));
  for (const seed of ring) if (!reached(seed, 0)) return;
  const sides = sidesOf(graph, direction);
  for (let depth = 1; depth <= farthest && ring.length > 0; depth++) {
    const next: number[] = [];
    for (const nodeId of ring)
      for (const { edgesOf, farEnd } of sides) {
        if (pace.step()) await pace.rest();
        const edges = edgesOf(nodeId);
        // The list may grow while the walk rests.
        const { length } = edges;
        for (let i = 0; i < length; i++) {
          if (pace.step()) await pace.rest();
          const edge = graph.edge(edges[i]!);
          if (edge === undefined || (edgeKind !== null && edge.kind !== edgeKind)) continue;
          const far = edge[farEnd];
          if (!met.add(far)) continue;
          if (!reached(far, depth)) return;
          if (depth < farthest) next.push(far);
        }
      }
    ring = next;
  }
}

interface Side {
  readonly edgesOf: (nodeId: number) => readonly number[];
  readonly farEnd: 'from' | 'to';
}

function sidesOf({ outgoing, incoming }: Graph, direction: Direction): Side[] {
  const sides: Side[] = [];
  if (direction !== 'incoming') sides.push({ edgesOf: outgoing, farEnd: 'to' });
  if (direction !== 'outgoing') sides.push({ edgesOf: incoming, farEnd: 'from' });
  return sides;
}
