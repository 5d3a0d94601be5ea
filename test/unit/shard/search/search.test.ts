import { expect } from 'chai';
import { type Clock, systemClock } from '../../../../shared/clock.js';
import type { SearchCall } from '../../../../shared/protocol/calls.js';
import { configOf, Engine, fixed, soon } from '../../../support/rigs/engine.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

/** A clock by which every slice is used up at its first reading. */
const slow = (): Clock => {
  let ms = 0;
  return { nowMs: () => systemClock.nowMs(), monotonicMs: () => (ms += 10) };
};

describe('the steps of a search', () => {
  it('yield between each other: nearest, text, rank, blend, graph', async () => {
    const collection = new Engine(new ScriptedLogs(), { clock: slow() }).host(configOf(1));
    for (const text of ['a red fox', 'a red hen', 'blue sea']) await collection.insert([1, 2], { text });
    const turnsOf = async (options: Partial<SearchCall>): Promise<number> => {
      let turns = 0;
      let isOver = false;
      const turn = (): void => {
        turns++;
        if (!isOver) setImmediate(turn);
      };
      setImmediate(turn);
      await collection.hosted.run({ op: 'search', query: fixed(0, 0), k: 3, ...options }, soon());
      isOver = true;
      return turns;
    };
    expect(await turnsOf({})).to.equal(0);
    expect(await turnsOf({ text: { query: 'red', hybrid: false } })).to.be.at.least(2);
    expect(await turnsOf({ text: { query: 'red', hybrid: true } })).to.be.at.least(3);
    const graph = { weight: 0.5, seedCount: 1, maxDepth: 1, direction: 'both' } as const;
    expect(await turnsOf({ graph })).to.be.at.least(1);
  });
});
