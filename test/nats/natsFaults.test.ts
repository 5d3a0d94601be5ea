// Covers: shared/nats/natsConnection.ts, shared/nats/natsDelivery.ts, shared/nats/natsError.ts
// Covers: shared/transport/askingAfter.ts, shared/nats/streamPublisher.ts
/** The cluster platform while connections break and nats-server is killed. */
import { expect } from 'chai';
import type { BucketValue, Change } from '../../shared/bucket/bucket.js';
import { systemClock } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors/errors.js';
import { type EventLog, Fenced, LOG_START, type Position, type StoredFrame } from '../../shared/log/eventLog.js';
import type { ClusterPlatform } from '../../shared/platform/natsPlatform.js';
import { ASKS_AFTER_HEADER } from '../../shared/transport/askingAfter.js';
import { AnswerLost } from '../../shared/transport/transportErrors.js';
import { eventually, expectCode, gate, rejection } from '../support/expectations.js';
import { startTestNats, type TestNats } from '../support/launch/natsServer.js';
import { startProxy, type TcpProxy } from '../support/launch/tcpProxy.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';
import { FREE_BUCKET } from '../support/nats/freeBucket.js';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (body: Uint8Array): string => Buffer.from(body).toString();
const inMs = (ms: number): number => systemClock.nowMs() + ms;
const LONG_MS = 30_000;

async function textsOf(log: EventLog): Promise<[Position, string][]> {
  const found: [Position, string][] = [];
  for await (const frame of log.read(LOG_START)) found.push([frame.position, text(frame.bytes)]);
  return found;
}

