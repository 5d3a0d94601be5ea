import { expect } from 'chai';
import { type DecodedHits, decodeHits, writeHits } from '../../../../coordinator/handlers/hits.js';
import { JsonWriter } from '../../../../coordinator/http/jsonWriter.js';
import { bytesOf } from '../../../../shard/search/found.js';
import { atOnce } from '../../../../shared/scheduling/slice.js';

const hitsJson = (hits: DecodedHits): string => {
  const writer = new JsonWriter();
  atOnce(writeHits(writer, hits));
  return atOnce(writer.reply()).body.toString();
};

describe('hits as JSON', () => {
  const hits = (count: number) => {
    const ids = Float64Array.from({ length: count }, (_, i) => i + 1);
    const aged = { factors: ids.map((id) => 1 / id), agesSecs: ids.map((id) => 10 * id) };
    const hops = Int32Array.from(ids, (id) => (id % 2 === 0 ? -1 : id));
    return { scale: 'plain', ids, scores: ids.map((id) => id / 3), aged, hops } as const;
  };

  it('equal the hits, digit for digit', () => {
    expect(JSON.parse(`[${hitsJson(hits(3))}]`)).to.deep.equal([
      { id: 1, score: 1 / 3, decay_factor: 1, age_secs: 10, graph_distance: 1 },
      { id: 2, score: 2 / 3, decay_factor: 0.5, age_secs: 20, graph_distance: null },
      { id: 3, score: 1, decay_factor: 1 / 3, age_secs: 30, graph_distance: 3 },
    ]);
    expect(hitsJson(hits(0))).to.equal('');
  });

  it('have a similarity where vectors are divided by their length', () => {
    const scores = Float64Array.of(0, 2 ** -40, 2, 4);
    const result = { ids: bytesOf(Float64Array.of(1, 2, 3, 4)), scores: bytesOf(scores.map((score) => score * 256)) };
    expect(JSON.parse(`[${hitsJson(decodeHits(result, 'unit'))}]`)).to.deep.equal([
      { id: 1, score: 0, similarity: 1 },
      { id: 2, score: 2 ** -40, similarity: 1 - 2 ** -41 },
      { id: 3, score: 2, similarity: 0 },
      { id: 4, score: 4, similarity: -1 },
    ]);
    expect(hitsJson(decodeHits(result, 'plain'))).to.not.include('similarity');
  });

  it('are written in steps of 64, or of one with fields', () => {
    expect([...writeHits(new JsonWriter(), hits(5_000))]).to.have.length(Math.floor(5_000 / 64));
    const fields = { metadata: Array(100).fill(null) };
    expect([...writeHits(new JsonWriter(), { ...hits(100), fields })]).to.have.length(100);
  });
});
