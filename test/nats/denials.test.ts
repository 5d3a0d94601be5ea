// Covers: shared/bucket/buckets.ts, shared/nats/denials.ts, shared/nats/lastingStream.ts
/** Operations that streams deny to every login: streams that Vouch makes, and older ones, which did not deny them before. */
import { expect } from 'chai';
import {
  connect,
  headers,
  type JetStreamManager,
  type NatsConnection,
  type Placement,
  StorageType,
  type StreamConfig,
} from 'nats';
import { pino } from 'pino';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { LASTING } from '../../shared/nats/lastingStream.js';
import type { ClusterPlatform } from '../../shared/platform/natsPlatform.js';
import { rejection } from '../support/expectations.js';
import { startTestNats, type TestNats } from '../support/launch/natsServer.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';
import { startTestNatsCluster } from '../support/nats/natsCluster.js';
import { RoleServer } from '../support/nats/roleServer.js';

const BUCKET_STREAMS = Object.values(BUCKETS).map((name) => `KV_${name}`);
/** `JetStreamLogs.remove` and the vault need some operations on their streams, which are not denied. */
const DENIED: Readonly<Record<string, readonly string[]>> = {
  VOUCH_LOG_0: ['delete'],
  VOUCH_LOG_1: ['delete'],
  VOUCH_SERVICE_LOG: ['delete', 'purge'],
  VOUCH_VAULT: ['purge'],
  VOUCH_SEALS_1: ['purge'],
  ...Object.fromEntries(BUCKET_STREAMS.map((name) => [name, ['delete', 'purge']])),
};

/** Makes a stream like earlier versions of Vouch, or a user. */
const lasting = (name: string, subject: string, more: Partial<StreamConfig> = {}): Partial<StreamConfig> => ({
  ...{ name, subjects: [subject], ...LASTING, num_replicas: 1, ...more },
});
const EARLIER: readonly Partial<StreamConfig>[] = [
  lasting('VOUCH_LOG_0', 'vouch.log.0.*', { allow_direct: true }),
  lasting('VOUCH_LOG_1', 'vouch.log.1.*', { allow_direct: true }),
  lasting('VOUCH_SERVICE_LOG', 'vouch.servicelog.*', { allow_direct: true }),
  lasting('VOUCH_VAULT', 'vouch.vault.*.*'),
];
/** Connects to the server of this name, if there are several. */
const earlierSeals = (number: number, server: string | undefined): Partial<StreamConfig> => ({
  ...lasting(`VOUCH_SEALS_${number}`, `vouch.seals.${number}.*.*`),
  ...(server === undefined ? {} : { placement: { tags: [server] } as Placement }),
});

async function makeEarlier(nc: NatsConnection, servers: readonly (string | undefined)[] = [undefined]): Promise<void> {
  const jsm = await nc.jetstreamManager();
  const replicas = servers.length;
  for (const config of EARLIER) await jsm.streams.add({ ...config, num_replicas: replicas });
  for (const [i, server] of servers.entries()) await jsm.streams.add(earlierSeals(i + 1, server));
  const settings = { history: 1, storage: StorageType.File, replicas, allow_direct: false };
  for (const name of Object.values(BUCKETS)) await nc.jetstream().views.kv(name, settings);
}

async function openAll(platform: ClusterPlatform): Promise<void> {
  for (const name of Object.values(BUCKETS)) await platform.bucket(name);
  await platform.vault();
  await platform.serviceLog();
}

async function deniedBy(jsm: JetStreamManager, stream: string): Promise<string[]> {
  const { config } = await jsm.streams.info(stream);
  expect(config.allow_rollup_hdrs ?? false, stream).to.equal(false);
  return [...(config.deny_delete ? ['delete'] : []), ...(config.deny_purge ? ['purge'] : [])];
}

async function expectDenials(jsm: JetStreamManager, without: readonly string[] = []): Promise<void> {
  const names = Object.keys(DENIED).filter((name) => !without.includes(name));
  for (const name of names) expect(await deniedBy(jsm, name), name).to.deep.equal(DENIED[name]);
}

