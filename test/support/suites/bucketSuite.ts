/** Tests that every `Bucket` must pass. One call of `bucketSuite` runs them all over an implementation. */

import { expect } from 'chai';
import type { Bucket, BucketValue } from '../../../shared/bucket/bucket.js';
import { eventually, expectCode } from '../expectations.js';
import { skip } from '../skip.js';
import type { BucketStore } from './bucketStore.js';
import { TTL_MS, ttlTests } from './bucketTtl.js';
import { Follower, watchTests } from './bucketWatch.js';

export type BucketFactory = (options: { readonly ttlMs?: number }) => Promise<BucketStore>;

const LONGEST_KEY = `K${'aB'.repeat(127)}`;
const ODD_KEYS = [
  'a',
  'A',
  'aB',
  'Ab',
  'AB',
  'ab',
  '=',
  '_',
  '-',
  '0',
  '=41',
  'a=b',
  'a.b.c',
  'A.B',
  'a_',
  'a_b',
  '__',
];
const MORE_ODD_KEYS = ['con', 'NUL', 'a.json', 'x.tmp', '-rf', 'constructor', '__proto__', 'toString', LONGEST_KEY];
const VALUES: BucketValue[] = [
  null,
  true,
  0,
  -1.5,
  '',
  'é\n\u2028"',
  [],
  {},
  [1, [2, { a: null }]],
  { a: { b: ['c'] } },
];

type Fixture = () => BucketStore;

/** `kinds`: the kinds of buckets that the implementation has: lasting ones, ones with a time to live, or both. */
export function bucketSuite(
  name: string,
  factory: BucketFactory,
  kinds: { readonly lasting: boolean; readonly ttl: boolean } = { lasting: true, ttl: true },
): void {
  describe(`bucket: ${name}`, () => {
    let store: BucketStore | undefined;
    afterEach(() => store?.dispose());
    const fixture = (): BucketStore => store!;
    const opens = (ttlMs?: number): void => {
      beforeEach(async () => {
        store = undefined;
        store = await factory(ttlMs === undefined ? {} : { ttlMs });
      });
    };

    describe('entries', () => {
      opens(kinds.lasting ? undefined : 600_000);
      entryTests(fixture);
      raceTests(fixture);
      keyTests(fixture);
      refusedKeyTests(fixture);
    });
    describe('watch', () => {
      opens(kinds.lasting ? undefined : 600_000);
      watchTests(fixture);
    });
    describe('closed', () => {
      opens(kinds.lasting ? undefined : 600_000);
      closedTests(fixture);
    });
    if (kinds.lasting)
      describe('restart', () => {
        opens();
        restartTests(fixture);
      });
    if (kinds.ttl)
      describe('time to live', () => {
        opens(TTL_MS);
        ttlTests(fixture);
      });
  });
}

