/** Seeded randomness: the same seed gives the same numbers, on every machine. */

export interface SeededRandom {
  /** In [0, 1). */
  next(): number;
  /** Integer in [0, n). */
  int(n: number): number;
  pick<T>(array: readonly T[]): T;
}

/** Mulberry32: 32 bits of state, good enough to vary a test. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (n: number): number => Math.floor(next() * n);
  return { next, int, pick: (array) => array[int(array.length)]! };
}