describe('the operations that streams deny', () => {
  const platforms = new ClusterPlatforms();
  let nats: TestNats;
  let nc: NatsConnection;
  let jsm: JetStreamManager;

  before(async () => {
    nats = await startTestNats();
    nc = await connect({ servers: nats.url });
    jsm = await nc.jetstreamManager();
  });
  after(async () => {
    await nc?.close();
    await nats.stop();
  });
  beforeEach(() => nats.erase());
  afterEach(() => platforms.close());

  it('are all operations that Vouch does not need, in streams that Vouch makes', async () => {
    await openAll(await platforms.open(nats.url));
    await expectDenials(jsm);
  });

  it('are all operations that Vouch does not need, in older streams, which keep their content', async () => {
    await makeEarlier(nc);
    await nc.jetstream().publish('$KV.vouch-counters.collection-id', '7');
    await nc.jetstream().publish('vouch.log.1.1', 'a frame');
    const opened = await Promise.all([1, 2, 3].map(() => platforms.open(nats.url)));
    await Promise.all(opened.map(openAll));
    await expectDenials(jsm);
    const counters = await opened[0]!.bucket(BUCKETS.counters);
    expect((await counters.get('collection-id'))?.value).to.equal(7);
    expect((await jsm.streams.info('VOUCH_LOG_1')).state.messages).to.equal(1);
  });

  it('are denied to an older stream together with a change of its time to live', async () => {
    await makeEarlier(nc);
    const platform = await platforms.open(nats.url);
    await platform.bucket(BUCKETS.leases, { ttlMs: 60_000 });
    expect((await jsm.streams.info('KV_vouch-leases')).config.max_age).to.equal(60e9);
    expect(await deniedBy(jsm, 'KV_vouch-leases')).to.deep.equal(['delete', 'purge']);
  });

  it('are refused by the server: a purge, a deletion, and a header that erases earlier entries', async () => {
    const platform = await platforms.open(nats.url);
    const bucket = await platform.bucket(BUCKETS.counters);
    await bucket.put('a', 1);
    await bucket.put('b', 2);
    expect((await rejection(jsm.streams.purge('KV_vouch-counters'))).message).to.match(/purge not permitted/);
    expect((await rejection(jsm.streams.deleteMessage('KV_vouch-counters', 1))).message).to.match(
      /delete not permitted/,
    );
    const rollUp = headers();
    rollUp.set('Nats-Rollup', 'all');
    const published = nc.jetstream().publish('$KV.vouch-counters.c', '{}', { headers: rollUp });
    expect((await rejection(published)).message).to.match(/rollup not permitted/);
    expect(await bucket.delete('a')).to.equal(true);
    const { state } = await jsm.streams.info('KV_vouch-counters', { subjects_filter: '>' });
    expect(Object.keys(state.subjects!).sort()).to.deep.equal(
      ['a', 'b', 'log-streams'].map((key) => `$KV.vouch-counters.${key}`),
    );
    expect((await bucket.get('b'))?.value).to.equal(2);
  });

  it('are denied on three servers with older streams', async () => {
    const cluster = await startTestNatsCluster();
    const there = await connect({ servers: cluster.url.split(',') });
    try {
      await makeEarlier(there, cluster.names);
      await openAll(await platforms.open(cluster.url, { replicas: 3 }));
      const manager = await there.jetstreamManager();
      await expectDenials(manager);
      for (const number of [2, 3]) expect(await deniedBy(manager, `VOUCH_SEALS_${number}`)).to.deep.equal(['purge']);
    } finally {
      await platforms.close();
      await there.close();
      await cluster.stop();
    }
  });

  it('are an error of one line that names the admin, if the login may not deny them', async () => {
    const server = await RoleServer.start();
    try {
      await makeEarlier((await server.raw('admin')).nc);
      await (await server.open('admin')).close();
      const lines: string[] = [];
      const logger = pino({}, { write: (line: string) => lines.push(line) });
      const shard = await server.open('shard', { logger });
      await shard.vault();
      await shard.bucket(BUCKETS.watermarks);
      const reported = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /deny/.test(msg));
      expect(reported.map(({ level, msg }) => [level, msg])).to.deep.equal([
        [
          40,
          'the stream, and maybe others, does not deny the purge or deletion of messages, which only the admin may change: ' +
            'run npm run keys -- streams',
        ],
      ]);
      expect((await shard.bucket(BUCKETS.owners)).options.name).to.equal('vouch-owners');
    } finally {
      await server.stop();
    }
  });
});
