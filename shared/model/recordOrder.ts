/**
 * The order of records by their values at a metadata path.
 *
 * Ascending: false, true, numbers, dates by time, other strings by UTF-16 code units. Descending is the reverse. In both,
 * records without a value come last, and equal values are in the order of their ids.
 */

export interface RecordOrder {
  /** Metadata path with dots. */
  readonly path: string;
  readonly isDescending: boolean;
}

/** The kinds of values, in their ascending order. */
export const RANK = { boolean: 0, number: 1, date: 2, string: 3, missing: 4 } as const;
export type Rank = (typeof RANK)[keyof typeof RANK];

/** A value as it is compared: numbers for numbers and booleans, the instant of a date; 0 for a missing one. */
export interface OrderValue {
  readonly rank: Rank;
  readonly value: number | string;
}

export interface OrderPlace extends OrderValue {
  readonly id: number;
}

export const MISSING: OrderValue = { rank: RANK.missing, value: 0 };

/** Negative if `a` comes first, positive if `b` does, 0 for equal values. */
export function compareValues(a: OrderValue, b: OrderValue, { isDescending }: RecordOrder): number {
  const rank = a.rank - b.rank;
  if (rank !== 0 && (a.rank === RANK.missing || b.rank === RANK.missing)) return rank;
  const ascending = rank || (a.value < b.value ? -1 : a.value > b.value ? 1 : 0);
  return isDescending ? -ascending : ascending;
}

/** Compares a value and the id of its record with a place, as `compareValues`. */
export const compareToPlace = (value: OrderValue, id: number, place: OrderPlace, order: RecordOrder): number =>
  compareValues(value, place, order) || id - place.id;
