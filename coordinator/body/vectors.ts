/** The vectors of a body as the bytes of calls: Q16.16, little-endian. */
import { quantiseInto } from '../../shared/fixedPoint.js';

const COMPONENT_BYTES = Int32Array.BYTES_PER_ELEMENT;

export const vectorSizeBytes = (dimension: number): number => COMPONENT_BYTES * dimension;
export const dimensionOf = (vector: Uint8Array): number => vector.length / COMPONENT_BYTES;

/** One or more vectors, one after another. */
export interface Rows {
  readonly count: number;
  /** The length of the first vector; 0 without one. */
  readonly dimension: number;
  /** The first vector of another length, or -1. `bytes` is empty if there is one. */
  readonly unevenAt: number;
  readonly bytes: Uint8Array;
}

/**
 * Vectors that were read from the bytes of a body. In the rest of the body, each vector or batch has a single number in its
 * place: an index into this list. Null: the vectors are in the body's value itself.
 */
export type TakenVectors = readonly Rows[] | null;

/** The vectors of a batch. */
export const rowsOf = (batch: readonly (readonly number[])[], taken: TakenVectors): Rows =>
  taken === null ? quantised(batch) : taken[batch[0]![0]!]!;

/** A single vector. */
export const rowOf = (vector: readonly number[], taken: TakenVectors): Rows =>
  taken === null ? quantised([vector]) : taken[vector[0]!]!;

function quantised(batch: readonly (readonly number[])[]): Rows {
  const dimension = batch[0]?.length ?? 0;
  const unevenAt = batch.findIndex((row) => row.length !== dimension);
  const components = new Int32Array(unevenAt < 0 ? batch.length * dimension : 0);
  if (unevenAt < 0) for (let i = 0; i < batch.length; i++) quantiseInto(batch[i]!, components, i * dimension);
  return rowsIn(components, dimension, batch.length, unevenAt);
}

export const rowsIn = (components: Int32Array, dimension: number, count: number, unevenAt = -1): Rows => ({
  count,
  dimension,
  unevenAt,
  bytes: new Uint8Array(components.buffer, components.byteOffset, components.byteLength),
});
