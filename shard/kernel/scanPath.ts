/** Which of the kernel's ways through a block is exact for the components in it, and which of those is fastest. */

/** The way for any components. The others are the narrow one with a sieve shift, which is 0 for no sieve. */
export const WIDE = -1;
export type ScanPath = typeof WIDE | 0 | 4 | 8 | 12 | 16;

const SIEVE_SHIFTS = [4, 8, 12, 16] as const;
/** A cut difference is below 2^12, so that 256 squares fit u32; the cut adds up to one. See `assembly/sieve.ts`. */
const SIEVED_REACH_MAX = 4_094;
/** With fewer the sieve has nothing to look at. */
const SIEVED_DIMENSION_MIN = 5;

/**
 * The largest difference of components, M = max|row| + max|query|, for which the narrow way is exact:
 * M <= 2^31 − 1, and dimension × M² < 2^63.
 */
export function narrowReach(dimension: number): number {
  const fits = (reach: bigint): boolean => BigInt(dimension) * reach * reach < 2n ** 63n;
  let reach = BigInt(Math.floor(Math.min(Math.sqrt(2 ** 63 / dimension), 2 ** 31 - 1)));
  while (!fits(reach)) reach--;
  while (reach < 2n ** 31n - 1n && fits(reach + 1n)) reach++;
  return Number(reach);
}

/** `reach`: max|row| of a block + max|query|; `narrowReach`: that of the dimension. */
export function scanPath(dimension: number, reach: number, narrowReach: number): ScanPath {
  if (reach > narrowReach) return WIDE;
  if (dimension < SIEVED_DIMENSION_MIN) return 0;
  for (const shift of SIEVE_SHIFTS) if (Math.floor(reach / (1 << shift)) <= SIEVED_REACH_MAX) return shift;
  return 0;
}
