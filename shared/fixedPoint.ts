/** Components and distances in fixed point: a component is an i32, a whole number of steps. */
import { FIXED_ONE, UNIT_ONE } from './limits.js';

/**
 * How a collection stores vectors: `plain`, as they are given, in Q16.16; `unit`, divided by their length, with four more bits
 * of a fraction.
 */
export type Scale = 'plain' | 'unit';

export const scaleOf = ({ normalise }: { readonly normalise?: true }): Scale => (normalise ? 'unit' : 'plain');

/** Number of steps in a component of 1. */
const ONE: Readonly<Record<Scale, number>> = { plain: FIXED_ONE, unit: UNIT_ONE };

/** The distance 1 as shards count it, always by steps of `plain`. It is a power of two, so that division by it is exact. */
const DISTANCE_ONE: Readonly<Record<Scale, number>> = { plain: 1, unit: (UNIT_ONE / FIXED_ONE) ** 2 };

/** Added to a number below 2^51, leaves no bits for a fraction: the sum is rounded to a whole number, half to even. */
const ROUNDER = 1.5 * 2 ** 52;

/** A sum of squares below this may be inexact: squares of tiny components can fall below the range of doubles. */
const SUM_MIN = 2 ** -900;
/** Multiplies tiny components exactly, so that their squares lose nothing: `2^-1074 × 2^600` squared is 2^-948. */
const ENLARGED = 2 ** 600;

/** round-half-to-even(v × 65536). The value is within VALUE_MIN and VALUE_MAX. */
export const fixedOf = (value: number): number => value * FIXED_ONE + ROUNDER - ROUNDER;

/** Writes the fixed-point number of each value to `target`, from `offset` on. */
export function quantiseInto(values: readonly number[], target: Int32Array, offset: number): void {
  for (let i = 0; i < values.length; i++) target[offset + i] = fixedOf(values[i]!);
}

export function quantise(values: readonly number[]): Int32Array {
  const components = new Int32Array(values.length);
  quantiseInto(values, components, 0);
  return components;
}

/**
 * Writes round-half-to-even(v / length × 2^20) of each value to `target`, from `offset` on. The length is the square root of the
 * sum of squares, added in order. Every step is one operation on doubles, so all machines get the same bits. Returns false,
 * and writes nothing, for a vector of zeros.
 */
export function normaliseInto(values: ArrayLike<number>, target: Int32Array, offset: number): boolean {
  let factor = 1;
  let sum = sumOfSquares(values, factor);
  if (sum < SUM_MIN) {
    factor = ENLARGED;
    sum = sumOfSquares(values, factor);
    if (sum === 0) return values.length === 0;
  }
  const length = Math.sqrt(sum);
  for (let i = 0; i < values.length; i++)
    target[offset + i] = ((values[i]! * factor) / length) * UNIT_ONE + ROUNDER - ROUNDER;
  return true;
}

function sumOfSquares(values: ArrayLike<number>, factor: number): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]! * factor;
    sum += value * value;
  }
  return sum;
}

/** The nearest f32 of each component; `bytes`: components, little-endian, at any alignment. */
export function dequantise(bytes: Uint8Array, scale: Scale): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const one = ONE[scale];
  const values = new Array<number>(bytes.byteLength / 4);
  for (let i = 0; i < values.length; i++) values[i] = Math.fround(view.getInt32(4 * i, true) / one);
  return values;
}

/** Each component exactly. */
export function componentsIn(bytes: Uint8Array, scale: Scale): Float64Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const one = ONE[scale];
  const components = new Float64Array(bytes.byteLength / 4);
  for (let i = 0; i < components.length; i++) components[i] = view.getInt32(4 * i, true) / one;
  return components;
}

/** Distances of a shard as callers see them. Changes `distances`. */
export function shownDistances(distances: Float64Array, scale: Scale): Float64Array {
  const one = DISTANCE_ONE[scale];
  if (one !== 1) for (let i = 0; i < distances.length; i++) distances[i] = distances[i]! / one;
  return distances;
}

/** Converts a caller's distance to the one that shards compare with. The result is finite. */
export const searchedDistance = (distance: number, scale: Scale): number =>
  Math.min(distance * DISTANCE_ONE[scale], Number.MAX_VALUE);

/** Converts a stored vector to a query of a collection in another scale. Undefined for a vector of zeros that becomes `unit`. */
export function inScale(bytes: Uint8Array, from: Scale, to: Scale): Uint8Array | undefined {
  if (from === to) return bytes;
  const values = componentsIn(bytes, from);
  const components = new Int32Array(values.length);
  if (to === 'plain') quantiseInto(values as unknown as readonly number[], components, 0);
  else if (!normaliseInto(values, components, 0)) return undefined;
  return new Uint8Array(components.buffer);
}
