import { expect } from 'chai';
import { Authenticator } from '../../../../coordinator/auth/authenticate.js';
import { Keyring } from '../../../../coordinator/auth/keyring.js';
import { FailedAttempts } from '../../../../coordinator/limits/failedAttempts.js';
import type { Change, Entry, Watch } from '../../../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemEntropy } from '../../../../shared/clock.js';
import { VouchError } from '../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../shared/logger.js';
import {
  allows,
  createKey,
  isExpired,
  keyHash,
  listKeys,
  revokeKey,
  SCOPES,
} from '../../../../shared/registry/keys.js';
import { eventually } from '../../../support/expectations.js';
import { LateWatch } from '../../../support/rigs/lateWatch.js';
import { TestClock } from '../../../support/rigs/testEdge.js';

/**
 * Counts reads of the store. While `isBehind`, it lacks every entry, and reports changes to watchers only when they
 * catch up.
 */
class CountingBucket extends MemoryBucket {
  reads = 0;
  isBehind = false;

  override async watch(listener: (change: Change) => void): Promise<Watch> {
    const delayed: Change[] = [];
    const watch = await super.watch((change) => (this.isBehind ? delayed.push(change) : listener(change)));
    const caughtUp = async (): Promise<void> => delayed.splice(0).forEach(listener);
    const read = (key: string): Promise<Entry | undefined> => {
      this.reads += 1;
      return caughtUp().then(() => super.get(key));
    };
    return { caughtUp, read, stop: () => watch.stop() };
  }
}

const LOCAL = (): ArrayBuffer => Uint8Array.of(127, 0, 0, 1).buffer;

describe('API keys', () => {
  let clock: TestClock;
  let bucket: CountingBucket;
  beforeEach(() => {
    clock = new TestClock();
    bucket = new CountingBucket({ logger: silentLogger, clock });
  });
  afterEach(() => bucket.close());

  it('are vk_ and 64 hex digits, of which only the hash is stored', async () => {
    const { key, record } = await createKey(bucket, { project: 'p', scope: 'read_only' }, clock, systemEntropy);
    expect(key).to.match(/^vk_[0-9a-f]{64}$/);
    const entry = await bucket.get(keyHash(key)!);
    expect(JSON.stringify(entry)).not.to.include(key.slice(3));
    expect(entry?.value).to.deep.equal({
      id: record.id,
      project: 'p',
      scope: 'read_only',
      created_at_ms: clock.nowMs(),
      expires_at_ms: null,
    });
  });

  it('are listed oldest first and by project, and revoked by id within their project', async () => {
    const made = [];
    for (const [project, label] of [
      ['a', 'one'],
      ['b', 'two'],
      ['a', 'three'],
    ] as const) {
      made.push(await createKey(bucket, { project, scope: 'admin', label }, clock, systemEntropy));
      clock.advance(1);
    }
    expect((await listKeys(bucket)).map(({ label }) => label)).to.deep.equal(['one', 'two', 'three']);
    expect((await listKeys(bucket, 'a')).map(({ label }) => label)).to.deep.equal(['one', 'three']);
    const [first] = made;
    expect(await revokeKey(bucket, first!.record.id, 'b')).to.equal(undefined);
    expect(await revokeKey(bucket, first!.record.id, 'a')).to.equal(keyHash(first!.key));
    expect(await revokeKey(bucket, first!.record.id)).to.equal(undefined);
    expect(await listKeys(bucket, 'a')).to.have.length(1);
  });

  it('refuse a malformed project', async () => {
    for (const project of ['', 'a b', 'a.b', 'x'.repeat(65)]) {
      const refused = await createKey(bucket, { project, scope: 'admin' }, clock, systemEntropy).catch((e) => e);
      expect(refused).to.be.instanceOf(VouchError).with.property('code', 'validation_error');
    }
  });

  it('allow the lesser scopes too; metrics require their own scope or admin', () => {
    const table = SCOPES.map((owned) => SCOPES.map((required) => allows(owned, required)));
    expect(SCOPES).to.deep.equal(['read_only', 'read_write', 'admin', 'metrics']);
    expect(table).to.deep.equal([
      [true, false, false, false],
      [true, true, false, false],
      [true, true, true, true],
      [false, false, false, true],
    ]);
  });
});

