/** Tests of entries with a time to live, for every `Bucket` that has them. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { systemClock } from '../../../shared/clock.js';
import { eventually } from '../expectations.js';
import type { BucketStore } from './bucketStore.js';
import { Follower } from './bucketWatch.js';

export const TTL_MS = 1_500;

export function ttlTests(fixture: () => BucketStore): void {
  it('lets an entry expire, notifies the watchers, and can create it again', async () => {
    const { bucket } = fixture();
    const follower = new Follower();
    const watch = await bucket.watch(follower.listener);
    const first = (await bucket.create('a', 1))!;
    expect(await bucket.create('a', 2)).to.equal(undefined);
    await eventually('the entry is delivered', () => follower.state.has('a'));
    await eventually('the entry expires', async () => (await bucket.get('a')) === undefined);
    await eventually('its end is delivered', () => follower.changes.at(-1)!.entry === undefined);
    expect(follower.state.has('a')).to.equal(false);
    expect(await bucket.update('a', 3, first)).to.equal(undefined);
    expect(await bucket.create('a', 4)).to.be.greaterThan(first);
    watch.stop();
  });

  it('keeps an entry that is rewritten in time', async () => {
    const { bucket } = fixture();
    const ends = await eventuallyInTime(async (turn, inTime) => {
      const key = `beat${turn}`;
      let revision = await bucket.create(key, 0);
      const endMs = systemClock.monotonicMs() + 2 * TTL_MS;
      for (let beat = 1; systemClock.monotonicMs() < endMs && revision !== undefined && inTime(); beat++) {
        const next = await bucket.update(key, beat, revision);
        if (next !== undefined) expect(next, `beat ${beat}`).to.be.greaterThan(revision);
        revision = next;
        await delay(TTL_MS / 15);
      }
      return { revision, stored: (await bucket.get(key))?.revision };
    });
    expect(ends.stored).to.be.greaterThan(0).and.equal(ends.revision);
  });

  it('expires one entry and keeps another', async () => {
    const { bucket } = fixture();
    const lives = await eventuallyInTime(async (turn, inTime) => {
      await bucket.put('dies', turn);
      await eventually('one entry expires', async () => {
        await bucket.put('lives', turn);
        return !inTime() || (await bucket.get('dies')) === undefined;
      });
      return (await bucket.get('lives'))?.value;
    });
    expect(lives).to.be.a('number');
  });
}

/** Repeats a test whose writes must come in time, until the machine does not delay one of them for too long. */
async function eventuallyInTime<T>(test: (turn: number, inTime: () => boolean) => Promise<T>): Promise<T> {
  let outcome: T | undefined;
  let turn = 0;
  await eventually('all writes are in time', async () => {
    let lastMs = systemClock.monotonicMs();
    let isLate = false;
    const inTime = (): boolean => {
      const nowMs = systemClock.monotonicMs();
      isLate ||= nowMs - lastMs > TTL_MS / 2;
      lastMs = nowMs;
      return !isLate;
    };
    outcome = await test(turn++, inTime);
    return inTime();
  });
  return outcome!;
}
