/** The vectors of a body as the bytes of calls: i32 in the scale of the collection, little-endian. */
import type { VouchError } from '../../shared/errors/errors.js';
import { normaliseInto, quantiseInto, type Scale } from '../../shared/fixedPoint.js';
import { longMemory } from '../../shared/longMemory.js';
import { invalid } from '../contract/refusal.js';

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

/** The vectors that were read from the bytes of a body. */
export interface TakenVectors {
  readonly scale: Scale;
  /**
   * In the rest of the body, each vector or batch has a single number in its place: an index into this list. Null: the vectors
   * are in the body's value itself.
   */
  readonly rows: readonly Rows[] | null;
}

/** The vectors of a batch. Throws `validation_error` for a vector of zeros that has to be divided by its length. */
export const rowsOf = (batch: readonly (readonly number[])[], { scale, rows }: TakenVectors, path: string): Rows =>
  rows === null ? stored(batch, scale, (i) => `${path}[${i}]`) : rows[batch[0]![0]!]!;

/** A single vector. Throws as `rowsOf`. */
export const rowOf = (vector: readonly number[], { scale, rows }: TakenVectors, path: string): Rows =>
  rows === null ? stored([vector], scale, () => path) : rows[vector[0]!]!;

function stored(batch: readonly (readonly number[])[], scale: Scale, pathOf: (i: number) => string): Rows {
  const dimension = batch[0]?.length ?? 0;
  const unevenAt = batch.findIndex((row) => row.length !== dimension);
  const components = new Int32Array(unevenAt < 0 ? batch.length * dimension : 0);
  if (unevenAt < 0)
    for (let i = 0; i < batch.length; i++) {
      if (scale === 'plain') quantiseInto(batch[i]!, components, i * dimension);
      else if (!normaliseInto(batch[i]!, components, i * dimension)) throw withoutLength(pathOf(i));
    }
  return rowsIn(components, dimension, batch.length, unevenAt);
}

/**
 * Room for the components of `count` vectors, with arbitrary content. It is long memory, which the thread that gets the vectors can
 * reuse once they are stored.
 */
export function roomForRows(dimension: number, count: number): Int32Array<ArrayBuffer> {
  const { buffer } = longMemory(vectorSizeBytes(dimension * count));
  return new Int32Array(buffer, 0, Math.floor(buffer.byteLength / COMPONENT_BYTES));
}

export const withoutLength = (path: string): VouchError =>
  invalid(
    `${path} holds only zeros, and a vector of length 0 has no direction: its collection was made with normalise`,
  );

export const rowsIn = (components: Int32Array, dimension: number, count: number, unevenAt = -1): Rows => ({
  count,
  dimension,
  unevenAt,
  bytes: new Uint8Array(components.buffer, components.byteOffset, components.byteLength),
});
