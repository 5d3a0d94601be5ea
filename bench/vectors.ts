/** Vectors and queries of the benchmarks: random ones, or real ones from a folder. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quantiseInto } from '../shared/fixedPoint.js';

export interface VectorSet {
  readonly name: string;
  readonly dimension: number;
  readonly count: number;
  /** Decimals of the components in JSON; undefined: all. */
  readonly decimals: number | undefined;
  /** Components, row by row. */
  readonly base: Float32Array;
  /** Components, row by row. */
  readonly queries: Float32Array;
  readonly queryCount: number;
  /** The numbers of the 100 nearest rows of each query, exact, if they are known. */
  readonly nearest: Int32Array | undefined;
}

/** `random 100000 × 128` */
export const setText = ({ name, count, dimension }: VectorSet): string => `${name} ${count} × ${dimension}`;

/** mulberry32 with a seed, so that every run has equal vectors. */
export function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Decimals of random components: about the precision of f32 near 1. */
const DECIMALS = 6;
const QUERIES = 200;

/** Components between -1 and 1. */
export function randomVectors(dimension: number, count: number, queryCount = QUERIES): VectorSet {
  const random = generator(dimension * 31 + count);
  const fill = (rows: number): Float32Array => Float32Array.from({ length: rows * dimension }, () => random() * 2 - 1);
  const base = fill(count);
  return {
    name: 'random',
    dimension,
    count,
    decimals: DECIMALS,
    base,
    queries: fill(queryCount),
    queryCount,
    nearest: undefined,
  };
}

const CENTRES = 1_000;
/** Largest difference between a component of a row and that of its centre. Components of centres are between -1 and 1. */
const SPREAD = 0.4;

/** Returns a function that makes the next rows around random centres. The rows do not depend on how many each call makes. */
export function clusteredRows(dimension: number, count: number): (rows: number) => Float32Array<ArrayBuffer> {
  const random = generator(dimension * 37 + count);
  const centres = Float32Array.from({ length: CENTRES * dimension }, () => random() * 2 - 1);
  return (rows) => {
    const values = new Float32Array(rows * dimension);
    for (let row = 0; row < rows; row++) {
      const centre = Math.floor(random() * CENTRES) * dimension;
      for (let i = 0; i < dimension; i++)
        values[row * dimension + i] = centres[centre + i]! + (random() * 2 - 1) * SPREAD;
    }
    return values;
  };
}

/** Vectors around random centres, and queries around the same centres. */
export function clusteredVectors(dimension: number, count: number, queryCount = QUERIES): VectorSet {
  const next = clusteredRows(dimension, count);
  const base = next(count);
  const queries = next(queryCount);
  return { name: 'clusters', dimension, count, decimals: DECIMALS, base, queries, queryCount, nearest: undefined };
}

const GLOVE_DIMENSION = 100;

/** GloVe word vectors: `glove100k.f32`, `glove.queries.f32` and `glove.gt100.i32` in the folder, little-endian. */
export async function realVectors(folder: string): Promise<VectorSet> {
  const [base, queries, nearest] = await Promise.all(
    ['glove100k.f32', 'glove.queries.f32', 'glove.gt100.i32'].map(async (file) => {
      const bytes = await readFile(join(folder, file));
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    }),
  );
  const vectors = new Float32Array(base as ArrayBuffer);
  const asked = new Float32Array(queries as ArrayBuffer);
  return {
    name: 'GloVe',
    dimension: GLOVE_DIMENSION,
    count: vectors.length / GLOVE_DIMENSION,
    decimals: undefined,
    base: vectors,
    queries: asked,
    queryCount: asked.length / GLOVE_DIMENSION,
    nearest: new Int32Array(nearest as ArrayBuffer),
  };
}

/** Rows `from` to `to` of `values` in fixed point, as calls have them. */
export function fixedBytes(values: Float32Array, dimension: number, from: number, to: number): Uint8Array {
  const fixed = new Int32Array((to - from) * dimension);
  quantiseInto([...values.subarray(from * dimension, to * dimension)], fixed, 0);
  return new Uint8Array(fixed.buffer);
}

/** Rows `from` to `to` of the set's `values` as a client's JSON. */
export function jsonRows(
  { dimension, decimals }: VectorSet,
  values: Float32Array,
  from: number,
  to: number,
): number[][] {
  const number = decimals === undefined ? (value: number) => value : (value: number) => Number(value.toFixed(decimals));
  return Array.from({ length: to - from }, (_, row) =>
    Array.from(values.subarray((from + row) * dimension, (from + row + 1) * dimension), number),
  );
}
