/** Sets of slots that a part of a filter selects, and their combinations. */
import type { BitSet } from '../kernel/bitSet.js';

/** The slots that a filter, or a part of it, selects. No other slot matches. */
export interface Selected {
  /** Matching slots, in a set that the caller may change. */
  readonly matching: BitSet;
  /** Slots whose metadata must be read to decide, not in `matching`; undefined for none. */
  readonly doubtful: BitSet | undefined;
}

export const orNone = (slots: BitSet): BitSet | undefined => (slots.isEmpty ? undefined : slots);

/** Intersects. Changes the sets of `one`. */
export function both(one: Selected, other: Selected): Selected {
  if (one.doubtful === undefined && other.doubtful === undefined)
    return { matching: one.matching.intersect(other.matching), doubtful: undefined };
  const possible = possibleIn(one).intersect(possibleIn(other));
  const matching = one.matching.intersect(other.matching);
  return { matching, doubtful: orNone(possible.subtract(matching)) };
}

/** Unites. Changes the sets of `one`. */
export function either(one: Selected, other: Selected): Selected {
  const matching = one.matching.unite(other.matching);
  if (one.doubtful === undefined && other.doubtful === undefined) return { matching, doubtful: undefined };
  const possible = possibleIn({ matching, doubtful: one.doubtful });
  if (other.doubtful !== undefined) possible.unite(other.doubtful);
  return { matching, doubtful: orNone(possible.subtract(matching)) };
}

/** Returns the slots of `universe` that are not selected. */
export function allBut(universe: BitSet, { matching, doubtful }: Selected): Selected {
  const others = universe.clone().subtract(matching);
  return { matching: doubtful === undefined ? others : others.subtract(doubtful), doubtful };
}

const possibleIn = ({ matching, doubtful }: Selected): BitSet =>
  doubtful === undefined ? matching.clone() : matching.clone().unite(doubtful);
