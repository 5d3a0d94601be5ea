import { type EqualRows, NONE } from './equalRows.js';

/** Converts rows to nodes: one node per ring of rows whose stored vectors are equal. */
export interface Nodes {
  has(ordinal: number): boolean;
  /** Makes a node of a row, if there is room. */
  add(ordinal: number, vector: Int32Array): void;
  /** Adds a row whose vector equals that of the ordinal `first`, which is a node or was given to `add`. */
  share(first: number, ordinal: number): void;
  /** Leaves out a row that is gone, or that its code would not distinguish from others. */
  leaveOut(ordinal: number): void;
}

/**
 * Makes one node for each ring of equal rows below `count`, unless it has one. Ordinals below `known` are nodes, or
 * equal to a node's row. Calls `stepped` after each row and awaits its result.
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

/** Yields known rows without a node last, since each equals an earlier row. */
function* nodesFirst(count: number, known: number, isNode: (ordinal: number) => boolean): Generator<number> {
  const last: number[] = [];
  for (let ordinal = 0; ordinal < count; ordinal++)
    if (ordinal < known && !isNode(ordinal)) last.push(ordinal);
    else yield ordinal;
  yield* last;
}
