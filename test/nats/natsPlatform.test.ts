// Covers: shared/bucket/nats.ts, shared/log/eventLog.ts, shared/log/jetStream.ts, shared/log/jetStreamLog.ts
// Covers: shared/log/jetStreamMessages.ts, shared/log/jetStreamStreams.ts
// Covers: shared/platform/natsPlatform.ts, shared/platform/natsServers.ts, shared/platform/natsService.ts
// Covers: shared/transport/nats.ts, shared/transport/natsRequests.ts, shared/transport/natsServing.ts
// Covers: shared/transport/transport.ts
/** The cluster platform over a real nats-server: the suites of every platform, and what only this one guarantees. */
import { expect } from 'chai';
import { connect, headers } from 'nats';
import { pino } from 'pino';
import { alarmOf } from '../../scripts/local/supervisor/childLog.js';
import { systemClock } from '../../shared/clock.js';
import { LOG_START } from '../../shared/log/eventLog.js';
import { JETSTREAM, refusalOf } from '../../shared/nats/natsError.js';
import { registerService } from '../../shared/platform/natsService.js';
import { PROTOCOL_VERSION } from '../../shared/protocol/version.js';
import { ASKS_AFTER_HEADER } from '../../shared/transport/askingAfter.js';
import { NatsTransport } from '../../shared/transport/nats.js';
import { speaksAnother } from '../../shared/transport/transportErrors.js';
import { eventually, rejection } from '../support/expectations.js';
import { freePort } from '../support/launch/freePort.js';
import { startTestNats, type TestNats } from '../support/launch/natsServer.js';
import { startProxy } from '../support/launch/tcpProxy.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';
import { FREE_BUCKET } from '../support/nats/freeBucket.js';
import { bucketSuite } from '../support/suites/bucketSuite.js';
import { eventLogSuite } from '../support/suites/eventLogSuite.js';
import { transportSuite } from '../support/suites/transportSuite.js';

/** The fields of an answer to `$SRV.STATS` that a test reads. */
interface Statistics {
  readonly id: string;
  readonly endpoints: readonly {
    readonly processing_time: number;
    readonly average_processing_time: number;
    readonly data: unknown;
  }[];
}