describe('faults of NATS', () => {
  const platforms = new ClusterPlatforms();
  let nats: TestNats;
  let proxy: TcpProxy;
  /** Is connected to the server without the proxy. */
  let near: ClusterPlatform;
  /** Is connected through the proxy. */
  let far: ClusterPlatform;

  beforeEach(async () => {
    nats = await startTestNats();
    proxy = await startProxy('127.0.0.1', Number(new URL(nats.url).port));
    near = await platforms.open(nats.url);
    far = await platforms.open(`nats://127.0.0.1:${proxy.port}`);
  });
  afterEach(async () => {
    await platforms.close();
    await proxy.close();
    await nats.stop();
  });

  const isLost = (): Promise<void> => eventually('the loss is noticed', () => !far.connected);
  const isRestored = (): Promise<void> => eventually('the connection is restored', () => far.connected);

  it('fail every call while no server can be reached, and no call afterwards', async () => {
    await far.transport.serve('vouch.test.a', async ({ body }) => body);
    const bucket = await far.bucket(FREE_BUCKET);
    await bucket.put('a', 1);
    const log = await far.logs.open(1);
    const position = await log.append(bytes('one'), LOG_START, inMs(LONG_MS));
    await nats.kill();
    await isLost();
    const envelope = { requestId: 'r', deadlineMs: inMs(600_000) };
    const calls: Promise<unknown>[] = [
      far.transport.request('vouch.test.a', bytes('x'), envelope),
      far.transport.serve('vouch.test.b', async ({ body }) => body),
      bucket.get('a'),
      bucket.put('a', 2),
      bucket.create('b', 2),
      bucket.watch(() => {}),
      log.append(bytes('two'), position, inMs(600_000)),
      log.head(),
      log.readAt(position),
      textsOf(log),
      far.logs.remove(1),
    ];
    for (const call of calls) await expectCode(call, 'unavailable');
    await nats.start();
    await isRestored();
    const again = { requestId: 'r', deadlineMs: inMs(LONG_MS) };
    expect(text(await far.transport.request('vouch.test.a', bytes('x'), again))).to.equal('x');
    expect((await bucket.get('a'))!.value).to.equal(1);
    expect(await textsOf(log)).to.deep.equal([[position, 'one']]);
    expect(await log.append(bytes('two'), position, inMs(LONG_MS))).to.be.greaterThan(position);
  });

  it('fail a running request together with its connection', async () => {
    let asked = false;
    const gated = gate();
    await near.transport.serve('vouch.test.a', async ({ body }) => {
      asked = true;
      await gated.opened;
      return body;
    });
    const failed = expectCode(
      far.transport.request('vouch.test.a', bytes('x'), { requestId: 'r', deadlineMs: inMs(600_000) }),
      'unavailable',
    );
    await eventually('the request has arrived', () => asked);
    proxy.cut();
    await failed;
    gated.open();
  });

  it('do not lose an answer that was ready while its sender was disconnected', async () => {
    const gated = gate();
    let asked = false;
    await far.transport.serve('vouch.test.a', async ({ body }) => {
      asked = true;
      await gated.opened;
      return body;
    });
    const answer = near.transport.request('vouch.test.a', bytes('x'), { requestId: 'r', deadlineMs: inMs(LONG_MS) });
    await eventually('the request has arrived', () => asked);
    proxy.cut();
    await isLost();
    gated.open();
    proxy.reset();
    expect(text(await answer)).to.equal('x');
  });

  describe('a request or an answer that is lost on the way', () => {
    const ask = (): Promise<Uint8Array> =>
      near.transport.request('vouch.test.a', bytes('x'), { requestId: 'r', deadlineMs: inMs(600_000) });

    it('is detected soon after the reconnection, before the deadline', async () => {
      const gated = gate();
      let asked = 0;
      await far.transport.serve('vouch.test.a', async ({ body }) => {
        asked++;
        await gated.opened;
        return body;
      });
      const answered = rejection(ask());
      await eventually('the request has arrived', () => asked === 1);
      proxy.lose('everything');
      gated.open();
      const seen = gate();
      near.connection.nc.subscribe('vouch.test.a', { callback: () => seen.open() });
      await near.connection.nc.flush();
      const questioned = rejection(ask());
      await seen.opened;
      proxy.reset();
      expect(await answered).to.be.instanceOf(AnswerLost);
      expect(await questioned).to.be.instanceOf(AnswerLost);
      expect(asked).to.equal(1);
      await isRestored();
      expect(text(await ask())).to.equal('x');
    });

    it('is distinguished from a late answer', async () => {
      const gated = gate();
      await far.transport.serve('vouch.test.a', async ({ body }) => {
        await gated.opened;
        return body;
      });
      let asksAfter = 0;
      near.connection.nc.subscribe('vouch.test.a', {
        callback: (_, { headers }) => {
          if (headers?.has(ASKS_AFTER_HEADER)) asksAfter++;
        },
      });
      await near.connection.nc.flush();
      const answer = ask();
      await eventually('it was asked after', () => asksAfter >= 2);
      gated.open();
      expect(text(await answer)).to.equal('x');
    });
  });

  describe('an append', () => {
    let log: EventLog;
    let seen: EventLog;
    let first: Position;
    beforeEach(async () => {
      [log, seen] = [await far.logs.open(5), await near.logs.open(5)];
      first = await log.append(bytes('one'), LOG_START, inMs(LONG_MS));
    });

    it('with a lost answer finds its own frame', async () => {
      proxy.lose('answers');
      const appending = log.append(bytes('two'), first, inMs(LONG_MS));
      await eventually('the frame is stored', async () => (await seen.head())!.position > first);
      proxy.reset();
      const position = await appending;
      expect(await textsOf(seen)).to.deep.equal([
        [first, 'one'],
        [position, 'two'],
      ]);
    });

    it('with a lost answer finds its own frame even if another has followed it', async () => {
      proxy.lose('answers');
      const appending = log.append(bytes('two'), first, inMs(LONG_MS));
      await eventually('the frame is stored', async () => (await seen.head())!.position > first);
      const third = await seen.append(bytes('three'), (await seen.head())!.position, inMs(LONG_MS));
      proxy.reset();
      const position = await appending;
      expect(await textsOf(seen)).to.deep.equal([
        [first, 'one'],
        [position, 'two'],
        [third, 'three'],
      ]);
    });

    it('stores a frame that never arrived at its second try', async () => {
      proxy.lose('everything');
      const appending = log.append(bytes('two'), first, inMs(LONG_MS));
      proxy.cut();
      await isLost();
      proxy.reset();
      const position = await appending;
      expect(await textsOf(seen)).to.deep.equal([
        [first, 'one'],
        [position, 'two'],
      ]);
    });

    it('is refused if its frame never arrived and another frame did', async () => {
      proxy.lose('everything');
      const fenced = rejection(log.append(bytes('two'), first, inMs(LONG_MS)));
      const other = await seen.append(bytes('other'), first, inMs(LONG_MS));
      proxy.reset();
      expect(await fenced).to.be.instanceOf(Fenced);
      expect(await textsOf(log)).to.deep.equal([
        [first, 'one'],
        [other, 'other'],
      ]);
    });

    it('says that its outcome is unknown if it is so at the deadline', async () => {
      proxy.lose('answers');
      const error = await expectCode(log.append(bytes('two'), first, inMs(300)), 'unavailable');
      expect(error).not.to.be.instanceOf(Fenced);
      await eventually('the frame is stored', async () => (await textsOf(seen)).length === 2);
      expect((await textsOf(seen)).map(([, frame]) => frame)).to.deep.equal(['one', 'two']);
    });
  });

  describe('a watch', () => {
    const changes: [string, BucketValue | undefined][] = [];
    const listener = ({ key, entry }: Change): void => {
      changes.push([key, entry?.value]);
    };
    beforeEach(() => {
      changes.length = 0;
    });

    it('delivers each difference once and in order after a disconnection, and reports when it has caught up', async () => {
      const bucket = await near.bucket(FREE_BUCKET);
      for (const key of ['a', 'b', 'c']) await bucket.put(key, 1);
      const watch = await (await far.bucket(FREE_BUCKET)).watch(listener);
      proxy.cut();
      await isLost();
      await expectCode(watch.caughtUp(), 'unavailable');
      await bucket.put('a', 2);
      await bucket.put('a', 3);
      await bucket.delete('b');
      await bucket.put('d', 1);
      await bucket.put('e', 1);
      await bucket.delete('e');
      proxy.reset();
      await isRestored();
      await watch.caughtUp();
      expect(changes.some(([key]) => key === 'd')).to.equal(true);
      await bucket.put('last', 1);
      await eventually('the later change is delivered', () => changes.some(([key]) => key === 'last'));
      const [before, after] = [changes.slice(0, 3), changes.slice(3)];
      expect(before.sort()).to.deep.equal([
        ['a', 1],
        ['b', 1],
        ['c', 1],
      ]);
      expect(after).to.deep.equal([
        ['a', 3],
        ['b', undefined],
        ['d', 1],
        ['e', undefined],
        ['last', 1],
      ]);
      const waiting = watch.caughtUp();
      watch.stop();
      await expectCode(waiting, 'unavailable');
    });

    it('delivers the end of entries that expired while it was disconnected', async () => {
      const options = { ttlMs: 1_000 };
      const bucket = await near.bucket(FREE_BUCKET, options);
      const watch = await (await far.bucket(FREE_BUCKET, options)).watch(listener);
      await bucket.put('s1', 1);
      await eventually('the entry is delivered', () => changes.length === 1);
      proxy.cut();
      await isLost();
      await eventually('the entry has expired', async () => (await bucket.get('s1')) === undefined);
      proxy.reset();
      await eventually('its end is delivered', () => changes.length === 2);
      expect(changes[1]).to.deep.equal(['s1', undefined]);
      watch.stop();
    });

    it('does not mistake a lost connection for the expiry of entries', async () => {
      const options = { ttlMs: 1_500 };
      const bucket = await near.bucket(FREE_BUCKET, options);
      const watch = await (await far.bucket(FREE_BUCKET, options)).watch(listener);
      await bucket.put('s1', 0);
      await eventually('the entry is delivered', () => changes.length === 1);
      proxy.cut();
      await isLost();
      const endMs = systemClock.monotonicMs() + 2_000;
      let beat = 0;
      await eventually('it has lived longer than its time', async () => {
        await bucket.put('s1', ++beat);
        return systemClock.monotonicMs() > endMs;
      });
      proxy.reset();
      await eventually('the newest is delivered', () => changes.at(-1)![1] === beat);
      expect(changes.filter(([, value]) => value === undefined)).to.deep.equal([]);
      watch.stop();
    });
  });

  it('lose no answered write and store none twice, through kills of nats-server', async () => {
    const random = seededRandom(testSeed());
    const writers = await Promise.all(
      [1, 2, 3].map(async (id) => ({ log: await near.logs.open(id), answered: [] as StoredFrame[] })),
    );
    const followed = new Map<string, number>();
    const watch = await (await far.bucket(FREE_BUCKET)).watch(({ key, entry }) => {
      expect(entry!.value).to.be.greaterThan(followed.get(key) ?? -1);
      followed.set(key, entry!.value as number);
    });
    let writing = true;
    const runs = writers.map((writer, i) => write(writer, `${i}`, () => writing));
    const putting = count(near, () => writing);
    for (let round = 0; round < 3; round++) {
      const enough = writers[0]!.answered.length + 20 + random.int(200);
      await eventually('more is written', () => writers[0]!.answered.length >= enough);
      await nats.kill();
      await nats.start();
    }
    const enough = writers[0]!.answered.length + 20;
    await eventually('writes continue after the last kill', () => writers[0]!.answered.length >= enough);
    writing = false;
    await Promise.all(runs);
    const last = await putting;
    await eventually('the watch has seen the last put', () => followed.get('n') === last);
    watch.stop();
    for (const { log, answered } of writers) {
      const wanted = answered.map(({ position, bytes: frame }) => [position, text(frame)]);
      expect(await textsOf(log)).to.deep.equal(wanted);
    }
  });
});