function entryTests(fixture: Fixture): void {
  it('is empty at first', async () => {
    const { bucket } = fixture();
    expect(await bucket.get('a')).to.equal(undefined);
    expect(await bucket.delete('a')).to.equal(false);
    expect(await bucket.update('a', 1, 7)).to.equal(undefined);
    expect(await bucket.get('a')).to.equal(undefined);
  });

  it('creates a key only once', async () => {
    const { bucket } = fixture();
    const revision = await bucket.create('a', { n: 1 });
    expect(revision).to.be.greaterThan(0);
    expect(await bucket.get('a')).to.deep.equal({ key: 'a', value: { n: 1 }, revision });
    expect(await bucket.create('a', { n: 2 })).to.equal(undefined);
    expect((await bucket.get('a'))!.value).to.deep.equal({ n: 1 });
  });

  it('creates a missing key only if the caller still wants it', async () => {
    const { bucket } = fixture();
    expect(await bucket.create('a', 1, async () => false)).to.equal(undefined);
    expect(await bucket.get('a')).to.equal(undefined);
    expect(await bucket.create('a', 1, async () => true)).to.be.a('number');
    expect(await bucket.create('a', 2, async () => true)).to.equal(undefined);
  });

  it('updates at the current revision only', async () => {
    const { bucket } = fixture();
    const first = (await bucket.create('a', 1))!;
    const second = (await bucket.update('a', 2, first))!;
    expect(second).to.be.greaterThan(first);
    expect(await bucket.update('a', 3, first)).to.equal(undefined);
    expect(await bucket.update('a', 3, second + 1)).to.equal(undefined);
    expect(await bucket.get('a')).to.deep.equal({ key: 'a', value: 2, revision: second });
  });

  it('replaces any entry by a put', async () => {
    const { bucket } = fixture();
    const first = await bucket.put('a', 1);
    const second = await bucket.put('a', 2);
    expect(second).to.be.greaterThan(first);
    expect(await bucket.get('a')).to.deep.equal({ key: 'a', value: 2, revision: second });
  });

  it('raises the revision with every write, on whatever key', async () => {
    const { bucket } = fixture();
    let newest = 0;
    for (const key of ['a', 'b', 'a', 'c', 'b', 'a']) {
      const revision = await bucket.put(key, newest);
      expect(revision).to.be.greaterThan(newest);
      newest = revision;
    }
  });

  it('deletes only at the current revision, if a revision is given', async () => {
    const { bucket } = fixture();
    const first = await bucket.put('a', 1);
    const second = await bucket.put('a', 2);
    expect(await bucket.delete('a', first)).to.equal(false);
    expect((await bucket.get('a'))?.value).to.equal(2);
    expect(await bucket.delete('a', second)).to.equal(true);
    expect(await bucket.delete('a', second)).to.equal(false);
    expect(await bucket.get('a')).to.equal(undefined);
  });

  it('counts each number once, above the given minimum, even after the counter is deleted', async () => {
    const { bucket } = fixture();
    const first = await bucket.next('n', 0);
    expect(first).to.be.greaterThan(0);
    const several = await Promise.all(Array.from({ length: 8 }, () => bucket.next('n', 0)));
    expect(new Set([first, ...several]).size).to.equal(9);
    const far = await bucket.next('n', 10_000);
    expect(far).to.be.greaterThan(10_000);
    expect(await bucket.next('n', 0)).to.be.greaterThan(far);
    await bucket.delete('n');
    expect(await bucket.next('n', 20_000)).to.be.greaterThan(20_000);
  });

  it('clears a key: returns its entry, and reports nothing new to watchers if there was none', async () => {
    const { bucket } = fixture();
    const changes: string[] = [];
    const watch = await bucket.watch(({ key, entry }) => changes.push(`${key} ${entry?.value ?? 'gone'}`));
    expect(await bucket.clear('a')).to.equal(undefined);
    expect(await bucket.clear('a')).to.equal(undefined);
    const revision = await bucket.create('a', 1);
    expect(await bucket.clear('a')).to.deep.equal({ key: 'a', value: 1, revision });
    expect(await bucket.get('a')).to.equal(undefined);
    expect(await bucket.clear('a')).to.equal(undefined);
    expect(await bucket.create('a', 2)).to.be.a('number');
    await eventually('every change is delivered', () => changes.includes('a 2'));
    expect(changes.filter((what, i) => what !== (changes[i - 1] ?? 'a gone'))).to.deep.equal(['a 1', 'a gone', 'a 2']);
    watch.stop();
  });

  it('deletes a key, and creates it again under a newer revision', async () => {
    const { bucket } = fixture();
    const first = (await bucket.create('a', 1))!;
    expect(await bucket.delete('a')).to.equal(true);
    expect(await bucket.get('a')).to.equal(undefined);
    expect(await bucket.delete('a')).to.equal(false);
    expect(await bucket.update('a', 2, first)).to.equal(undefined);
    const second = (await bucket.create('a', 3))!;
    expect(second).to.be.greaterThan(first);
    expect(await bucket.get('a')).to.deep.equal({ key: 'a', value: 3, revision: second });
  });

  it('keeps every kind of JSON value, and a large one', async () => {
    const { bucket } = fixture();
    const values: BucketValue[] = [...VALUES, 'x'.repeat(200_000)];
    for (const [i, value] of values.entries()) await bucket.put(`v${i}`, value);
    for (const [i, value] of values.entries()) expect((await bucket.get(`v${i}`))!.value).to.deep.equal(value);
  });

  it('hands out copies, whose change leaves the stored value alone', async () => {
    const { bucket } = fixture();
    const given = { list: [1] };
    await bucket.put('a', given);
    given.list.push(2);
    const got = (await bucket.get('a'))!.value as { list: number[] };
    try {
      got.list.push(3);
    } catch {
      // A frozen value refuses; either way the stored value is unchanged.
    }
    expect((await bucket.get('a'))!.value).to.deep.equal({ list: [1] });
  });

  it('shares its entries between processes', async function () {
    const peer = await fixture().peer?.();
    if (peer === undefined) return skip(this, 'this kind of bucket belongs to one process');
    const { bucket } = fixture();
    const revision = await peer.put('a', 'from the peer');
    await eventually('the peer’s write is seen', async () => (await bucket.get('a'))?.revision === revision);
    expect(await bucket.create('a', 'mine')).to.equal(undefined);
    expect(await peer.delete('a')).to.equal(true);
    await eventually('the peer’s delete is seen', async () => (await bucket.get('a')) === undefined);
  });
}

