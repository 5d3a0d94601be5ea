import { type EqualRows, NONE } from './equalRows.js';

/** The nodes of a graph, for `arrange`. */
export interface Nodes {
  /** Whether a row has a node of its own. */
  has(ordinal: number): boolean;
  /** Makes a node of a row, if there is room. */
  add(ordinal: number, vector: Int32Array): void;
  /** Lets a row share the node of the row `first`, whose stored vector is equal. `add` may have refused that row. */
  share(first: number, ordinal: number): void;
  /** Leaves out a row that is gone, or whose code would not distinguish it from others. */
  leaveOut(ordinal: number): void;
}

/**
 * Arranges the rows below `count` into nodes: one for each ring of rows with equal stored vectors, unless the ring has one.
 * Rows below `known` are nodes already, or equal to such a row. Calls `stepped` after each row, and awaits its result.
 */
export async function arrange(
  nodes: Nodes,
  equal: EqualRows,
  { count, known }: { readonly count: number; readonly known: number },
  stepped: () => Promise<void> | undefined,
): Promise<void> {
  const isNode = (ordinal: number): boolean => ordinal < known && nodes.has(ordinal);
  for (const ordinal of nodesFirst(count, known, isNode)) {
    const vector = equal.vectorOf(ordinal);
    if (vector === undefined) nodes.leaveOut(ordinal);
    else {
      const first = equal.add(ordinal, vector);
      if (first !== NONE) nodes.share(first, ordinal);
      else if (!isNode(ordinal)) nodes.add(ordinal, vector);
    }
    const wait = stepped();
    if (wait !== undefined) await wait;
  }
}

/** Yields all ordinals, known ones without a node last: each equals a row with one, which has to be first in the ring. */
function* nodesFirst(count: number, known: number, isNode: (ordinal: number) => boolean): Generator<number> {
  const last: number[] = [];
  for (let ordinal = 0; ordinal < count; ordinal++)
    if (ordinal < known && !isNode(ordinal)) last.push(ordinal);
    else yield ordinal;
  yield* last;
}
