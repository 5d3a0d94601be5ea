/** Distances in the simplest way: BigInt over Q16.16 integers. */

/** Rounds exact halves to even. */
function fixed(value: number): bigint {
  const scaled = value * 65_536;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  if (rest !== 0.5) return BigInt(Math.round(scaled));
  return BigInt(floor % 2 === 0 ? floor : floor + 1);
}

/** Sum of squared integer differences. */
export function totalOf(a: readonly number[], b: readonly number[]): bigint {
  return a.reduce((sum, value, i) => sum + (fixed(value) - fixed(b[i] as number)) ** 2n, 0n);
}

/** total / 2^32, rounded once: both halves are exact. */
export const scoreOf = (total: bigint): number => Number(total >> 32n) + Number(total & 0xffffffffn) / 2 ** 32;
