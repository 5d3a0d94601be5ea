import { NO_LIST } from './payload.js';

/**
 * Sorts ordinals by their list. Returns a function that returns the ordinals of a list, ascending. Takes 4 bytes a row, and 4 a
 * list.
 */
export function rowsByList(assigned: Uint32Array, lists: number): (list: number) => Uint32Array {
  const ends = new Uint32Array(lists + 1);
  for (const list of assigned) if (list !== NO_LIST) ends[list + 1]!++;
  for (let list = 0; list < lists; list++) ends[list + 1]! += ends[list]!;
  const starts = ends.slice();
  const ordinals = new Uint32Array(ends[lists]!);
  assigned.forEach((list, ordinal) => {
    if (list !== NO_LIST) ordinals[ends[list]!++] = ordinal;
  });
  return (list) => ordinals.subarray(starts[list], starts[list + 1]);
}
