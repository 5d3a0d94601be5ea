/** The bytes that a collection may have stored for a vector: i32, little-endian. */

/** The stored integer of a component of 1 in a collection that keeps the lengths of vectors. */
const FIXED_ONE = 2 ** 16;
/** The stored integer of a component of 1 in a collection that divides vectors by their length. */
const UNIT_ONE = 2 ** 20;
const I32_MIN = -(2 ** 31);
const I32_MAX = 2 ** 31 - 1;
/** Where the sum of squares is less, components are first multiplied by 2^600: their squares are below the range of doubles. */
const SUM_MIN = 2 ** -900;
const ENLARGED = 2 ** 600;

/**
 * The forms in turn. First the vector as given, in Q16.16. Then divided by its length, as a collection with `normalise` stores it.
 * Last as such a collection shows what it has stored. Only one of them has the hash that the service has proved. Throws an Error for a number
 * that no record can have.
 */
export function* storedVectors(values: readonly number[]): Generator<Uint8Array> {
  yield bytesOf(values.map((value) => fixed(value)));
  const divided = dividedByLength(values);
  if (divided !== undefined) yield bytesOf(divided);
  const steps = values.map((value) => value * UNIT_ONE);
  if (steps.every((step) => Number.isInteger(step) && Math.abs(step) <= UNIT_ONE)) yield bytesOf(steps);
}

function fixed(value: number): number {
  const steps = rounded(value * FIXED_ONE);
  if (steps < I32_MIN || steps > I32_MAX) throw new Error(`values holds ${value}, which no record can have`);
  return steps;
}

/** Undefined for a vector of zeros. */
function dividedByLength(values: readonly number[]): number[] | undefined {
  const isSmall = sumOfSquares(values) < SUM_MIN;
  const enlarged = isSmall ? values.map((value) => value * ENLARGED) : values;
  const length = Math.sqrt(sumOfSquares(enlarged));
  return length === 0 ? undefined : enlarged.map((value) => rounded((value / length) * UNIT_ONE));
}

function sumOfSquares(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return sum;
}

/** Half to even. */
function rounded(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

function bytesOf(components: readonly number[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(4 * components.length));
  for (const [i, component] of components.entries()) bytes.setInt32(4 * i, component, true);
  return new Uint8Array(bytes.buffer);
}
