// Covers: shard/snapshot/openState.ts, shard/opening/openingSteps.ts, shard/snapshot/readThreads.ts
// Covers: shard/snapshot/snapshotIdentity.ts
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { openState } from '../../../../shard/snapshot/openState.js';
import { systemClock } from '../../../../shared/clock.js';
import { EMPTY_LOG } from '../../../../shared/log/chain.js';
import type { EventLog, StoredFrame } from '../../../../shared/log/eventLog.js';
import { buildFrame } from '../../../../shared/log/frame.js';
import { type Logger, silentLogger } from '../../../../shared/logger.js';
import { everyEvent } from '../../../fuzz/targets/samples.js';
import { eventually } from '../../../support/expectations.js';
import { seededRandom } from '../../../support/model/random.js';
import { configOf } from '../../../support/rigs/engine.js';
import { snapshotsIn } from '../../../support/rigs/snapshots.js';

/** A log that gives its first frame, and the rest after `proceed`. */
function haltingLog([first, ...rest]: readonly StoredFrame[]): {
  readonly log: EventLog;
  readonly proceed: () => void;
} {
  let proceed = (): void => {};
  const released = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  async function* read(): AsyncGenerator<StoredFrame> {
    yield first!;
    await released;
    yield* rest;
  }
  const log = { staleMs: 0, read, head: async () => rest.at(-1), close: async () => {} };
  return { log: log as unknown as EventLog, proceed };
}

describe('the opening of a collection with a long log', () => {
  it('reports its progress in the log and as a metric until it is finished', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-open-'));
    const [genesis, insert, second, third] = everyEvent(seededRandom(1));
    const one = await buildFrame([genesis!, insert!], EMPTY_LOG, 1, async () => undefined);
    const two = await buildFrame([second!, third!], one.end, 2, async () => undefined);
    const { log, proceed } = haltingLog([one, two].map(({ bytes }, i) => ({ position: i + 1, bytes })));
    const lines: object[] = [];
    const info = (about: object, text: string): number => lines.push({ ...about, text });
    const logger = Object.assign(Object.create(silentLogger) as Logger, { info });
    const snapshots = Object.assign(await snapshotsIn(folder), { logger });
    try {
      const memory = new VectorMemory();
      const options = { memory, dedupWindow: 16, clock: systemClock, logs: { lateMs: 0 }, snapshots };
      const opening = openState(configOf(7), log, options);
      await eventually('a line reports the progress', () => lines.length > 0);
      expect(lines[0]).to.include({ collection: 7, sequence: 1, of: 3, text: 'opening a collection: reading its log' });
      expect([...snapshots.progress]).to.deep.equal([[7, 1 / 3]]);
      proceed();
      const { state, journal } = await opening;
      expect(journal.sequence).to.equal(3);
      expect([...snapshots.progress]).to.deep.equal([]);
      expect(lines.at(-1)).to.include({ collection: 7, sequence: 3, text: 'opened a collection' });
      state.vectors.destroy();
    } finally {
      await snapshots.threads.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
