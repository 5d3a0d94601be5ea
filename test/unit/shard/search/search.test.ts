// Covers: shard/search/foundFields.ts, shard/search/searchTexts.ts
import { expect } from 'chai';
import { type Clock, systemClock } from '../../../../shared/clock.js';
import type { SearchCall } from '../../../../shared/protocol/calls.js';
import { configOf, Engine, fixed, soon } from '../../../support/rigs/engine.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

/** A clock that advances by 10 ms at each reading, so that every slice is used up at once. */
const slow = (): Clock => {
  let ms = 0;
  return { nowMs: () => systemClock.nowMs(), monotonicMs: () => (ms += 10) };
};

describe('a search of several steps', () => {
  it('gives the event loop a turn between nearest, text, fusion and graph', async () => {
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
    expect(await turnsOf({}), 'nearest alone').to.equal(0);
    expect(await turnsOf({ text: { query: 'red', hybrid: false } }), 'after nearest and text').to.be.at.least(2);
    expect(await turnsOf({ text: { query: 'red', hybrid: true } }), 'and after fusion').to.be.at.least(3);
    const graph = { weight: 0.5, seedCount: 1, maxDepth: 1, direction: 'both' } as const;
    expect(await turnsOf({ graph }), 'before the graph').to.be.at.least(1);
  });
});
