/** Tests that every `Bucket` must pass about its watchers; part of the bucket suite. */
import { expect } from 'chai';
import type { BucketValue, Change } from '../../../shared/bucket/bucket.js';
import { eventually } from '../expectations.js';
import { seededRandom, testSeed } from '../model/random.js';
import type { BucketStore } from './bucketStore.js';

/** Copies a bucket through its watch alone. */
export class Follower {
  readonly changes: Change[] = [];
  readonly state = new Map<string, BucketValue>();
  readonly listener = (change: Change): void => {
    this.changes.push(change);
    if (change.entry === undefined) this.state.delete(change.key);
    else this.state.set(change.key, change.entry.value);
  };

  /** Fails if a key's changes arrived out of order or twice. */
  expectOrder(): void {
    const newest = new Map<string, number>();
    for (const { key, entry } of this.changes) {
      if (entry === undefined) continue;
      expect(entry.key).to.equal(key);
      expect(entry.revision, key).to.be.greaterThan(newest.get(key) ?? 0);
      newest.set(key, entry.revision);
    }
  }
}

export function watchTests(fixture: () => BucketStore): void {
  it('delivers every current entry before it resolves, and no deleted one', async () => {
    const { bucket } = fixture();
    for (let i = 0; i < 20; i++) await bucket.put(`k${i}`, i);
    await bucket.put('k3', 'new');
    await bucket.delete('k5');
    const follower = new Follower();
    const watch = await bucket.watch(follower.listener);
    const wanted = new Map<string, BucketValue>(Array.from({ length: 20 }, (_, i) => [`k${i}`, i]));
    wanted.set('k3', 'new').delete('k5');
    expect(new Map([...follower.state].sort())).to.deep.equal(new Map([...wanted].sort()));
    follower.expectOrder();
    watch.stop();
  });

  it('resolves for an empty bucket', async () => {
    const follower = new Follower();
    const watch = await fixture().bucket.watch(follower.listener);
    expect(follower.changes).to.deep.equal([]);
    watch.stop();
  });

  it('delivers changes and deletions in order', async () => {
    const { bucket } = fixture();
    const follower = new Follower();
    const watch = await bucket.watch(follower.listener);
    const steps: [string, BucketValue | undefined][] = [];
    const step = async (key: string, value: BucketValue | undefined): Promise<void> => {
      if (value === undefined) await bucket.delete(key);
      else await bucket.put(key, value);
      steps.push([key, value]);
      await eventually(`change ${steps.length} is delivered`, () => follower.changes.length === steps.length);
    };
    await step('a', 1);
    await step('b', 1);
    await step('a', 2);
    await step('a', undefined);
    await step('a', 3);
    await step('b', undefined);
    expect(follower.changes.map(({ key, entry }) => [key, entry?.value])).to.deep.equal(steps);
    follower.expectOrder();
    watch.stop();
  });

  it('misses no change between the current entries and later ones', async () => {
    const random = seededRandom(testSeed());
    const { bucket } = fixture();
    const writer = (await fixture().peer?.()) ?? bucket;
    const wanted = new Map<string, BucketValue>();
    const write = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        const key = `k${random.int(40)}`;
        if (random.next() < 0.25) {
          await writer.delete(key);
          wanted.delete(key);
        } else {
          const value = random.int(1e9);
          await writer.put(key, value);
          wanted.set(key, value);
        }
      }
    };
    await write(40);
    const followers = Array.from({ length: 4 }, () => new Follower());
    const writing = write(120);
    const watches = await Promise.all(followers.map((follower) => bucket.watch(follower.listener)));
    await writing;
    await writer.put('last', true);
    wanted.set('last', true);
    for (const follower of followers) {
      await eventually('the last write is delivered', () => follower.state.has('last'));
      expect(new Map([...follower.state].sort())).to.deep.equal(new Map([...wanted].sort()));
      follower.expectOrder();
    }
    for (const watch of watches) watch.stop();
  });

  it('resolves while its entries are being replaced', async () => {
    const { bucket } = fixture();
    const keys = ['a', 'b', 'c'];
    for (const key of keys) await bucket.put(key, 0);
    let isOver = false;
    const writers = keys.map(async (key) => {
      for (let n = 1; !isOver; n++) await bucket.put(key, n);
    });
    for (let round = 0; round < 40; round++) {
      const follower = new Follower();
      const watch = await bucket.watch(follower.listener);
      expect([...follower.state.keys()].sort().length, 'entries before it resolved').to.be.within(1, keys.length);
      await eventually('every entry is delivered', () => follower.state.size === keys.length);
      watch.stop();
    }
    isOver = true;
    await Promise.all(writers);
  });

  it('has delivered everything stored earlier once it has caught up', async () => {
    const { bucket } = fixture();
    const writer = (await fixture().peer?.()) ?? bucket;
    const followers = [new Follower(), new Follower()];
    const watches = await Promise.all(followers.map((follower) => bucket.watch(follower.listener)));
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 20 }, (_, i) => writer.put(`k${i}`, round)));
      if (round % 2 === 1) await writer.delete('k7');
      await Promise.all(watches.flatMap((watch) => [watch.caughtUp(), watch.caughtUp()]));
      for (const { state } of followers) {
        expect([...state.values()].every((value) => value === round)).to.equal(true);
        expect(state.size, 'marks are not delivered').to.equal(round % 2 === 1 ? 19 : 20);
      }
    }
    for (const watch of watches) {
      expect(await watch.read('k6')).to.deep.equal(await bucket.get('k6'));
      expect(await watch.read('k7')).to.equal(undefined);
    }
    for (const watch of watches) watch.stop();
  });

  it('delivers nothing after its stop', async () => {
    const { bucket } = fixture();
    const [stopped, other] = [new Follower(), new Follower()];
    const first = await bucket.watch(stopped.listener);
    const second = await bucket.watch(other.listener);
    await bucket.put('a', 1);
    await eventually('both receive the entry', () => stopped.state.has('a') && other.state.has('a'));
    first.stop();
    first.stop();
    await bucket.put('b', 1);
    await eventually('the other receives the entry', () => other.state.has('b'));
    expect(stopped.state.has('b')).to.equal(false);
    second.stop();
  });
}
