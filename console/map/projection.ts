/** Principal components: the plane in which points differ the most. */

export interface Points {
  /** `count` × `dimension`, row by row. */
  readonly rows: Float32Array;
  readonly count: number;
  readonly dimension: number;
}

export interface Plane {
  /** The coordinates, one of each for each point. */
  readonly x: Float32Array;
  readonly y: Float32Array;
  /** The share of the variance within the plane, 0 to 1. */
  readonly share: number;
}

/** Enough for a picture: the angle to the true axis no longer changes visibly. */
const ROUNDS = 40;

/** Projects the points to their first two principal components, by power iteration. It reads the points some 160 times. */
export function project({ rows, count, dimension }: Points): Plane {
  const centred = centre(rows, count, dimension);
  const all = sumOfSquares(centred);
  const x = component(centred, count, dimension);
  const y = component(centred, count, dimension);
  const shown = sumOfSquares(x) + sumOfSquares(y);
  return { x, y, share: all === 0 ? 1 : shown / all };
}

function centre(rows: Float32Array, count: number, dimension: number): Float32Array {
  const centred = Float32Array.from(rows);
  for (let column = 0; column < dimension; column++) {
    let sum = 0;
    for (let row = 0; row < count; row++) sum += rows[row * dimension + column]!;
    const mean = sum / Math.max(1, count);
    for (let row = 0; row < count; row++) centred[row * dimension + column]! -= mean;
  }
  return centred;
}

/** Returns the coordinates of the points along the axis of the largest variance, and removes that component from the points. */
function component(rows: Float32Array, count: number, dimension: number): Float32Array {
  // A start that is unlikely to be orthogonal to the axis; the same each time, so that a map does not turn.
  let axis: Float32Array = Float32Array.from({ length: dimension }, (_, i) => Math.sin(i + 1));
  let along: Float32Array = new Float32Array(count);
  for (let round = 0; round < ROUNDS; round++) {
    const length = Math.sqrt(sumOfSquares(axis));
    if (length === 0) break;
    axis = axis.map((value) => value / length);
    along = alongAxis(rows, axis, count, dimension);
    axis = weighted(rows, along, count, dimension);
  }
  const length = Math.sqrt(sumOfSquares(axis));
  if (length === 0) return along;
  axis = axis.map((value) => value / length);
  along = alongAxis(rows, axis, count, dimension);
  for (let row = 0; row < count; row++)
    for (let column = 0; column < dimension; column++) rows[row * dimension + column]! -= along[row]! * axis[column]!;
  return along;
}

function alongAxis(rows: Float32Array, axis: Float32Array, count: number, dimension: number): Float32Array {
  const along = new Float32Array(count);
  for (let row = 0; row < count; row++) {
    let sum = 0;
    for (let column = 0; column < dimension; column++) sum += rows[row * dimension + column]! * axis[column]!;
    along[row] = sum;
  }
  return along;
}

function weighted(rows: Float32Array, along: Float32Array, count: number, dimension: number): Float32Array {
  const sums = new Float32Array(dimension);
  for (let row = 0; row < count; row++)
    for (let column = 0; column < dimension; column++) sums[column]! += rows[row * dimension + column]! * along[row]!;
  return sums;
}

const sumOfSquares = (values: Float32Array): number => values.reduce((sum, value) => sum + value * value, 0);
