/** The report of events ahead of the clock, after the clock was set back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { EventTimes } from '../../../../shard/node/eventTimes.js';
import { systemClock } from '../../../../shared/clock.js';
import { LocalLogs } from '../../../../shared/log/segments.js';
import type { Logger } from '../../../../shared/logger.js';
import { configOf, Engine } from '../../../support/rigs/engine.js';

const ID = 7;
const HOUR_MS = 3_600_000;

describe('events ahead of the clock', () => {
  let folder: string;
  let logs: LocalLogs;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-times-'));
    logs = await LocalLogs.open({ folder });
  });
  afterEach(async () => {
    await logs.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('are reported, with one warning, until the clock has caught up; new events get their time', async () => {
    // This clock is behind the one that sets the deadlines of calls.
    let nowMs = systemClock.nowMs() - 4 * HOUR_MS;
    const clock = { ...systemClock, nowMs: () => nowMs };
    const collection = new Engine(logs, { clock }).host(configOf(ID));
    const lines: unknown[] = [];
    const logger = {
      warn: (about: object) => lines.push(about),
      info: (text: string) => lines.push(text),
    } as unknown as Logger;
    const times = new EventTimes(() => [collection.hosted], clock, logger);
    await collection.insert([1, 2]);
    times.look();
    expect(times.aheadSeconds).to.equal(0);

    const rightMs = nowMs;
    nowMs += HOUR_MS;
    await collection.insert([3, 4]);
    nowMs -= HOUR_MS;
    await collection.insert([5, 6]);
    expect(collection.hosted.openCollection?.journal.timeMs).to.equal(rightMs + HOUR_MS);
    for (let look = 0; look < 3; look++) times.look();
    expect(times.aheadSeconds).to.equal(3_600);
    expect(lines).to.deep.equal([{ collections: 1, first: ID, aheadSeconds: 3_600 }]);

    nowMs += HOUR_MS / 2;
    times.look();
    expect(times.aheadSeconds).to.equal(1_800);
    nowMs += HOUR_MS / 2;
    times.look();
    expect(times.aheadSeconds).to.equal(0);
    expect(lines.slice(1)).to.deep.equal(['no event is ahead of the clock any more']);
    await collection.insert([7, 8]);
    expect(collection.hosted.openCollection?.journal.timeMs).to.equal(rightMs + HOUR_MS);
    await collection.hosted.close({ keep: true });
  });
});
