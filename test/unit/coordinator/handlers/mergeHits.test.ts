import { expect } from 'chai';
import type { MultiSearchHit } from '../../../../coordinator/contract/search.js';
import { type CollectionHits, writeMerged } from '../../../../coordinator/handlers/mergeHits.js';
import { JsonWriter } from '../../../../coordinator/http/jsonWriter.js';
import { atOnce } from '../../../../shared/scheduling/slice.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

/** Hits merged at once. */
const mergeHits = (lists: readonly CollectionHits[], k: number): MultiSearchHit[] => {
  const writer = new JsonWriter();
  atOnce(writeMerged(writer, lists, k));
  return JSON.parse(`[${atOnce(writer.reply()).body}]`);
};

describe('the merge of a multi-collection search', () => {
  it('is the sorted union, cut at k, with ties by collection and id', () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < 300; round++) {
      const lists: CollectionHits[] = Array.from({ length: 1 + random.int(32) }, (_, i) => {
        const hits = Array.from({ length: random.int(20) }, (_, id) => ({ id: id + 1, score: random.int(8) }));
        hits.sort((a, b) => a.score - b.score || a.id - b.id);
        const collection = `c${(i * 7919) % 32}`;
        const ids = Float64Array.from(hits, ({ id }) => id);
        return { scale: 'plain', collection, ids, scores: Float64Array.from(hits, ({ score }) => score) };
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

  it('with decay sorts by decayed distance, then true distance, then collection and id', () => {
    const random = seededRandom(testSeed());
    const distance = ({ score, decay_factor }: MultiSearchHit): number => score / decay_factor!;
    const byId = (a: MultiSearchHit, b: MultiSearchHit): number =>
      a.collection === b.collection ? a.id - b.id : a.collection < b.collection ? -1 : 1;
    const inOrder = (a: MultiSearchHit, b: MultiSearchHit): number =>
      distance(a) - distance(b) || a.score - b.score || byId(a, b);
    for (let round = 0; round < 300; round++) {
      const hits = Array.from({ length: random.int(200) }, (_, i) => {
        const ageSecs = random.int(4);
        const collection = `c${random.int(8)}`;
        return { collection, id: i + 1, score: random.int(6), decay_factor: 0.5 ** ageSecs, age_secs: ageSecs };
      }).sort(inOrder);
      const lists = [...new Set(hits.map(({ collection }) => collection))].map((collection): CollectionHits => {
        const own = hits.filter((hit) => hit.collection === collection);
        const column = (of: (hit: (typeof own)[number]) => number): Float64Array => Float64Array.from(own, of);
        return {
          scale: 'plain',
          collection,
          ids: column(({ id }) => id),
          scores: column(({ score }) => score),
          aged: { factors: column((hit) => hit.decay_factor), agesSecs: column((hit) => hit.age_secs) },
        };
      });
      const k = 1 + random.int(100);
      expect(mergeHits(lists, k)).to.deep.equal(hits.slice(0, k));
    }
  });

  it('is empty without hits', () => {
    const none = { scale: 'plain', collection: 'a', ids: new Float64Array(0), scores: new Float64Array(0) } as const;
    expect(mergeHits([], 5)).to.deep.equal([]);
    expect(mergeHits([none], 5)).to.deep.equal([]);
  });

  it('yields every 64 hits', () => {
    const lists = Array.from({ length: 32 }, (_, at): CollectionHits => {
      const ids = Float64Array.from({ length: 5_000 }, (_, i) => i + 1);
      return { scale: 'plain', collection: `c${at}`, ids, scores: ids.map((id) => 32 * id + at) };
    });
    expect([...writeMerged(new JsonWriter(), lists, 5_000)]).to.have.length(Math.floor(5_000 / 64));
  });
});
