import { expect } from 'chai';
import { distanceOf, type Found } from '../../../../shard/search/found.js';
import { fuse } from '../../../../shard/search/fuse.js';
import type { Fusion } from '../../../../shared/protocol/calls.js';
import { atOnce } from '../../../../shared/scheduling/slice.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

/** Slots are ten times the ids. */
const pool = (...hits: readonly (readonly [id: number, score: number, factor?: number])[]): Found => ({
  ids: Float64Array.from(hits, ([id]) => id),
  slots: Uint32Array.from(hits, ([id]) => 10 * id),
  scores: Float64Array.from(hits, ([, score]) => score),
  ...(hits[0]?.[2] === undefined
    ? {}
    : {
        aged: {
          factors: Float64Array.from(hits, ([, , factor]) => factor!),
          agesSecs: Float64Array.from(hits, ([id]) => 100 * id),
        },
      }),
});

/** Blends with a text score for each id. */
const blended = (hits: Found, bm25: (id: number) => number, k: number, fusion?: Fusion): Found =>
  atOnce(fuse({ hits, bm25: hits.ids.map((id) => bm25(id)) }, k, fusion));

const texts =
  (bm25: Readonly<Record<number, number>>) =>
  (id: number): number =>
    bm25[id] ?? 0;
const ids = (found: Found): number[] => [...found.ids];

describe('the fusion of distance and text', () => {
  it('adds both with equal weights by default, each scaled to 0..1 over the pool', () => {
    // Vector parts 1, 0.75, 0.5, 0; text parts 0, 0.25, 1, 0.5: together 0.5, 0.5, 0.75, 0.25.
    const found = blended(pool([1, 2], [2, 4], [3, 6], [4, 10]), texts({ 1: 1, 2: 2, 3: 5, 4: 3 }), 4);
    expect(ids(found)).to.deep.equal([3, 1, 2, 4]);
  });

  it('keeps distances as scores, and the slots of the records', () => {
    const found = blended(pool([1, 2], [2, 4], [3, 6]), texts({ 3: 9 }), 2);
    expect([...found.scores]).to.deep.equal([2, 6]);
    expect([...found.slots]).to.deep.equal([10, 30]);
  });

  it('returns the k best of the pool, or all if there are fewer', () => {
    const hits = pool([1, 1], [2, 2], [3, 9]);
    expect(ids(blended(hits, texts({ 3: 9, 2: 8 }), 1))).to.deep.equal([2]);
    expect(ids(blended(hits, texts({ 3: 9, 2: 8 }), 7))).to.deep.equal([2, 1, 3]);
    expect(ids(blended(pool(), texts({}), 5))).to.deep.equal([]);
  });

  it('orders by distance if no text matches, or all match equally', () => {
    const hits = pool([5, 1], [2, 2], [9, 3]);
    expect(ids(blended(hits, texts({}), 3))).to.deep.equal([5, 2, 9]);
    expect(ids(blended(hits, () => 4, 3))).to.deep.equal([5, 2, 9]);
  });

  it('orders by text if all distances are equal', () => {
    expect(ids(blended(pool([1, 3], [2, 3], [3, 3]), texts({ 3: 2, 2: 1 }), 3))).to.deep.equal([3, 2, 1]);
  });

  it('breaks ties by distance, then by id', () => {
    expect(ids(blended(pool([2, 1], [1, 0]), texts({ 2: 1 }), 2))).to.deep.equal([1, 2]);
    expect(ids(blended(pool([8, 1], [3, 1], [5, 1]), texts({}), 3))).to.deep.equal([3, 5, 8]);
  });

  it('uses the decayed distance if there is one, and keeps factors and ages with their hits', () => {
    // Decayed: 8, 2, 4.
    const found = blended(pool([1, 1, 0.125], [2, 2, 1], [3, 2, 0.5]), texts({}), 3);
    expect(ids(found)).to.deep.equal([2, 3, 1]);
    expect([...found.scores]).to.deep.equal([2, 2, 1]);
    expect([...found.aged!.factors]).to.deep.equal([1, 0.5, 0.125]);
    expect([...found.aged!.agesSecs]).to.deep.equal([200, 300, 100]);
    expect(ids(blended(pool([1, 1, 0.125], [2, 2, 1], [3, 2, 0.5]), texts({ 1: 3, 3: 3 }), 1))).to.deep.equal([3]);
  });

  it('orders by decayed distance also with factors close to zero', () => {
    const found = blended(pool([1, 2 ** 40, 2 ** -900], [2, 0, 2 ** -900], [3, 5, 1]), texts({ 1: 1 }), 3);
    expect(ids(found)).to.deep.equal([2, 3, 1]);
  });

  it('equals the formula for any pool, in any order', () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < 500; round++) {
      const size = 1 + random.int(80);
      const step = random.pick([1, 0.25, 1e-9]);
      const hits = pool(
        ...Array.from({ length: size }, (_, i) => {
          const score = step * random.int(30);
          return round % 2 === 0 ? ([i + 1, score] as const) : ([i + 1, score, 2 ** -random.int(5)] as const);
        }).sort(() => random.next() - 0.5),
      );
      const bm25 = Array.from({ length: size + 1 }, () => random.int(4) / 3);
      const k = 1 + random.int(size + 5);
      const found = blended(hits, (id) => bm25[id]!, k);
      expect(ids(found)).to.deep.equal(plainBlend(hits, bm25, k));
      const textWeight = random.pick([0, 0.1, 0.5, 0.75, 1]);
      const weighted = blended(hits, (id) => bm25[id]!, k, { by: 'blend', textWeight });
      expect(ids(weighted)).to.deep.equal(plainBlend(hits, bm25, k, textWeight));
      const ranked = blended(hits, (id) => bm25[id]!, k, { by: 'rrf', textWeight });
      expect(ids(ranked)).to.deep.equal(plainRanks(hits, bm25, k, textWeight));
    }
  });

  it('orders by distance alone with weight 0, and by text and then distance with weight 1', () => {
    const hits = pool([1, 1], [2, 2], [3, 3], [4, 4]);
    const found = (textWeight: number): number[] =>
      ids(blended(hits, texts({ 3: 1, 2: 5 }), 4, { by: 'blend', textWeight }));
    expect(found(0)).to.deep.equal([1, 2, 3, 4]);
    expect(found(1)).to.deep.equal([2, 3, 1, 4]);
  });

  it('gives no rank to a text without a word of the query, and orders equal sums by distance', () => {
    const hits = pool([1, 1], [2, 2], [3, 300]);
    const found = (bm25: Readonly<Record<number, number>>, textWeight = 0.5): number[] =>
      ids(blended(hits, texts(bm25), 3, { by: 'rrf', textWeight }));
    // The sums are 1/61, 1/62 + 1/62 and 1/63 + 1/61: ranks count, and distances do not.
    expect(found({ 3: 9, 2: 8 })).to.deep.equal([3, 2, 1]);
    expect(found({})).to.deep.equal([1, 2, 3]);
    expect(found({ 3: 9 }, 1)).to.deep.equal([3, 1, 2]);
  });

  it('keeps the text scores of the hits', () => {
    const hits = { ...pool([1, 2], [2, 4]), textScores: Float64Array.of(0, 7) };
    const found = blended(hits, texts({ 2: 7 }), 2, { by: 'rrf', textWeight: 0.5 });
    expect(ids(found)).to.deep.equal([2, 1]);
    expect([...found.textScores!]).to.deep.equal([7, 0]);
  });
});

