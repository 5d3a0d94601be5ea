import { expect } from 'chai';
import { hitsJson } from '../../../../coordinator/handlers/hits.js';
import type { Clock } from '../../../../shared/clock.js';
import { systemClock } from '../../../../shared/clock.js';

/** The end of a slice at every look. */
const alwaysDue = (): Clock => {
  let ms = 0;
  return { nowMs: () => 0, monotonicMs: () => (ms += 10) };
};

describe('hits as JSON', () => {
  const hits = (count: number) => {
    const ids = Float64Array.from({ length: count }, (_, i) => i + 1);
    const aged = { factors: ids.map((id) => 1 / id), agesSecs: ids.map((id) => 10 * id) };
    return { ids, scores: ids.map((id) => id / 3), aged, hops: Int32Array.from(ids, (id) => (id % 2 === 0 ? -1 : id)) };
  };

  it('are the hits, digit for digit', async () => {
    expect(JSON.parse(`[${await hitsJson(hits(3), systemClock)}]`)).to.deep.equal([
      { id: 1, score: 1 / 3, decay_factor: 1, age_secs: 10, graph_distance: 1 },
      { id: 2, score: 2 / 3, decay_factor: 0.5, age_secs: 20, graph_distance: null },
      { id: 3, score: 1, decay_factor: 1 / 3, age_secs: 30, graph_distance: 3 },
    ]);
    expect(await hitsJson(hits(0), systemClock)).to.equal('');
  });

  it('give way after every 64 of them', async () => {
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    await hitsJson(hits(5_000), alwaysDue());
    isOver = true;
    expect(turns).to.be.at.least(Math.floor(5_000 / 64));
  });
});
