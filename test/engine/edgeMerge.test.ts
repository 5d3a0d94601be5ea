import { expect } from 'chai';
import { mergeHits, type RankedHits } from '../../coordinator/handlers/mergeHits.js';
import { seededRandom, testSeed } from '../support/random.js';

describe('the merge of a multi-collection search', () => {
  it('is the sorted union, cut at k, with ties by collection and id', () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < 300; round++) {
      const lists: RankedHits[] = Array.from({ length: 1 + random.int(32) }, (_, i) => {
        const hits = Array.from({ length: random.int(20) }, (_, id) => ({ id: id + 1, score: random.int(8) }));
        hits.sort((a, b) => a.score - b.score || a.id - b.id);
        const collection = `c${(i * 7919) % 32}`;
        const ids = Float64Array.from(hits, ({ id }) => id);
        return { collection, ids, scores: Float64Array.from(hits, ({ score }) => score) };
      });
      const k = 1 + random.int(100);
      const union = lists.flatMap(({ collection, ids, scores }) =>
        [...ids].map((id, i) => ({ collection, id, score: scores[i]! })),
      );
      const sorted = union.sort(
        (a, b) =>
          a.score - b.score || (a.collection === b.collection ? a.id - b.id : a.collection < b.collection ? -1 : 1),
      );
      expect(mergeHits(lists, k)).to.deep.equal(sorted.slice(0, k));
    }
  });

  it('of nothing is nothing', () => {
    const none = { collection: 'a', ids: new Float64Array(0), scores: new Float64Array(0) };
    expect(mergeHits([], 5)).to.deep.equal([]);
    expect(mergeHits([none], 5)).to.deep.equal([]);
  });
});
