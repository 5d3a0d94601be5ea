/** Vectors for the benchmark of indexes. Random vectors are unsuitable: all are equally far from each other. */
import { DIMENSION, readDeal } from '../scripts/demo/digits.js';
import type { VectorSet } from './vectors.js';

/** One of so many digits is a query. */
const DIGITS_PER_QUERY = 50;

/** Handwritten digits, 784 grey values each. */
export async function digitVectors(): Promise<VectorSet> {
  const { even, odd } = await readDeal();
  const all = [...even, ...odd].map(({ pixels }) => pixels);
  const isQuery = (i: number): boolean => i % DIGITS_PER_QUERY === 0;
  const base = all.filter((_, i) => !isQuery(i));
  const queries = all.filter((_, i) => isQuery(i));
  return {
    name: 'digits',
    dimension: DIMENSION,
    count: base.length,
    decimals: undefined,
    base: Float32Array.from(base.flat()),
    queries: Float32Array.from(queries.flat()),
    queryCount: queries.length,
    nearest: undefined,
  };
}

/** The first rows of the set, without its ground truth. */
export function firstRows(set: VectorSet, count: number): VectorSet {
  if (set.count <= count) return set;
  return { ...set, count, base: set.base.subarray(0, count * set.dimension), nearest: undefined };
}
