/**
 * Adds an id to a list in which some may be gone, and returns the list, or a shorter one that has only what is left. It
 * is looked through when its length has doubled, and replaced where half of it is gone: that costs a step an id in the
 * mean, and bounds what is dead to half of the list. A list is never shortened in place, so that a walk may hold it.
 */
export function appendId(list: number[] | undefined, id: number, isThere: (id: number) => boolean): number[] {
  if (list === undefined) return [id];
  list.push(id);
  const { length } = list;
  if (length < LOOKED_THROUGH_FROM || (length & (length - 1)) !== 0) return list;
  let left = 0;
  for (const each of list) if (isThere(each)) left++;
  return 2 * left <= length ? list.filter(isThere) : list;
}

const LOOKED_THROUGH_FROM = 32;
