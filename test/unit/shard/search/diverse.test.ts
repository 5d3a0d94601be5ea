import { expect } from 'chai';
import { diverse } from '../../../../shard/search/diverse.js';
import type { Found } from '../../../../shard/search/found.js';
import { atOnce } from '../../../../shared/scheduling/slice.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

const bytesOf = (vector: readonly number[]): Uint8Array => new Uint8Array(Int32Array.from(vector).buffer);

/** Squared distance of the values whose components are given. */
const distance = (one: readonly number[], other: readonly number[]): number =>
  Number(one.reduce((sum, value, i) => sum + BigInt(value - other[i]!) ** 2n, 0n)) / 2 ** 32;

function chosen(vectors: readonly (readonly number[])[], k: number, diversity: number): number[] {
  const origin = vectors[0]!.map(() => 0);
  const near = vectors
    .map((vector, slot) => ({ slot, score: distance(vector, origin) }))
    .sort((a, b) => a.score - b.score || a.slot - b.slot);
  const pool: Found = {
    ids: Float64Array.from(near, ({ slot }) => slot + 1),
    slots: Uint32Array.from(near, ({ slot }) => slot),
    scores: Float64Array.from(near, ({ score }) => score),
  };
  return [...atOnce(diverse(pool, k, diversity, (slot) => bytesOf(vectors[slot]!))).ids];
}

function plainly(vectors: readonly (readonly number[])[], k: number, diversity: number): number[] {
  const origin = vectors[0]!.map(() => 0);
  const left = vectors
    .map((vector, slot) => ({ id: slot + 1, vector, score: distance(vector, origin) }))
    .sort((a, b) => a.score - b.score || a.id - b.id);
  const found = left.splice(0, 1);
  while (found.length < k && left.length > 0) {
    const values = left.map(({ vector, score }) => {
      const apart = Math.min(...found.map((one) => distance(one.vector, vector)));
      return (1 - diversity) * score - diversity * apart;
    });
    found.push(...left.splice(values.indexOf(Math.min(...values)), 1));
  }
  return found.map(({ id }) => id);
}

describe('diverse hits', () => {
  const one = 65_536;

  it('begin with the nearest one; the others are far from those before', () => {
    const line = [[one], [one + 1], [2 * one], [-2 * one]];
    expect(chosen(line, 3, 0)).to.deep.equal([1, 2, 3]);
    expect(chosen(line, 3, 0.5)).to.deep.equal([1, 4, 2]);
    expect(chosen(line, 9, 1)).to.deep.equal([1, 4, 3, 2]);
  });

  it('equal those of exact integers, also for the largest differences', () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < 300; round++) {
      const size = random.pick([3, 1_000, 2 ** 31]);
      const component = (): number => Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, random.int(2 * size) - size));
      const vectors = Array.from({ length: 1 + random.int(25) }, () => [component(), component(), component()]);
      const [k, diversity] = [1 + random.int(12), random.pick([0.1, 0.5, 0.9, 1])];
      expect(chosen(vectors, k, diversity)).to.deep.equal(plainly(vectors, k, diversity));
    }
  });

  it('are in the order of the pool if all are equal, and none if the pool is empty', () => {
    expect(chosen([[5], [5], [5]], 2, 1)).to.deep.equal([1, 2]);
    const empty = { ids: new Float64Array(0), slots: new Uint32Array(0), scores: new Float64Array(0) };
    expect([...atOnce(diverse(empty, 3, 1, () => bytesOf([]))).ids]).to.deep.equal([]);
  });
});