describe('authentication', () => {
  let clock: TestClock;
  let bucket: CountingBucket;
  let keyring: Keyring;
  let authenticator: Authenticator;
  beforeEach(async () => {
    clock = new TestClock();
    bucket = new CountingBucket({ logger: silentLogger, clock });
    keyring = await Keyring.open(bucket, clock, silentLogger);
    authenticator = new Authenticator(keyring, new FailedAttempts(clock));
  });
  afterEach(async () => {
    await keyring.close();
    bucket.close();
  });
  const newKey = (expiresAtMs: number | null = null) =>
    createKey(bucket, { project: 'p', scope: 'read_write', expiresAtMs }, clock, systemEntropy);
  const codeOf = async (authorization: string): Promise<string> => {
    try {
      return (await authenticator.authenticate(authorization, LOCAL)).project;
    } catch (error) {
      return (error as VouchError).code;
    }
  };

  /** Opens the keyring over a watch that reports only when the test says so. */
  const openLate = async (): Promise<LateWatch> => {
    await keyring.close();
    const watch = new LateWatch(bucket);
    keyring = await Keyring.open(watch.bucket, clock, silentLogger);
    authenticator = new Authenticator(keyring, new FailedAttempts(clock));
    return watch;
  };

  it('accepts a key in its header, with any case of the scheme', async () => {
    const { key, record } = await newKey();
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const caller = await authenticator.authenticate(`${scheme} ${key}`, LOCAL);
      expect(caller).to.deep.equal({ keyId: record.id, project: 'p', scope: 'read_write', collections: null });
    }
    for (const wrong of ['', key, `Basic ${key}`, 'Bearer', 'Bearer ', `Bearer ${key.toUpperCase()}`, `Bearer ${key}0`])
      expect(await codeOf(wrong)).to.equal('unauthorized');
    expect(bucket.reads).to.equal(0);
  });

  it('refuses a key after its revocation and after its expiry', async () => {
    const { key, record } = await newKey();
    const short = await newKey(clock.nowMs() + 1_000);
    expect(await codeOf(`Bearer ${short.key}`)).to.equal('p');
    clock.advance(1_000);
    expect(await codeOf(`Bearer ${short.key}`)).to.equal('unauthorized');
    await revokeKey(bucket, record.id);
    expect(await codeOf(`Bearer ${key}`)).to.equal('unauthorized');
  });

  it('refuses an expired key after the clock is set back, after a restart, and on a slower clock', async () => {
    const { key, record } = await newKey(clock.nowMs() + 1_000);
    const behind = new TestClock();
    const other = await Keyring.open(bucket, behind, silentLogger);
    const elsewhere = new Authenticator(other, new FailedAttempts(behind));
    const refused = (): Promise<unknown> =>
      Promise.resolve()
        .then(() => elsewhere.authenticate(`Bearer ${key}`, LOCAL))
        .catch((error) => error.code);
    expect(await refused()).to.include({ project: 'p' });
    clock.jump(5_000);
    expect(await codeOf(`Bearer ${key}`)).to.equal('unauthorized');
    clock.jump(-5_000);
    expect(await codeOf(`Bearer ${key}`)).to.equal('unauthorized');
    await eventually('the store has the expiry', async () => (await listKeys(bucket))[0]?.expiredAtMs !== null);
    expect(await refused()).to.equal('unauthorized');
    await keyring.close();
    keyring = await Keyring.open(bucket, clock, silentLogger);
    authenticator = new Authenticator(keyring, new FailedAttempts(clock));
    expect(await codeOf(`Bearer ${key}`)).to.equal('unauthorized');
    expect(isExpired((await listKeys(bucket))[0]!, clock.nowMs())).to.equal(true);
    expect((await listKeys(bucket))[0]).to.include({ id: record.id, expiresAtMs: clock.nowMs() + 1_000 });
    await other.close();
  });

  it('marks and logs an expired key once, also without a request, and skips a revoked one', async () => {
    await keyring.close();
    const lines: object[] = [];
    const watching = await Keyring.open(bucket, clock, {
      ...silentLogger,
      warn: (line: object) => lines.push(line),
    } as never);
    const { record } = await newKey(clock.nowMs() + 1_000);
    const revoked = await newKey(clock.nowMs() + 1_000);
    clock.jump(2_000);
    await revokeKey(bucket, revoked.record.id);
    await eventually('the store has the expiry', async () => (await listKeys(bucket))[0]?.expiredAtMs !== null);
    clock.jump(-2_000);
    expect(await listKeys(bucket)).to.deep.equal([{ ...record, expiredAtMs: clock.nowMs() + 2_000 }]);
    expect(lines).to.deep.equal([
      { key: record.id, project: 'p', expires: '2027-01-15T08:00:01.000Z', now: '2027-01-15T08:00:02.000Z' },
    ]);
    await watching.close();
  });

  it('reads the store once for a key that does not exist', async () => {
    const wrong = `Bearer vk_${'0'.repeat(64)}`;
    for (let i = 0; i < 20; i++) expect(await codeOf(wrong)).to.equal('unauthorized');
    expect(bucket.reads).to.equal(1);
  });

  it('accepts a key before its watch reports it, and refuses it when the watch reports its revocation', async () => {
    const watch = await openLate();
    const { key, record } = await newKey();
    expect(await codeOf(`Bearer ${key}`)).to.equal('p');
    expect(await codeOf(`Bearer ${key}`)).to.equal('p');
    await revokeKey(bucket, record.id);
    await watch.caughtUp();
    expect(await codeOf(`Bearer ${key}`)).to.equal('unauthorized');
    watch.stop();
  });

  it('accepts a new key also if the replica of its watch is stale', async () => {
    bucket.isBehind = true;
    const { key } = await newKey();
    expect(await codeOf(`Bearer ${key}`)).to.equal('p');
  });

  it('accepts a key that did not exist at its first use', async () => {
    const entropy = (length: number) => new Uint8Array(length);
    const key = `vk_${'0'.repeat(64)}`;
    expect(await codeOf(`Bearer ${key}`)).to.equal('unauthorized');
    await createKey(bucket, { project: 'p', scope: 'admin' }, clock, entropy);
    expect(await codeOf(`Bearer ${key}`)).to.equal('p');
  });

  it('counts no failed attempt if the store does not answer', async () => {
    const { key } = await newKey();
    await keyring.close();
    keyring = await Keyring.open(new MemoryBucket({ logger: silentLogger, clock }), clock, silentLogger);
    authenticator = new Authenticator(keyring, new FailedAttempts(clock));
    keyring.read = async () => {
      throw new VouchError('unavailable', 'the store does not answer');
    };
    for (let i = 0; i < 50; i++) expect(await codeOf(`Bearer ${key}`)).to.equal('unavailable');
  });

  it('limits failed attempts without reading the store for them, and still accepts a valid key', async () => {
    const { key } = await newKey();
    const guess = (n: number): string => `Bearer vk_${n.toString(16).padStart(64, '0')}`;
    let tries = 0;
    while ((await codeOf(guess(tries))) === 'unauthorized') tries += 1;
    const { reads } = bucket;
    expect(reads).to.equal(tries);
    for (let i = 0; i < 10; i++) expect(await codeOf(guess(tries + i))).to.equal('rate_limited');
    expect(bucket.reads).to.equal(reads);
    expect(await codeOf('')).to.equal('rate_limited');
    expect(await codeOf(`Bearer ${key}`)).to.equal('p');
  });
});
