import type { EqualRows } from './equalRows.js';
import type { HnswGraph } from './graph.js';
import { capacityFor } from './parameters.js';

/**
 * Adds the rows below `count` to the graph, one of each ring of equal rows, where they are not in it yet. Ordinals below
 * `known` are in the graph, or equal to a row that is and may have died. Calls `stepped` after each row and awaits its
 * result.
 */
export async function arrange(
  graph: HnswGraph,
  equal: EqualRows,
  count: number,
  known: number,
  stepped: () => Promise<void> | undefined,
): Promise<void> {
  const nodes = graph.count === known ? undefined : new Set(graph.labels());
  const isNode = (ordinal: number): boolean => ordinal < known && (nodes?.has(ordinal) ?? true);
  for (const ordinal of nodesFirst(count, known, isNode)) {
    const components = equal.componentsOf(ordinal);
    if (components !== undefined && !equal.add(ordinal, components) && !isNode(ordinal)) {
      if (graph.count === graph.capacity) graph.grow(capacityFor(graph.count));
      graph.add(components, ordinal);
    }
    const wait = stepped();
    if (wait !== undefined) await wait;
  }
}

/** Yields the known rows that are no node last: most are equal to a node, and where it has died one takes its place. */
function* nodesFirst(count: number, known: number, isNode: (ordinal: number) => boolean): Generator<number> {
  const last: number[] = [];
  for (let ordinal = 0; ordinal < count; ordinal++)
    if (ordinal < known && !isNode(ordinal)) last.push(ordinal);
    else yield ordinal;
  yield* last;
}
