import { type EqualRows, NONE } from './equalRows.js';

/** The nodes that rows become, one of each ring of rows whose stored vectors are equal. */
export interface Nodes {
  has(ordinal: number): boolean;
  /** Makes a node of a row, if there is room. */
  add(ordinal: number, vector: Int32Array): void;
  /** A row equals that of the ordinal `first`, which `add` was asked to make a node of, or which is one. */
  share(first: number, ordinal: number): void;
  /** A row is gone, or nothing that is stored would tell it from others. */
  leaveOut(ordinal: number): void;
}

/**
 * Makes nodes of the rows below `count`, one of each ring of equal rows, where they are none yet. Ordinals below `known` are
 * nodes, or equal to a row that is. Calls `stepped` after each row and awaits its result.
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

/** Yields the known rows that are no node last: they are equal to one that comes before. */
function* nodesFirst(count: number, known: number, isNode: (ordinal: number) => boolean): Generator<number> {
  const last: number[] = [];
  for (let ordinal = 0; ordinal < count; ordinal++)
    if (ordinal < known && !isNode(ordinal)) last.push(ordinal);
    else yield ordinal;
  yield* last;
}
