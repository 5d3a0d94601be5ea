/** Q16.16 fixed point: a component is a whole number of 65536ths, an i32. */
import { FIXED_ONE } from './limits.js';

/** Added to a number below 2^51, leaves no bits for a fraction: the sum is rounded to a whole number, half to even. */
const ROUNDER = 1.5 * 2 ** 52;

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

/** The nearest f32 of each component; `bytes`: components, little-endian, at any alignment. */
export function dequantise(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / 4 }, (_, i) => Math.fround(view.getInt32(4 * i, true) / FIXED_ONE));
}
