/** The doubles beside a double (IEEE 754: their bits are those of neighbouring integers), so that `<` becomes `<=`. */
const bits = new BigInt64Array(1);
const double = new Float64Array(bits.buffer);

/** The least double above `value`; infinity has none but NaN, which nothing compares with. */
export function nextAbove(value: number): number {
  if (value === Infinity) return Number.NaN;
  if (value === 0) return Number.MIN_VALUE;
  double[0] = value;
  bits[0]! += value > 0 ? 1n : -1n;
  return double[0];
}

export const nextBelow = (value: number): number => -nextAbove(-value);
