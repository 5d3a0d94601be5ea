/** Vectors divided by their length, by the plainest way: doubles as fractions of BigInts, each operation rounded once. */

/** A fraction; its denominator is positive. */
type Fraction = readonly [numerator: bigint, denominator: bigint];

const MANTISSA_BITS = 52n;
const EXPONENT_BIAS = 1_075n;
/** More bits than a double has, so that a last bit for the rest decides every rounding. */
const PRECISION_BITS = 80;

function fractionOf(double: number): Fraction {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, double);
  const whole = bits.getBigUint64(0);
  const exponent = (whole >> MANTISSA_BITS) & 0x7ffn;
  const fraction = whole & ((1n << MANTISSA_BITS) - 1n);
  const mantissa = (exponent === 0n ? fraction : fraction | (1n << MANTISSA_BITS)) * (double < 0 ? -1n : 1n);
  const power = (exponent === 0n ? 1n : exponent) - EXPONENT_BIAS;
  return power >= 0n ? [mantissa << power, 1n] : [mantissa, 1n << -power];
}

const bitLength = (value: bigint): number => value.toString(2).length;

/** The nearest double; of two the even one. */
function rounded([numerator, denominator]: Fraction): number {
  if (numerator === 0n) return 0;
  const size = numerator < 0n ? -numerator : numerator;
  const shift = Math.max(0, PRECISION_BITS - bitLength(size) + bitLength(denominator));
  const scaled = size << BigInt(shift);
  const hasRest = scaled % denominator !== 0n;
  // A conversion of a BigInt rounds to the nearest double, half to even.
  const double = scaledBy(Number(((scaled / denominator) << 1n) | (hasRest ? 1n : 0n)), -shift - 1);
  return numerator < 0n ? -double : double;
}

/** Two factors, since a power alone may be below the range of doubles. */
const scaledBy = (double: number, power: number): number =>
  double * 2 ** Math.ceil(power / 2) * 2 ** Math.floor(power / 2);

const product = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d];
const sumOf = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d];

function squareRoot(value: bigint): bigint {
  if (value === 0n) return 0n;
  let root = 1n << BigInt((bitLength(value) + 1) >> 1);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

function rootOf(double: number): number {
  const [numerator, denominator] = fractionOf(double);
  // √(n / d) = √(n · d) / d.
  const scaled = (numerator * denominator) << BigInt(2 * PRECISION_BITS);
  const root = squareRoot(scaled);
  const rest = root * root === scaled ? 0n : 1n;
  return rounded([(root << 1n) | rest, denominator << BigInt(PRECISION_BITS + 1)]);
}

function lengthOf(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) {
    const square = rounded(product(fractionOf(value), fractionOf(value)));
    sum = rounded(sumOf(fractionOf(sum), fractionOf(square)));
  }
  return rootOf(sum);
}

/** Half to even. */
function nearestWhole([numerator, denominator]: Fraction): number {
  const doubled = 2n * numerator;
  const floor = (doubled + denominator) / (2n * denominator);
  const down = floor * 2n * denominator > doubled + denominator ? floor - 1n : floor;
  const isTie = down * 2n * denominator === doubled + denominator;
  return Number(isTie && down % 2n !== 0n ? down - 1n : down);
}

/** The components that a collection with `normalise` stores: whole numbers of 2^-20. */
export function unitSteps(values: readonly number[]): number[] {
  const isSmall = lengthOf(values) < 2 ** -450;
  const given = isSmall ? values.map((value) => value * 2 ** 600) : values;
  const length = fractionOf(lengthOf(given));
  return given.map((value) => {
    const [numerator, denominator] = fractionOf(value);
    const share = rounded([numerator * length[1], denominator * length[0]]);
    return nearestWhole(product(fractionOf(share), [1n << 20n, 1n]));
  });
}

/** The squared distance of stored components. */
export const unitScore = (one: readonly number[], other: readonly number[]): number =>
  Number(one.reduce((sum, value, i) => sum + (BigInt(value) - BigInt(other[i]!)) ** 2n, 0n)) / 2 ** 40;
