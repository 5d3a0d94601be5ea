// Covers: shard/state/byteKey.ts, shard/state/planBatch.ts, shard/state/plannedChanges.ts, shard/state/plannedRecords.ts
// Covers: shard/state/refusals.ts
/** The pauses of a plan. `collection/collection.test.ts` and `collection/deleteMany.test.ts` test its events. */
import { expect } from 'chai';
import type { CollectionState } from '../../../../shard/state/collectionState.js';
import { CommitBuilder } from '../../../../shard/state/commitBuilder.js';
import { planBatch } from '../../../../shard/state/planBatch.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { DEFAULT_LIMITS } from '../../../support/rigs/engine.js';

describe('the plan of a batch of upserts', () => {
  it('yields to other work while it is made', async () => {
    const state = {
      nextRecordId: 1,
      liveRecords: 0,
      dimension: 2,
      graph: { nextNodeId: 1, nextEdgeId: 1 },
      externalIds: { find: () => undefined },
      encrypted: { get: () => undefined },
      isLive: () => false,
    } as unknown as CollectionState;
    const room = { records: 1e6, bytes: 1e9, isFinal: true, limits: { records: 1e6, bytes: 1e9 } };
    const plan = new CommitBuilder(state, { sequence: 1, timeMs: 1, room }, DEFAULT_LIMITS);
    let nowMs = 0;
    const clock = { nowMs: () => 0, monotonicMs: () => (nowMs += 10) };
    const externalIds = Array.from({ length: 1_600 }, (_, i) => `id ${i}`);
    const call = { op: 'insertBatch', count: 1_600, vectors: new Uint8Array(8 * 1_600), externalIds } as const;
    const planned = planBatch(plan, { ...call, metadata: null, texts: null, requestIds: null }, new Slice(clock));
    let turns = 0;
    let isPlanned = false;
    void planned.then(() => (isPlanned = true));
    while (!isPlanned) {
      turns++;
      await new Promise((resolve) => setImmediate(resolve));
    }
    // The plan may yield every 32 records in each of its two passes: 100 times.
    expect(turns).to.be.above(90);
    expect(await planned).to.include({ kind: 'batch', created: 1_600 });
  });
});
