// Covers: scripts/local/natsServer/prepareStore.ts, shared/nats/roles.ts
/**
 * Rights of each role at the NATS servers of a cluster. Every subject of JetStream and Vouch is tried in each role,
 * directly and by detours.
 */
import { expect } from 'chai';
import { ErrorCode, type NatsError } from 'nats';
import { prepareStore } from '../../scripts/local/natsServer/prepareStore.js';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { inboxPrefixOf, type NatsRole } from '../../shared/nats/roles.js';
import type { ClusterPlatform } from '../../shared/platform/natsPlatform.js';
import { registerService } from '../../shared/platform/natsService.js';
import {
  LOG_NOW_SUBJECT,
  logStream,
  logSubject,
  SERVICE_LOG_STREAM,
  SERVICE_LOG_SUBJECT,
  VAULT_STREAM,
  vaultSubject,
} from '../../shared/transport/subjects.js';
import { eventually, rejection } from '../support/expectations.js';
import { RoleServer } from '../support/nats/roleServer.js';

const LEASE_MS = 5_000;
const LOG_STREAMS = 2;
/** A server answers within a millisecond, if at all. */
const NO_ANSWER_MS = 500;
const BUCKET_STREAMS = Object.values(BUCKETS).map((name) => `KV_${name}`);
const LOGS = Array.from({ length: LOG_STREAMS }, (_, part) => logStream(part));
const STREAMS = [...BUCKET_STREAMS, ...LOGS, SERVICE_LOG_STREAM, VAULT_STREAM, 'VOUCH_SEALS_1'];
const KEYS = 'KV_vouch-keys';
const OF_VAULT = [VAULT_STREAM, 'VOUCH_SEALS_1'];

/** Every request of JetStream's API about a stream, of all versions. */
const STREAM_VERBS = [
  ...['STREAM.CREATE', 'STREAM.UPDATE', 'STREAM.DELETE', 'STREAM.PURGE', 'STREAM.INFO', 'STREAM.SNAPSHOT'],
  ...['STREAM.RESTORE', 'STREAM.MSG.GET', 'STREAM.MSG.DELETE', 'STREAM.PEER.REMOVE', 'STREAM.LEADER.STEPDOWN'],
  ...['CONSUMER.CREATE', 'CONSUMER.NAMES', 'CONSUMER.LIST', 'DIRECT.GET'],
] as const;
/**
 * Requests whose subjects continue after the stream: with a consumer and its filter, or with the subject of a message.
 */
const LONGER_FORMS: readonly (readonly [Verb, string])[] = [
  ['CONSUMER.CREATE', '.consumer'],
  ['CONSUMER.CREATE', '.consumer.vouch.log.0.1'],
  ['DIRECT.GET', '.vouch.log.0.1'],
];
const CONSUMER_VERBS = [
  ...['CONSUMER.DURABLE.CREATE', 'CONSUMER.DELETE', 'CONSUMER.INFO', 'CONSUMER.MSG.NEXT'],
  ...['CONSUMER.LEADER.STEPDOWN', 'CONSUMER.PAUSE', 'CONSUMER.RESET', 'CONSUMER.UNPIN'],
] as const;
type Verb = (typeof STREAM_VERBS)[number] | (typeof CONSUMER_VERBS)[number];

const GENERAL = ['INFO', 'STREAM.NAMES', 'STREAM.LIST', 'META.LEADER.STEPDOWN', 'SERVER.REMOVE', 'ACCOUNT.PURGE.STORE'];
const MESSAGES = [
  ...['vouch.c.1.1.read', 'vouch.c.1.1.write', 'vouch.c.1.1.control', 'vouch.f.1', 'vouch.f.1.s1'],
  ...['vouch.s.s1', 'vouch.feed.1'],
  ...['vouch.limits', 'vouch.limits.grants', 'vouch.limits.known', LOG_NOW_SUBJECT],
  ...['vouch.status.shard.s1', '$SRV.INFO'],
];
const OF_SHARDS = [logSubject(1, LOG_STREAMS), vaultSubject('70', 'ab'.repeat(16)), 'vouch.seals.1.70.ab'];
const DATA = [...OF_SHARDS, SERVICE_LOG_SUBJECT];

type Limited = Exclude<NatsRole, 'admin'>;

interface Rights {
  readonly general: readonly string[];
  /** Streams that each request may name; others are refused. */
  readonly requests: Partial<Record<Verb, readonly string[]>>;
  /** Whether it may also send the `LONGER_FORMS` of these requests. */
  readonly longer: boolean;
  /** Buckets that it may write. */
  readonly writes: readonly string[];
  /** Buckets in which it may only write marks for watches. */
  readonly marks?: readonly string[];
  readonly data: readonly string[];
  readonly messages: readonly string[];
  /** Subjects that it may receive. */
  readonly receives: readonly string[];
}