describe('the cluster platform', () => {
  const platforms = new ClusterPlatforms();
  let nats: TestNats;

  before(async () => {
    nats = await startTestNats();
  });
  after(() => nats.stop());
  afterEach(() => platforms.close());

  transportSuite('nats', async () => {
    const [client, server] = [await platforms.open(nats.url), await platforms.open(nats.url)];
    return {
      client: client.transport,
      server: server.transport,
      closeClient: () => client.close(),
      dispose: () => platforms.close(),
    };
  });

  bucketSuite('nats', async (options) => {
    await nats.erase();
    const open = async () => (await platforms.open(nats.url)).bucket(FREE_BUCKET, options);
    const platform = await platforms.open(nats.url);
    return {
      bucket: await platform.bucket(FREE_BUCKET, options),
      peer: open,
      restart: async () => {
        await platforms.close();
        return open();
      },
      close: () => platform.close(),
      dispose: () => platforms.close(),
    };
  });

  eventLogSuite('nats', async () => {
    await nats.erase();
    const open = async () => (await platforms.open(nats.url)).logs;
    return {
      logs: await open(),
      peer: open,
      restart: async () => {
        await platforms.close();
        return open();
      },
      dispose: () => platforms.close(),
    };
  });

  it('logs the loss and the restoration of the connection, both as alarms', async () => {
    const proxy = await startProxy('127.0.0.1', Number(new URL(nats.url).port));
    try {
      const lines: string[] = [];
      const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
      const platform = await platforms.open(`nats://127.0.0.1:${proxy.port}`, { logger });
      proxy.cut();
      await eventually('the loss is noticed', () => !platform.connected);
      proxy.reset();
      await eventually('the connection is restored', () => platform.connected);
      expect(lines.flatMap((line) => alarmOf(line) ?? [])).to.include.members([
        'the connection to NATS is lost',
        'the connection to NATS is restored',
      ]);
    } finally {
      await platforms.close();
      await proxy.close();
    }
  });

  it('refuses a message whose times are missing or not finite, and passes on the deadline of another', async () => {
    const { transport } = await platforms.open(nats.url);
    const seen: number[] = [];
    await transport.serve('vouch.c.1', async ({ deadlineMs, body }) => {
      seen.push(deadlineMs);
      return body;
    });
    const stranger = await connect({ servers: nats.url });
    try {
      for (const times of ['Infinity 1000', '1 Infinity', 'NaN 1', '1 x', ' 1', '-Infinity Infinity', '5']) {
        const sent = headers();
        sent.set('Vouch-Request-Id', 'r');
        sent.set('Vouch-Deadline', times);
        const { headers: answered } = await stranger.request('vouch.c.1', undefined, { headers: sent, timeout: 5_000 });
        expect(answered?.get('Nats-Service-Error'), times).to.match(/Vouch-Deadline are missing or malformed$/);
      }
      expect(seen).to.deep.equal([]);
      const deadlineMs = systemClock.nowMs() + 10_000;
      await transport.request('vouch.c.1', new Uint8Array(1), { requestId: 'r', deadlineMs });
      expect(Math.abs((seen[0] as number) - deadlineMs)).to.be.below(1_000);
    } finally {
      await stranger.close();
    }
  });

  it('does not run a call of another protocol version, and names both versions in the error', async () => {
    const { transport, connection } = await platforms.open(nats.url);
    let calls = 0;
    await transport.serve('vouch.c.1', async ({ body }) => {
      calls++;
      return body;
    });
    const { connection: otherConnection } = await platforms.open(nats.url);
    const other = new NatsTransport(otherConnection, PROTOCOL_VERSION + 1);
    const envelope = { requestId: 'r', deadlineMs: systemClock.nowMs() + 10_000 };
    const refused = await rejection(other.request('vouch.c.1', new Uint8Array(1), envelope));
    expect(refused).to.include({ code: 'unavailable' });
    expect(refused.message).to.equal(speaksAnother('the sender of a call', PROTOCOL_VERSION + 1, PROTOCOL_VERSION));
    const sent = headers();
    sent.set('Vouch-Request-Id', 'r');
    sent.set('Vouch-Deadline', `${systemClock.nowMs()} 1000`);
    const { headers: answered } = await connection.nc.request('vouch.c.1', undefined, {
      headers: sent,
      timeout: 5_000,
    });
    expect(answered?.get('Nats-Service-Error')).to.equal(speaksAnother('the sender of a call', 0, PROTOCOL_VERSION));
    expect(calls).to.equal(0);
    await transport.request('vouch.c.1', new Uint8Array(1), envelope);
    expect(calls).to.equal(1);
  });

  it('answers a question about requests with as many bytes as the question has, whatever these are', async () => {
    const { transport, connection } = await platforms.open(nats.url);
    await transport.serve('vouch.c.1', async ({ body }) => body);
    const stranger = await connect({ servers: nats.url });
    try {
      const sent = headers();
      sent.set(ASKS_AFTER_HEADER, '1');
      const tokens = new Uint8Array(connection.maxPayloadBytes - 1_000).fill(0xff);
      const { data } = await stranger.request('vouch.c.1', tokens, { headers: sent, timeout: 5_000 });
      expect(Buffer.compare(data, tokens)).to.equal(0);
    } finally {
      await stranger.close();
    }
  });

  it('reports a larger store after an append, a smaller one after a removal, and no limit', async () => {
    await nats.erase();
    const platform = await platforms.open(nats.url);
    const before = await platform.storeRoom();
    const log = await platform.logs.open(1);
    await log.append(new Uint8Array(1_000_000), LOG_START, systemClock.nowMs() + 10_000);
    const filled = await platform.storeRoom();
    expect(filled.usedBytes! - before.usedBytes!).to.be.within(1_000_000, 1_010_000);
    expect(filled.freeBytes).to.equal(undefined);
    await log.close();
    await platform.logs.remove(1);
    expect((await platform.storeRoom()).usedBytes! - before.usedBytes!).to.be.below(10_000);
  });

  it('recognises the refusals of a store without room', async () => {
    const platform = await platforms.open(nats.url);
    const recognised = [10_002, 10_023, 10_047, JETSTREAM.wrongLastSequence].map((code) =>
      platform.refusesWrites(refusalOf(503, code, 'refused')),
    );
    expect(recognised).to.deep.equal([true, true, true, false]);
  });

  describe('opening', () => {
    beforeEach(() => nats.erase());

    it('succeeds for eight processes at once, and one of them creates an entry', async () => {
      const opened = await Promise.all(Array.from({ length: 8 }, () => platforms.open(nats.url)));
      const buckets = await Promise.all(opened.map((platform) => platform.bucket(FREE_BUCKET, { ttlMs: 60_000 })));
      const created = await Promise.all(buckets.map((bucket, i) => bucket.create('first', i)));
      expect(created.filter((revision) => revision !== undefined)).to.have.length(1);
    });

    it('fails without a server, with an error that says what to do', async () => {
      const url = `nats://127.0.0.1:${await freePort()}`;
      const error = await rejection(platforms.open(url, { connectWithinMs: 300 }));
      expect(error.message).to.match(
        /^no NATS server answers at 127\.0\.0\.1:\d+ .*; start one or correct VOUCH_NATS_URL$/,
      );
    });

    it('is refused with three replicas on one server', async () => {
      const error = await rejection(platforms.open(nats.url, { replicas: 3 }));
      expect(error.message).to.equal('one NATS server cannot hold 3 replicas; set VOUCH_REPLICAS to 1');
    });

    it('is refused with a number of log streams that differs from the existing one', async () => {
      await platforms.open(nats.url, { logStreams: 2 });
      const error = await rejection(platforms.open(nats.url, { logStreams: 3 }));
      expect(error.message).to.contain('set VOUCH_LOG_STREAMS to 2');
    });

    it('is refused if a log stream would not keep every frame', async () => {
      const nc = await connect({ servers: nats.url });
      const jsm = await nc.jetstreamManager();
      await jsm.streams.add({ name: 'VOUCH_LOG_0', subjects: ['vouch.log.0.*'], max_msgs: 1_000 });
      await nc.close();
      const error = await rejection(platforms.open(nats.url));
      expect(error.message).to.match(/VOUCH_LOG_0 exists with (?:discard|max_msgs)/);
    });

    it('applies a changed time to live to an existing bucket and to its entries', async () => {
      const before = await platforms.open(nats.url);
      await (await before.bucket(FREE_BUCKET, { ttlMs: 600_000 })).put('s1', 1);
      const now = await (await platforms.open(nats.url)).bucket(FREE_BUCKET, { ttlMs: 300 });
      await now.put('s2', 1);
      await eventually('both entries have expired', async () => !(await now.get('s1')) && !(await now.get('s2')));
    });
  });

  it('lists the subjects of a process, and their statistics, as a NATS service until it stops', async () => {
    const platform = await platforms.open(nats.url);
    await platform.transport.serve('vouch.s.s1', async ({ body }) => body);
    const endpoint = { name: 'describe', subject: 'vouch.about.s1', answer: async () => ({ collections: 3 }) };
    const service = await registerService(platform, {
      name: 'vouch-shard',
      version: '1.2.3',
      description: 'A shard of Vouch',
      instance: 's1',
      metadata: { shard: 's1' },
      serves: ['read', 'named'],
      endpoint,
    });
    await platform.transport.request('vouch.s.s1', new Uint8Array(3), { requestId: 'r', deadlineMs: Number.MAX_VALUE });
    const nc = await connect({ servers: nats.url });
    const info = (await nc.request('$SRV.INFO.vouch-shard')).json<{ version: string; metadata: { shard: string } }>();
    expect(info.version).to.equal('1.2.3');
    expect(info.metadata.shard).to.equal('s1');
    expect((await nc.request('vouch.about.s1')).json()).to.deep.equal({ collections: 3 });
    const stats = (await nc.request('$SRV.STATS.vouch-shard')).json<Statistics>();
    expect(stats.id).to.match(/^s1-\w{6}$/);
    const [read, named, describe] = stats.endpoints;
    expect(read).to.include({ name: 'read', subject: 'vouch.c.*.*.read', num_requests: 0, processing_time: 0 });
    expect(named).to.include({ name: 'named', subject: 'vouch.s.*', num_requests: 1, num_errors: 0, last_error: '' });
    expect(named!.processing_time).to.be.above(0).and.equal(named!.average_processing_time);
    expect(named!.data).to.deep.equal({ late: 0, under_way: 0 });
    expect(describe).to.include({ name: 'describe', num_requests: 1 });
    const pinged = (await nc.request(`$SRV.PING.vouch-shard.${stats.id}`)).json();
    expect(pinged).to.include({ type: 'io.nats.micro.v1.ping_response', id: stats.id, name: 'vouch-shard' });
    await service.stop();
    await rejection(nc.request('vouch.about.s1'));
    await nc.close();
  });
});
