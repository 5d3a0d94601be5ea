/** V8's hash of an integer key of a `Map` (`ComputeUnseededHash`). */
export function publicHash(whole: number): number {
  let hash = whole >>> 0;
  hash = (~hash + (hash << 15)) >>> 0;
  hash = (hash ^ (hash >>> 12)) >>> 0;
  hash = (hash + (hash << 2)) >>> 0;
  hash = (hash ^ (hash >>> 4)) >>> 0;
  hash = Math.imul(hash, 2_057) >>> 0;
  return (hash ^ (hash >>> 16)) & 0x3fff_ffff;
}

/** Integers that share few buckets of a `Map` of that size. */
export function collidingNumbers(count: number): number[] {
  const numbers: number[] = [];
  for (let whole = 0; numbers.length < count; whole++) if ((publicHash(whole) & 0x3ff) === 0) numbers.push(whole);
  return numbers;
}
