import { setTimeout as delay } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { expect } from 'chai';
import { systemClock } from '../../../../shared/clock.js';
import { releaseMemory, releaseMemoryAtRest } from '../../../../shared/process/memoryAtRest.js';

const REST_WITHIN_MS = 60_000;
const LOOK_MS = 100;

/** Bytes that this process has reserved for young objects. */
const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!.physical_space_size;

/** Makes many short-lived objects. Returns the bytes reserved for young objects afterwards. */
function burst(): number {
  let kept: object[] = [];
  for (let round = 0; round < 40; round++)
    kept = [...Array.from({ length: 20_000 }, (_, i) => ({ round, i })), ...kept.slice(0, 20_000)];
  expect(kept).to.have.length.above(0);
  return youngBytes();
}

describe('released memory', () => {
  it('goes back to the system, that of young objects too', async () => {
    const before = burst();
    await releaseMemory();
    expect(youngBytes()).to.be.below(before / 2);
  });

  it('goes back to the system after a burst, once the process is idle', async () => {
    await releaseMemoryAtRest(LOOK_MS);
    const before = burst();
    const untilMs = systemClock.monotonicMs() + REST_WITHIN_MS;
    while (youngBytes() >= before / 2 && systemClock.monotonicMs() < untilMs) await delay(LOOK_MS);
    expect(youngBytes()).to.be.below(before / 2);
  });
});
