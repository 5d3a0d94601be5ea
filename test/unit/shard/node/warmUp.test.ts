/** The first writes and searches of a shard, which nobody asked for and nobody is to find. */
import { expect } from 'chai';
import { warmUp } from '../../../../shard/node/warmUp.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { silentLogger } from '../../../../shared/logger.js';
import { Engine } from '../../../support/rigs/engine.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

describe('the warm-up of a shard', () => {
  const logs = new ScriptedLogs();
  const bucket = new MemoryBucket({ logger: silentLogger });
  const reached = new MemoryBucket({ logger: silentLogger });

  it('inserts and searches, and leaves no log, no memory, no reservation, no note and no count', async () => {
    const { context } = new Engine(logs, { bucket, reached, capacity: 1 });
    const written: unknown[] = [];
    await bucket.watch((change) => written.push(change));
    await reached.watch((change) => written.push(change));
    const opened: number[] = [];
    const watched = {
      ...context,
      logs: {
        lateMs: 0,
        open: (id: number) => {
          opened.push(id);
          return logs.open(id);
        },
        remove: (id: number) => logs.remove(id),
      },
    };
    expect(await warmUp(watched)).to.equal(2 * 3 * (512 + 1));
    expect(opened).to.deep.equal([]);
    expect(written).to.deep.equal([]);
    expect(context.memory.grownBytes).to.equal(0);
    const texts = (await context.metrics.texts()).map(({ text }) => text).join('\n');
    expect(texts).to.match(/^vouch_committed_events_total(\{[^}]*\})? 0$/m);
    expect(texts).to.not.match(/outcome="done"/);
  });
});
