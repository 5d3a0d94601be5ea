/** Breadth-first search of a graph. */
import type { Direction } from '../../shared/model/graph.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import { BitSet } from '../kernel/bitSet.js';
import type { Graph } from './graph.js';

const PAGE_SHIFT = 12;
const PAGE_IDS = 1 << PAGE_SHIFT;

export interface WalkOptions {
  readonly direction: Direction;
  readonly depth: number;
  /** Kind of the edges to follow; null for all. */
  readonly edgeKind: number | null;
  readonly slice: Slice;
}

/**
 * Calls `visit` with each node within `depth` hops of the seeds, once and with its distance, nearest first, until it
 * returns false. Costs a step per node below that depth and per edge of such a node. Writes during a pause may or may
 * not be seen.
 */
export async function walk(
  graph: Graph,
  seeds: readonly number[],
  { direction, depth: maxDepth, edgeKind, slice }: WalkOptions,
  visit: (nodeId: number, depth: number) => boolean,
): Promise<void> {
  const visited = new NodeSet();
  let ring: number[] = [];
  for (const seed of seeds) {
    if (slice.step()) await slice.next();
    if (!visited.add(seed)) continue;
    if (!visit(seed, 0)) return;
    ring.push(seed);
  }
  const sides = [
    ...(direction === 'incoming' ? [] : [{ edgesOf: graph.outgoing, farEnd: 'to' } as const]),
    ...(direction === 'outgoing' ? [] : [{ edgesOf: graph.incoming, farEnd: 'from' } as const]),
  ];
  for (let depth = 1; depth <= maxDepth && ring.length > 0; depth++) {
    const next: number[] = [];
    for (const nodeId of ring)
      for (const { edgesOf, farEnd } of sides) {
        if (slice.step()) await slice.next();
        const edges = edgesOf(nodeId);
        // The list may grow while the walk pauses.
        const { length } = edges;
        for (let i = 0; i < length; i++) {
          if (slice.step()) await slice.next();
          const edge = graph.edge(edges[i]!);
          if (edge === undefined || (edgeKind !== null && edge.kind !== edgeKind)) continue;
          const far = edge[farEnd];
          if (!visited.add(far)) continue;
          if (!visit(far, depth)) return;
          if (depth < maxDepth) next.push(far);
        }
      }
    ring = next;
  }
}

/**
 * A set of ids, as bitmaps of 4,096 each. It grows to millions without a rehash, which would block the event loop. A
 * few ids take half a KiB per range of ids.
 */
class NodeSet {
  readonly #pages = new Map<number, BitSet>();

  /** Returns false if the id was in the set already. */
  add(id: number): boolean {
    const number = id >>> PAGE_SHIFT;
    let page = this.#pages.get(number);
    if (page === undefined) {
      page = BitSet.ofSize(PAGE_IDS);
      this.#pages.set(number, page);
    }
    return page.add(id % PAGE_IDS);
  }
}
