import type { EqualRows } from './equalRows.js';
import type { Graph } from './graph.js';
import { capacityFor } from './parameters.js';

export interface ArrangedRows {
  readonly count: number;
  /** Undefined for rows that are gone. */
  components(ordinal: number): Int32Array | undefined;
}

/**
 * Adds the rows to the graph, one of each ring of equal ones, where they are not in it yet. `known`: ordinals below are
 * in the graph, or equal to one that is and may have died. `stepped` is called after each row; what it returns is
 * awaited.
 */
export async function arrange(
  { graph, equal }: { readonly graph: Graph; readonly equal: EqualRows },
  rows: ArrangedRows,
  known: number,
  stepped: () => Promise<void> | undefined,
): Promise<void> {
  const isNode = nodesAmong(graph, known);
  const orphans: number[] = [];
  for (let ordinal = 0; ordinal < rows.count; ordinal++) {
    if (ordinal < known && !isNode(ordinal)) {
      orphans.push(ordinal);
      continue;
    }
    const components = rows.components(ordinal);
    const isNew = components !== undefined && !equal.add(ordinal, components);
    if (isNew && ordinal >= known) addNode(graph, ordinal, components);
    const wait = stepped();
    if (wait !== undefined) await wait;
  }
  // Most are equal to a node after all; where it is gone, one of them takes its place.
  for (const ordinal of orphans) {
    const components = rows.components(ordinal);
    if (components !== undefined && !equal.add(ordinal, components)) addNode(graph, ordinal, components);
    const wait = stepped();
    if (wait !== undefined) await wait;
  }
}

function addNode(graph: Graph, ordinal: number, components: Int32Array): void {
  if (graph.count === graph.capacity) graph.grow(capacityFor(graph.count));
  graph.add(components, ordinal);
}

function nodesAmong(graph: Graph, known: number): (ordinal: number) => boolean {
  if (graph.count === known) return () => true;
  const nodes = new Set(graph.labels());
  return (ordinal) => nodes.has(ordinal);
}