const without = (streams: readonly string[], ...left: readonly string[]): string[] =>
  streams.filter((stream) => !left.includes(stream));
const OPEN = without(STREAMS, ...OF_VAULT);
const OF_COORDINATOR = [...BUCKET_STREAMS, SERVICE_LOG_STREAM];

const RIGHTS: Record<Limited, Rights> = {
  coordinator: {
    general: ['INFO', 'STREAM.NAMES'],
    requests: {
      'STREAM.INFO': OF_COORDINATOR,
      'STREAM.MSG.GET': OF_COORDINATOR,
      'DIRECT.GET': [SERVICE_LOG_STREAM],
      'CONSUMER.CREATE': OF_COORDINATOR,
      'CONSUMER.DELETE': OF_COORDINATOR,
    },
    longer: false,
    writes: without(Object.values(BUCKETS), BUCKETS.shards, BUCKETS.signers),
    marks: [BUCKETS.shards],
    data: [SERVICE_LOG_SUBJECT],
    messages: MESSAGES.filter((subject) => /\.(c|f|s|limits|lognow)(\.|$)/.test(subject)),
    receives: ['vouch.limits', 'vouch.limits.grants', 'vouch.limits.known', LOG_NOW_SUBJECT, '$SRV.INFO'],
  },
  shard: {
    general: ['INFO', 'STREAM.NAMES', 'STREAM.LIST'],
    requests: {
      'STREAM.INFO': STREAMS,
      'STREAM.MSG.GET': without(STREAMS, KEYS),
      'DIRECT.GET': without(STREAMS, KEYS),
      'STREAM.MSG.DELETE': OF_VAULT,
      'STREAM.PURGE': [...LOGS, ...OF_VAULT],
      'CONSUMER.CREATE': without(STREAMS, KEYS),
      'CONSUMER.DELETE': without(STREAMS, KEYS),
    },
    longer: false,
    writes: without(Object.values(BUCKETS), BUCKETS.keys, BUCKETS.ids, BUCKETS.serviceLog),
    data: OF_SHARDS,
    messages: ['vouch.s.s1', 'vouch.feed.1'],
    receives: [...MESSAGES.filter((subject) => /\.(c|f|s|feed)\./.test(subject)), 'vouch.status.shard.s1', '$SRV.INFO'],
  },
  operator: {
    general: ['INFO', 'STREAM.NAMES', 'STREAM.LIST'],
    requests: {
      'STREAM.INFO': STREAMS,
      'STREAM.MSG.GET': OPEN,
      'DIRECT.GET': OPEN,
      'CONSUMER.CREATE': OPEN,
    },
    longer: true,
    writes: [],
    data: [],
    messages: ['vouch.status.shard.s1', '$SRV.INFO'],
    receives: [],
  },
};

const LIMITED = Object.keys(RIGHTS) as Limited[];
const KEY = 'a'.repeat(64);