function raceTests(fixture: Fixture): void {
  it('lets exactly one of many creates win', async () => {
    const { bucket } = fixture();
    const outcomes = await Promise.all(Array.from({ length: 30 }, (_, i) => bucket.create('a', i)));
    const winners = outcomes.flatMap((revision, i) => (revision === undefined ? [] : [{ revision, i }]));
    expect(winners).to.have.length(1);
    expect(await bucket.get('a')).to.deep.equal({ key: 'a', value: winners[0]!.i, revision: winners[0]!.revision });
  });

  it('lets exactly one update win per revision', async () => {
    const { bucket } = fixture();
    let revision = (await bucket.create('a', -1))!;
    for (let round = 0; round < 5; round++) {
      const outcomes = await Promise.all(Array.from({ length: 20 }, (_, i) => bucket.update('a', i, revision)));
      const winners = outcomes.filter((outcome) => outcome !== undefined);
      expect(winners, `round ${round}`).to.have.length(1);
      expect(winners[0]).to.be.greaterThan(revision);
      revision = winners[0]!;
    }
  });

  it('loses no increment of a counter', async () => {
    const { bucket } = fixture();
    const peer = (await fixture().peer?.()) ?? bucket;
    await bucket.create('n', 0);
    const taken: number[] = [];
    const increment = async (of: Bucket): Promise<void> => {
      for (;;) {
        const { value, revision } = (await of.get('n'))!;
        if ((await of.update('n', (value as number) + 1, revision)) === undefined) continue;
        taken.push((value as number) + 1);
        return;
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, i) => increment(i % 2 === 0 ? bucket : peer)));
    expect(taken.sort((a, b) => a - b)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8]);
    await eventually('the count is 8', async () => (await bucket.get('n'))!.value === 8);
  });

  it('lets exactly one of many deletes find something', async () => {
    const { bucket } = fixture();
    await bucket.put('a', 1);
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => bucket.delete('a')));
    expect(outcomes.filter((deleted) => deleted)).to.have.length(1);
    expect(await bucket.get('a')).to.equal(undefined);
    expect(await bucket.delete('a')).to.equal(false);
  });
}

function keyTests(fixture: Fixture): void {
  it('keeps keys apart that a file system might confuse', async () => {
    const { bucket } = fixture();
    const keys = [...ODD_KEYS, ...MORE_ODD_KEYS];
    const revisions = new Map<string, number>();
    for (const key of keys) revisions.set(key, (await bucket.create(key, key))!);
    for (const key of keys)
      expect(await bucket.get(key)).to.deep.equal({ key, value: key, revision: revisions.get(key) });
    const follower = new Follower();
    const watch = await bucket.watch(follower.listener);
    expect([...follower.state.keys()].sort()).to.deep.equal([...keys].sort());
    watch.stop();
    for (const key of keys) expect(await bucket.delete(key), key).to.equal(true);
  });
}

function refusedKeyTests(fixture: Fixture): void {
  for (const key of ['', '.', '..', '.a', 'a.', 'a..b', 'a/b', '../a', 'a b', 'a*', '>', 'é', 'a\0', 'x'.repeat(256)]) {
    it(`refuses the key ${JSON.stringify(key.slice(0, 10))}`, async () => {
      const { bucket } = fixture();
      const uses = [
        () => bucket.get(key),
        () => bucket.create(key, 1),
        () => bucket.update(key, 1, 1),
        () => bucket.put(key, 1),
        () => bucket.clear(key),
        () => bucket.delete(key),
      ];
      for (const use of uses) await expectCode(use(), 'validation_error');
    });
  }
}

function closedTests(fixture: Fixture): void {
  const uses: Record<string, (bucket: Bucket) => Promise<unknown>> = {
    get: (bucket) => bucket.get('a'),
    create: (bucket) => bucket.create('b', 1),
    update: (bucket) => bucket.update('a', 1, 1),
    put: (bucket) => bucket.put('a', 1),
    clear: (bucket) => bucket.clear('a'),
    delete: (bucket) => bucket.delete('a'),
    watch: (bucket) => bucket.watch(() => {}),
  };
  for (const [method, use] of Object.entries(uses)) {
    it(`${method} of a closed bucket answers unavailable`, async () => {
      await fixture().bucket.put('a', 1);
      await fixture().close();
      await expectCode(use(fixture().bucket), 'unavailable');
    });
  }
}

function restartTests(fixture: Fixture): void {
  it('finds every entry with its revision after a restart, and continues above them', async () => {
    const { bucket } = fixture();
    const revisions = new Map<string, number>();
    for (let i = 0; i < 30; i++) revisions.set(`k${i}`, await bucket.put(`k${i}`, { i }));
    await bucket.delete('k7');
    revisions.delete('k7');
    const reopened = await fixture().restart!();
    expect(await reopened.get('k7')).to.equal(undefined);
    for (const [key, revision] of revisions) expect((await reopened.get(key))!.revision).to.equal(revision);
    expect(await reopened.update('k3', 'new', revisions.get('k3')!)).to.be.greaterThan(Math.max(...revisions.values()));
  });

  it('never reuses a revision, even if the newest entry was deleted', async () => {
    const { bucket } = fixture();
    await bucket.put('a', 1);
    const newest = await bucket.put('b', 1);
    await bucket.delete('b');
    const reopened = await fixture().restart!();
    expect(await reopened.put('b', 2)).to.be.greaterThan(newest);
  });
}
