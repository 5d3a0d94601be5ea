/** The components that a collection stores for a vector, by the formula of `docs/formats.md`. */
import type { CollectionLog } from './log.js';

/** Steps of a component of 1. */
const UNIT_ONE = 2 ** 20;

/** `vector`: whole numbers, not all of them 0. */
export const storedIn = (
  { isNormalised }: Pick<CollectionLog, 'isNormalised'>,
  vector: readonly number[],
): readonly number[] => (isNormalised ? dividedByLength(vector) : vector);

function dividedByLength(vector: readonly number[]): number[] {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  return vector.map((value) => halfToEven((value / length) * UNIT_ONE) / UNIT_ONE);
}

function halfToEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