describe('the roles of a cluster at its NATS servers', () => {
  let server: RoleServer;
  let admin: ClusterPlatform;

  before(async () => {
    server = await RoleServer.start();
    admin = await open('admin');
    await prepareStore(admin, LEASE_MS);
  });
  after(() => server?.stop());

  const open = (role: NatsRole, logStreams = LOG_STREAMS): Promise<ClusterPlatform> =>
    server.open(role, { logStreams });
  const raw = (role: NatsRole) => server.raw(role);

  async function stored(): Promise<Record<string, Record<string, number>>> {
    const { jsm } = admin.connection;
    const entries = STREAMS.map(async (name) => {
      const { state } = await jsm.streams.info(name, { subjects_filter: '>' });
      return [name, { first: state.first_seq, last: state.last_seq, ...state.subjects }];
    });
    return Object.fromEntries(await Promise.all(entries));
  }

  it('each may send only what it needs', async () => {
    for (const role of LIMITED) {
      const { general, requests, longer, writes, marks = [], data, messages } = RIGHTS[role];
      const api = (verb: Verb, stream: string, rest = '', isOpen = true): [string, boolean] => [
        `vouch.api.${verb}.${stream}${rest}`,
        isOpen && (requests[verb]?.includes(stream) ?? false),
      ];
      const tried: [string, boolean][] = [
        ...GENERAL.map((name): [string, boolean] => [`vouch.api.${name}`, general.includes(name)]),
        ...STREAM_VERBS.flatMap((verb) => STREAMS.map((stream) => api(verb, stream))),
        ...CONSUMER_VERBS.flatMap((verb) => STREAMS.map((stream) => api(verb, stream, '.consumer'))),
        ...LONGER_FORMS.flatMap(([verb, rest]) => STREAMS.map((stream) => api(verb, stream, rest, longer))),
        ...[...STREAMS, 'ANOTHER'].map((stream): [string, boolean] => [`$JS.API.STREAM.INFO.${stream}`, false]),
        ...Object.values(BUCKETS).map((name): [string, boolean] => [`vouch.api.$KV.${name}.k`, writes.includes(name)]),
        ...Object.values(BUCKETS).map((name): [string, boolean] => [
          `vouch.api.$KV.${name}.=`,
          writes.includes(name) || marks.includes(name),
        ]),
        ...Object.values(BUCKETS).map((name): [string, boolean] => [`$KV.${name}.k`, false]),
        ...DATA.map((subject): [string, boolean] => [subject, data.includes(subject)]),
        ...MESSAGES.map((subject): [string, boolean] => [subject, messages.includes(subject)]),
        ...['anything', '$SYS.REQ.SERVER.PING', '_INBOX.admin.a'].map((subject): [string, boolean] => [subject, false]),
      ];
      const { nc, refused } = await raw(role);
      // Harmless requests: a body that is not JSON changes nothing, except by a purge, here of empty streams.
      for (const [subject] of tried) nc.publish(subject, '?');
      const forbidden = tried.filter(([, isAllowed]) => !isAllowed).map(([subject]) => subject);
      expect(await refused(), role).to.deep.equal(forbidden.sort());
    }
  });

  it('each may receive only what is meant for it', async () => {
    for (const role of LIMITED) {
      const own = `${inboxPrefixOf(role)}.x`;
      const inboxes = [...LIMITED, 'admin' as const].map((other) => `${inboxPrefixOf(other)}.x`);
      const wide = ['>', '*', 'vouch.>', '_INBOX.>', '$JS.>', '$KV.>', 'vouch.api.>', '$SYS.>'];
      const { nc, refused } = await raw(role);
      for (const subject of [...MESSAGES, ...DATA, ...inboxes, ...wide]) nc.subscribe(subject, { callback: () => {} });
      const allowed = [...RIGHTS[role].receives, own];
      const forbidden = [...MESSAGES, ...DATA, ...inboxes, ...wide].filter((subject) => !allowed.includes(subject));
      expect(await refused(), role).to.deep.equal(forbidden.sort());
    }
  });

  it('no server answers a direct read of the vault or its seals, which any reader could request', async () => {
    const shard = await open('shard');
    const { nc } = await raw('shard');
    const { streams } = admin.connection.jsm;
    await shard.vault();
    for (const [stream, subject] of OF_VAULT.map((name, i) => [name, OF_SHARDS[i + 1]!] as const)) {
      await nc.jetstream().publish(subject, 'a key');
      const { config, state } = await streams.info(stream);
      expect(config.allow_direct ?? false, stream).to.equal(false);
      expect(state.messages, stream).to.be.above(0);
      for (const [rest, body] of [
        ['', `{"last_by_subj":"${subject}"}`],
        ['', '{"seq":1}'],
        [`.${subject}`, ''],
      ]) {
        const asked = admin.connection.nc.request(`$JS.API.DIRECT.GET.${stream}${rest}`, body, {
          timeout: NO_ANSWER_MS,
        });
        const { code } = (await rejection(asked)) as unknown as NatsError;
        expect(code, stream).to.be.oneOf([ErrorCode.NoResponders, ErrorCode.Timeout]);
      }
    }
  });

  /** Subjects that the roles must not write. */
  const targets = (): string[] => [
    ...[`vouch.api.$KV.vouch-keys.${KEY}`, `$KV.vouch-keys.${KEY}`, 'vouch.api.$KV.vouch-owners.9'],
    ...[...DATA, 'vouch.api.STREAM.PURGE.KV_vouch-catalog', '$JS.API.STREAM.PURGE.KV_vouch-catalog'],
  ];

  it('no server and no process stores an answer in a stream named as its reply subject', async () => {
    const shard = await open('shard');
    await shard.transport.serve('vouch.s.s1', async ({ body }) => body);
    await registerService(shard, {
      ...{ name: 'vouch-shard', instance: 's1', version: '1.0.0', description: '', metadata: {}, serves: [] },
      endpoint: { name: 'status', subject: 'vouch.status.shard.s1', answer: async () => ({}) },
    });
    await (await admin.bucket(BUCKETS.catalog)).put('p.c', { stolen: true });
    const { nc: writer } = await raw('shard');
    await writer.jetstream().publish(logSubject(1, LOG_STREAMS), 'a frame');
    const before = await stored();
    for (const role of LIMITED) {
      const { nc } = await raw(role);
      for (const reply of targets().filter((subject) => !mayWrite(role, subject))) {
        nc.publish('vouch.api.STREAM.MSG.GET.KV_vouch-catalog', '{"seq":1}', { reply });
        nc.publish(`vouch.api.DIRECT.GET.${LOGS[1]}`, `{"last_by_subj":"${logSubject(1, LOG_STREAMS)}"}`, { reply });
        nc.publish('vouch.api.INFO', '', { reply });
        nc.publish('$JS.FC.x', '', { reply });
        for (const subject of [
          '$SRV.INFO',
          '$SRV.PING.vouch-shard',
          'vouch.status.shard.s1',
          'vouch.s.s1',
          'vouch.f.1',
          'vouch.f.1.s1',
        ])
          nc.publish(subject, 'body', { reply });
      }
      await nc.flush();
    }
    await settled(admin);
    expect(await stored()).to.deep.equal(before);
  });

  it('no consumer delivers stored messages into a stream', async () => {
    await (await admin.bucket(BUCKETS.catalog)).put('p.d', { stolen: true });
    const before = await stored();
    for (const role of LIMITED) {
      const { nc } = await raw(role);
      for (const subject of targets()) {
        const request = { stream_name: 'KV_vouch-catalog', config: { ...PUSHED, deliver_subject: subject } };
        const created = await nc.request('vouch.api.CONSUMER.CREATE.KV_vouch-catalog', JSON.stringify(request));
        expect(created.json(), subject).to.have.property('type', 'io.nats.jetstream.api.v1.consumer_create_response');
      }
    }
    await settled(admin);
    expect(await stored()).to.deep.equal(before);
  });

  it("a watch of the API keys ignores another stream's message, even if delivered to its inbox", async () => {
    const coordinator = await open('coordinator');
    const seenKeys: string[] = [];
    const watch = await (await coordinator.bucket(BUCKETS.keys)).watch(({ key }) => void seenKeys.push(key));
    const { data: consumers } = await admin.connection.nc
      .request('$JS.API.CONSUMER.LIST.KV_vouch-keys', '{}')
      .then((answer) => ({ data: answer.json<{ consumers: { config: { deliver_subject: string } }[] }>().consumers }));
    const inbox = consumers.at(-1)!.config.deliver_subject;
    expect(inbox).to.match(/^_INBOX\.coordinator\.[0-9a-f]{32}$/);
    const { nc } = await raw('shard');
    // A subject as long as one of the keys.
    await nc.jetstream().publish(`vouch.vault.70.${KEY}`, JSON.stringify({ project: 'stolen' }));
    const config = { ...PUSHED, deliver_subject: inbox };
    await nc.request(
      `vouch.api.CONSUMER.CREATE.${VAULT_STREAM}`,
      JSON.stringify({ stream_name: VAULT_STREAM, config }),
    );
    await settled(admin);
    expect(seenKeys).to.not.include(KEY);
    expect(await (await coordinator.bucket(BUCKETS.keys)).get(KEY)).to.equal(undefined);
    watch.stop();
  });

  it('a process finds its streams, and names their maker if they are missing', async () => {
    await (await admin.bucket(BUCKETS.counters)).put('collection-id', 7);
    for (const role of ['coordinator', 'operator'] as const) {
      const platform = await open(role);
      expect((await (await platform.bucket(BUCKETS.counters)).get('collection-id'))?.value).to.equal(7);
      expect(await platform.missing()).to.deep.equal([]);
    }
    const shard = await open('shard');
    const shards = await shard.bucket(BUCKETS.shards, { ttlMs: LEASE_MS });
    expect(await shards.get('nobody')).to.equal(undefined);
    expect((await rejection((await open('coordinator')).vault())).message).to.match(
      /^the NATS server does not permit it: .*STREAM\.INFO\.VOUCH_VAULT/,
    );
    const other = rejection(open('shard', 4));
    expect((await other).message).to.equal(
      'the logs are spread over 2 streams and cannot be read as 4; set VOUCH_LOG_STREAMS to 2',
    );
  });
});

const PUSHED = { ack_policy: 'none', deliver_policy: 'all', replay_policy: 'instant', mem_storage: true };

/** Whether the role may write there anyway. */
const mayWrite = (role: Limited, subject: string): boolean =>
  role === 'shard'
    ? /^vouch\.(log|vault|seals)|vouch-owners/.test(subject)
    : /KV\.vouch-(keys|owners)|^vouch\.servicelog\./.test(subject) && role === 'coordinator';

/** Resolves when the server has handled all earlier messages: it serves connections in turn. */
async function settled(platform: ClusterPlatform): Promise<void> {
  const counters = await platform.bucket(BUCKETS.counters);
  for (let i = 0; i < 3; i++) await counters.get('nothing');
  await eventually('the server is idle', async () => true);
}
