// Covers: shard/state/journal.ts, shard/state/replay.ts
import { expect } from 'chai';
import { VectorBlocks } from '../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { CollectionState } from '../../../../shard/state/collectionState.js';
import { Journal } from '../../../../shard/state/journal.js';
import { systemClock } from '../../../../shared/clock.js';
import { VouchError } from '../../../../shared/errors/errors.js';
import { EMPTY_LOG } from '../../../../shared/log/chain.js';
import { type Event, genesisOf } from '../../../../shared/log/event.js';
import type { EventLog } from '../../../../shared/log/eventLog.js';
import { buildFrame } from '../../../../shared/log/frame.js';
import { nextTurn } from '../../../../shared/scheduling/slice.js';
import { expectCode } from '../../../support/expectations.js';
import { configOf } from '../../../support/rigs/engine.js';

const CONFIG = configOf(1);

describe('the opened contents of a frame', () => {
  it('are forgotten after the frame is applied, and after a failure for lack of memory', async () => {
    const content = { tag: 0, vector: new Uint8Array(4 * CONFIG.dimension), metadata: null, text: null };
    const vectors = new VectorBlocks(new VectorMemory(), CONFIG.dimension);
    let [opened, forgotten] = [0, 0];
    const contents = {
      open: async () => {
        opened++;
        return { forget: () => void forgotten++ };
      },
      applied: () => {},
    };
    const state = new CollectionState(CONFIG, vectors, 10);
    const journal = new Journal(CONFIG, {} as EventLog, state, { clock: systemClock, lateMs: 0, contents });
    const dated = { sequence: 1, timeMs: CONFIG.createdAtMs, actor: null };
    const insert = { type: 'insert', ...dated, recordId: 1, requestId: null, ...content, externalId: null } as const;
    const { bytes } = await buildFrame([genesisOf(CONFIG), insert], EMPTY_LOG, 1, nextTurn);
    const reserve = vectors.reserve.bind(vectors);
    vectors.reserve = () => {
      throw new VouchError('capacity_exceeded', 'no memory');
    };
    await expectCode(journal.take({ position: 1, bytes }), 'capacity_exceeded');
    expect([opened, forgotten]).to.deep.equal([1, 1]);
    vectors.reserve = reserve;
    expect(await journal.take({ position: 1, bytes })).to.equal(true);
    expect([opened, forgotten, state.liveRecords]).to.deep.equal([2, 2, 1]);
  });

  it('lose a key with the event of its shred, before past states are forgotten', async () => {
    const keyId = new Uint8Array(16).fill(0xab);
    const steps: string[] = [];
    const contents = {
      open: async () => ({ forget: () => void steps.push('forgotten') }),
      applied: ({ type }: Event) => void steps.push(type),
    };
    const state = new CollectionState(CONFIG, new VectorBlocks(new VectorMemory(), CONFIG.dimension), 10);
    const journal = new Journal(CONFIG, {} as EventLog, state, { clock: systemClock, lateMs: 0, contents });
    journal.onShred = () => void steps.push('shredded');
    const shred = { type: 'shredKey', sequence: 1, timeMs: CONFIG.createdAtMs, actor: null, keyId } as const;
    const { bytes } = await buildFrame([genesisOf(CONFIG), shred], EMPTY_LOG, 0, nextTurn);
    expect(await journal.take({ position: 1, bytes })).to.equal(true);
    expect(steps).to.deep.equal(['genesis', 'shredKey', 'shredded', 'forgotten']);
  });
});
