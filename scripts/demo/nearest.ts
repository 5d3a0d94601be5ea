/** A search as a plain loop, to check the service's answers. */
import { quantise } from '../../shared/fixedPoint.js';
import { FIXED_ONE } from '../../shared/limits.js';

export interface Stored {
  readonly name: string;
  /** Vectors by record id. */
  readonly vectors: ReadonlyMap<number, Int32Array>;
}

export interface Hit {
  readonly collection: string;
  readonly id: number;
  readonly score: number;
}

/** The k nearest, by squared distance, collection and id. A sum of 784 squares of grey values is exact in a double. */
export function nearest(stored: readonly Stored[], query: readonly number[], k: number): Hit[] {
  const asked = quantise(query);
  const hits = stored.flatMap(({ name, vectors }) =>
    [...vectors].map(([id, vector]) => ({ collection: name, id, score: squaredDistance(asked, vector) })),
  );
  const byName = (a: Hit, b: Hit): number => Number(a.collection > b.collection) - Number(a.collection < b.collection);
  return hits.sort((a, b) => a.score - b.score || byName(a, b) || a.id - b.id).slice(0, k);
}

function squaredDistance(a: Int32Array, b: Int32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2;
  return sum / FIXED_ONE ** 2;
}