function plainRanks(hits: Found, bm25: readonly number[], k: number, textWeight: number): number[] {
  const rows = [...hits.ids].map((id, i) => ({ id, score: hits.scores[i]!, distance: distanceOf(hits, i) }));
  const near = rows.sort((a, b) => a.distance - b.distance || a.score - b.score || a.id - b.id);
  const matching = near.filter(({ id }) => bm25[id]! > 0).sort((a, b) => bm25[b.id]! - bm25[a.id]! || a.id - b.id);
  const part = (rows: readonly { id: number }[], id: number): number => {
    const rank = rows.findIndex((row) => row.id === id) + 1;
    return rank === 0 ? 0 : 1 / (60 + rank);
  };
  const sums = near.map(({ id }) => (1 - textWeight) * part(near, id) + textWeight * part(matching, id));
  return near
    .map(({ id }, i) => ({ id, i, sum: sums[i]! }))
    .sort((a, b) => b.sum - a.sum || a.i - b.i)
    .slice(0, k)
    .map(({ id }) => id);
}

function plainBlend(hits: Found, bm25: readonly number[], k: number, w = 0.5): number[] {
  const rows = [...hits.ids].map((id, i) => ({
    id,
    score: hits.scores[i]!,
    distance: distanceOf(hits, i),
    text: bm25[id]!,
  }));
  const part = (value: number, values: readonly number[]): number => {
    const [least, greatest] = [Math.min(...values), Math.max(...values)];
    return least === greatest ? 0 : (value - least) / (greatest - least);
  };
  const distances = rows.map(({ distance }) => distance);
  const matches = rows.map(({ text }) => text);
  return rows
    .map((row) => ({ ...row, blended: (1 - w) * (1 - part(row.distance, distances)) + w * part(row.text, matches) }))
    .sort((a, b) => b.blended - a.blended || a.distance - b.distance || a.score - b.score || a.id - b.id)
    .slice(0, k)
    .map(({ id }) => id);
}
