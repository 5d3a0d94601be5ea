/** Returns the number of indexes below `count` that `isBelow` is true of: all up to some point. A binary search. */
export function partition(count: number, isBelow: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
