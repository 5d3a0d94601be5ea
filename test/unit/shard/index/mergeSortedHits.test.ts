import { expect } from 'chai';
import { mergeSortedHits } from '../../../../shard/index/mergeSortedHits.js';
import type { Hits } from '../../../../shard/kernel/scanScratch.js';

const hits = (...found: readonly (readonly [id: number, score: number])[]): Hits => ({
  ids: Float64Array.from(found, ([id]) => id),
  slots: Uint32Array.from(found, ([id]) => 10 * id),
  scores: Float64Array.from(found, ([, score]) => score),
});

const shown = ({ ids, slots, scores }: Hits): (readonly [number, number, number])[] =>
  [...ids].map((id, i) => [id, slots[i]!, scores[i]!] as const);

describe('the merge of hits of tail and index', () => {
  it('orders by score, then by id', () => {
    const merged = mergeSortedHits(hits([7, 1], [2, 3]), hits([5, 0.5], [1, 3], [9, 4]), 4);
    expect(shown(merged)).to.deep.equal([
      [5, 50, 0.5],
      [7, 70, 1],
      [1, 10, 3],
      [2, 20, 3],
    ]);
  });

  it('has a record of both lists once, and all hits if there are fewer than k', () => {
    expect([...mergeSortedHits(hits([1, 0], [2, 5]), hits([1, 0], [3, 5]), 5).ids]).to.deep.equal([1, 2, 3]);
    expect([...mergeSortedHits(hits([1, 0]), hits(), 5).ids]).to.deep.equal([1]);
    expect([...mergeSortedHits(hits(), hits([4, 1]), 5).ids]).to.deep.equal([4]);
  });
});
