// Covers: shard/node/shardRpc.ts
/** The head that an owner names to its followers. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { systemClock } from '../../../../shared/clock.js';
import { batchOf, fixed } from '../../../support/rigs/engine.js';
import { type OpenedCollection, ShardRig, watchOpenings } from '../../../support/rigs/shardRig.js';

const ID = 7;
const ROWS = 20;
/** More than a slice of the event loop takes. */
const EVENT_MS = 2;

/** Applies each event so slowly that the next one waits for another slice. */
function slowDown({ state }: OpenedCollection): void {
  const apply = state.apply.bind(state);
  state.apply = (...asked) => {
    const endMs = systemClock.monotonicMs() + EVENT_MS;
    while (systemClock.monotonicMs() < endMs);
    apply(...asked);
  };
}

describe('the head of a collection', () => {
  it('is not behind what a search has shown in the middle of a batch', async () => {
    const openings = watchOpenings();
    const rig = new ShardRig();
    try {
      await rig.shard('s1');
      await rig.create(ID, 's1');
      await rig.call(ID, batchOf([fixed(0, 0)]));
      slowDown(openings.opened[0]!);
      let isDone = false;
      const writing = rig
        .call(ID, batchOf(Array.from({ length: ROWS }, (_, x) => fixed(x, 1))))
        .finally(() => (isDone = true));
      const shown = new Set<number>();
      while (!isDone) {
        const { sequence } = await rig.call(ID, { op: 'search', query: fixed(0, 0), k: 1, tellSequence: true });
        const { sequences } = await rig.ask('s1', { op: 'heads', collectionIds: [ID] });
        shown.add(sequence!);
        expect(sequences[0]).to.be.at.least(sequence!);
        await turn();
      }
      await writing;
      expect(shown.size, 'searches in the middle').to.be.above(2);
    } finally {
      openings.end();
      await rig.stop();
    }
  });
});