/** Appends frames one after another; after an unknown outcome it reads the log, as the contract demands. */
async function write(
  { log, answered }: { log: EventLog; answered: StoredFrame[] },
  label: string,
  shouldContinue: () => boolean,
): Promise<void> {
  let position = LOG_START;
  for (let i = 0; shouldContinue(); i++) {
    const frame = bytes(`${label}:${i}:${'x'.repeat(i % 700)}`);
    try {
      position = await log.append(frame, position, inMs(LONG_MS));
      answered.push({ position, bytes: frame });
    } catch (error) {
      expect(error).to.be.instanceOf(VouchError).and.not.instanceOf(Fenced);
      await eventually('the log can be read', () => catchUp());
    }
  }

  async function catchUp(): Promise<boolean> {
    try {
      for await (const frame of log.read(position)) {
        position = frame.position;
        answered.push(frame);
      }
      return true;
    } catch {
      return false;
    }
  }
}

/** Puts growing numbers while `shouldContinue` returns true. Returns the last one, which was answered. */
async function count(platform: ClusterPlatform, shouldContinue: () => boolean): Promise<number> {
  const bucket = await platform.bucket(FREE_BUCKET);
  for (let n = 1, answered = 0; ; n++) {
    try {
      await bucket.put('n', n);
      answered = n;
    } catch {
      await eventually('the server is back', () => platform.connected);
    }
    if (answered === n && !shouldContinue()) return n;
  }
}
