/** Vectors of numbers to the bytes that travel: Q16.16, little-endian. */
import { quantiseInto } from '../../shared/fixedPoint.js';

const COMPONENT_BYTES = Int32Array.BYTES_PER_ELEMENT;

export const vectorSizeBytes = (dimension: number): number => COMPONENT_BYTES * dimension;

/** `rows` one after another; all of the same length. */
export function vectorBytes(rows: readonly (readonly number[])[]): Uint8Array {
  const dimension = rows[0]?.length ?? 0;
  const quantised = new Int32Array(rows.length * dimension);
  for (let i = 0; i < rows.length; i++) quantiseInto(rows[i]!, quantised, i * dimension);
  return new Uint8Array(quantised.buffer);
}
