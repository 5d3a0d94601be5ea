import { type EqualRows, NONE } from './equalRows.js';

/** The nodes that rows become, one of each ring of equal rows. */
export interface Nodes {
  has(ordinal: number): boolean;
  add(ordinal: number, components: Int32Array): void;
  /** A row has been found that equals the one of this ordinal, which is a node. */
  share(ordinal: number): void;
}

/**
 * Makes nodes of the rows below `count`, one of each ring of equal rows, where they are none yet. Ordinals below `known` are
 * nodes, or equal to a row that is and may have died. Calls `stepped` after each row and awaits its result.
 */
export async function arrange(
  nodes: Nodes,
  equal: EqualRows,
  count: number,
  known: number,
  stepped: () => Promise<void> | undefined,
): Promise<void> {
  const isNode = (ordinal: number): boolean => ordinal < known && nodes.has(ordinal);
  for (const ordinal of nodesFirst(count, known, isNode)) {
    const components = equal.componentsOf(ordinal);
    if (components !== undefined) {
      const first = equal.add(ordinal, components);
      if (first !== NONE) nodes.share(first);
      else if (!isNode(ordinal)) nodes.add(ordinal, components);
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
