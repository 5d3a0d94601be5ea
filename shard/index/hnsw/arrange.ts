import { type EqualRows, NONE } from './equalRows.js';

/** The nodes of a graph, for `arrange`. */
export interface Nodes {
  /** Whether a row has a node of its own. */
  has(ordinal: number): boolean;
  /** Gives a row a node of its own. Returns false without room. */
  add(ordinal: number, vector: Int32Array): boolean;
  /** Lets a row share the node of the row `first`, whose stored vector is equal. That row may have no node. */
  share(first: number, ordinal: number): void;
  /** Leaves out a row that is gone, that has no room, or whose code would not distinguish it from others. */
  leaveOut(ordinal: number): void;
}

/**
 * Arranges the rows below `count` into nodes: one for each ring of rows with equal stored vectors, unless the ring has one.
 * Rows below `known` are nodes already, or equal to such a row. Calls `stepped` after each row, and awaits its result. Returns
 * the number of arranged rows. It stops at the first row without room for its node.
 */
export async function arrange(
  nodes: Nodes,
  equal: EqualRows,
  { count, known }: { readonly count: number; readonly known: number },
  stepped: () => Promise<void> | undefined,
): Promise<number> {
  const isNode = (ordinal: number): boolean => ordinal < known && nodes.has(ordinal);
  const place = (ordinal: number): boolean => {
    const vector = equal.vectorOf(ordinal);
    if (vector === undefined) {
      nodes.leaveOut(ordinal);
      return true;
    }
    const first = equal.add(ordinal, vector);
    if (first !== NONE) nodes.share(first, ordinal);
    return first !== NONE || isNode(ordinal) || nodes.add(ordinal, vector);
  };
  // Known rows without a node come last: each equals a row with one, which has to be first in the ring.
  const last: number[] = [];
  let end = 0;
  for (; end < count; end++) {
    if (end < known && !nodes.has(end)) last.push(end);
    else if (!place(end)) break;
    const wait = stepped();
    if (wait !== undefined) await wait;
  }
  for (const ordinal of last) {
    if (!place(ordinal)) nodes.leaveOut(ordinal);
    const wait = stepped();
    if (wait !== undefined) await wait;
  }
  return end;
}
