import type { IndexParameters } from '../../../shared/indexSpec.js';

const LISTS_MIN = 16;

/** Lists for so many rows: as asked for, else the square root of the rows; no more than rows, and at least one. */
export function listsFor(rows: number, { nList }: IndexParameters): number {
  const wanted = nList ?? Math.max(LISTS_MIN, Math.round(Math.sqrt(rows)));
  return Math.max(1, Math.min(wanted, rows));
}

/** Lists that a search reads: as asked for, else the square root of the lists. */
export function probesFor(lists: number, { nProbe }: IndexParameters): number {
  return Math.min(lists, nProbe ?? Math.max(1, Math.round(Math.sqrt(lists))));
}

export const sameBuild = (one: IndexParameters, other: IndexParameters): boolean => one.nList === other.nList;
