/**
 * Strong searches of one collection with followers: the cost of each to the owner, and the number of answers. The clusters run all
 * the time and are measured in turns; idle ones take hardly any processor time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { samplesOf } from '../../scripts/local/clusterView/watch/figures.js';
import type { Progress } from '../../scripts/terminal/progress.js';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { systemClock } from '../../shared/clock.js';
import { quantise } from '../../shared/fixedPoint.js';
import type { Platform } from '../../shared/platform/platform.js';
import type { ShardResults } from '../../shared/protocol/calls.js';
import { ask, packCalls, unpackOutcomes } from '../../shared/protocol/wire.js';
import { ownershipOf } from '../../shared/registry/owners.js';
import { collectionSubject, followerSubject, shardSubject } from '../../shared/transport/subjects.js';
import { BenchCluster } from '../cluster.js';
import { Client } from '../httpClient.js';
import { runLoad } from '../httpLoad.js';
import { envelope, K } from '../inProcess.js';
import type { Sizes } from '../options.js';
import { median, type Row, rowAbout } from '../row.js';
import { digitRows, digits } from './digits.js';
import { withPlatform } from './platform.js';

const COLLECTION = 'hot';
const DIMENSION = 128;
const IN_FLIGHT = 32;
const INSERTS_IN_FLIGHT = 4;
/** Searches of one message of a busy coordinator. */
const PER_MESSAGE = 16;
const MESSAGES_AT_ONCE = 2;
const ROUNDS = 5;
const MICROSECONDS = 1e6;
const FOLLOWED_WITHIN_MS = 60_000;
const POLL_MS = 50;
const CPU = new Set(['vouch_cpu_seconds_total']);

const FOLLOWERS = [0, 1, 2] as const;
export const STRONG_MEASUREMENTS = FOLLOWERS.length + 2;

interface Round {
  readonly perSecond: number;
  /** Processor time of the owner for each search, microseconds. */
  readonly ownerUs: number;
}

interface Followed {
  readonly count: number;
  readonly cluster: BenchCluster;
  readonly client: Client;
  readonly rounds: Round[];
}

export async function benchStrongFollowers(sizes: Sizes, progress: Progress): Promise<Row[]> {
  const clusters: Followed[] = [];
  try {
    for (const count of FOLLOWERS) {
      const { cluster, url, key } = await BenchCluster.start({ VOUCH_SHARDS: '3', VOUCH_FOLLOWERS: String(count) });
      clusters.push({ count, cluster, client: new Client(url, key), rounds: [] });
      await fill(clusters.at(-1)!, sizes.spreadRecords);
      progress.advance(1);
    }
    for (const one of clusters) await measureRound(one, sizes.strongSearches);
    for (let round = 0; round < ROUNDS; round++)
      for (const one of clusters) one.rounds.push(await measureRound(one, sizes.strongSearches));
    progress.advance(1);
    const asked = await measureReadIndex(clusters.at(-1)!, sizes.strongSearches);
    progress.advance(1);
    return rowsOf(clusters, asked, `${sizes.spreadRecords} × ${DIMENSION}`);
  } finally {
    for (const { cluster } of clusters) await cluster.stop();
  }
}

/** Resolves when each follower answers. */
async function fill({ count, cluster, client }: Followed, records: number): Promise<void> {
  await client.createCollection(COLLECTION, DIMENSION);
  const requests = digitRows(DIMENSION, records).map((batch) =>
    client.requestText('/v1/vectors/batch-insert', `{"collection":"${COLLECTION}","batch":${batch}}`),
  );
  const request = (i: number): Buffer => requests[i]!;
  await runLoad({ ...client.address, inFlight: INSERTS_IN_FLIGHT, requests: requests.length, request });
  await withPlatform(cluster, (platform) => untilFollowed(platform, count));
}

const ownership = async (platform: Platform) => {
  const entry = await (await platform.bucket(BUCKETS.owners)).get('1');
  if (entry === undefined) throw new Error('the collection has no owner');
  return ownershipOf(entry);
};

async function untilFollowed(platform: Platform, count: number): Promise<void> {
  const giveUpMs = systemClock.monotonicMs() + FOLLOWED_WITHIN_MS;
  for (;;) {
    const { followers } = await ownership(platform);
    const answers = followers.map((name) => send(platform, followerSubject(1, name), 1).catch(() => 1));
    if (followers.length === count && (await Promise.all(answers)).every((failed) => failed === 0)) return;
    if (systemClock.monotonicMs() > giveUpMs) throw new Error('the collection is not followed in time');
    await delay(POLL_MS);
  }
}

/** Sends so many searches in one message; returns the number of unanswered ones. */
async function send(platform: Platform, subject: string, searches: number): Promise<number> {
  const calls = Array.from({ length: searches }, (_, i) => {
    const query = new Uint8Array(quantise(digits(DIMENSION, i)).buffer);
    return { ...envelope(), call: { op: 'search', query, k: K } };
  });
  const answer = await platform.transport.request(subject, packCalls(calls), envelope());
  return unpackOutcomes(answer).filter((outcome) => !('ok' in outcome)).length;
}

async function cpuOf(platform: Platform, shard: string): Promise<number> {
  const call = { op: 'metrics' };
  const { texts } = await ask<ShardResults['metrics']>(platform.transport, shardSubject(shard), call, envelope());
  return texts.flatMap(({ text }) => [...samplesOf(text, CPU)]).reduce((sum, { value }) => sum + value, 0);
}

async function measureRound({ cluster, client }: Followed, searches: number): Promise<Round> {
  const requests = Array.from({ length: IN_FLIGHT }, (_, i) =>
    client.request('/v1/search', { collection: COLLECTION, query: digits(DIMENSION, i), k: K }),
  );
  const request = (i: number): Buffer => requests[i % IN_FLIGHT]!;
  return withPlatform(cluster, async (platform) => {
    const { shard } = await ownership(platform);
    const before = await cpuOf(platform, shard);
    const { seconds } = await runLoad({ ...client.address, inFlight: IN_FLIGHT, requests: searches, request });
    const spent = (await cpuOf(platform, shard)) - before;
    return { perSecond: searches / seconds, ownerUs: (MICROSECONDS * spent) / searches };
  });
}

/** Cost to the owner, in microseconds by round, of a search that it serves, and of one that a follower serves. */
interface Asked {
  readonly served: readonly number[];
  readonly followed: readonly number[];
}

async function measureReadIndex({ cluster }: Followed, searches: number): Promise<Asked> {
  return withPlatform(cluster, async (platform) => {
    const { shard, epoch, followers } = await ownership(platform);
    const ways = {
      served: collectionSubject(1, epoch, 'read'),
      followed: followerSubject(1, followers[0]!),
    };
    const asked = { served: [] as number[], followed: [] as number[] };
    for (let round = 0; round < ROUNDS; round++)
      for (const way of ['served', 'followed'] as const) {
        const before = await cpuOf(platform, shard);
        const answered = await sendMany(platform, ways[way], searches);
        asked[way].push(((await cpuOf(platform, shard)) - before) * (MICROSECONDS / answered));
      }
    return asked;
  });
}

async function sendMany(platform: Platform, subject: string, searches: number): Promise<number> {
  let messages = Math.ceil(searches / PER_MESSAGE);
  let answered = 0;
  const lane = async (): Promise<void> => {
    while (messages-- > 0) {
      if ((await send(platform, subject, PER_MESSAGE)) > 0) throw new Error('a search was not answered');
      answered += PER_MESSAGE;
    }
  };
  await Promise.all(Array.from({ length: MESSAGES_AT_ONCE }, lane));
  return answered;
}

function rowsOf(clusters: readonly Followed[], { served, followed }: Asked, what: string): Row[] {
  const row = rowAbout('scale');
  const [alone] = clusters;
  const rows = clusters.flatMap(({ count, rounds }) => {
    const where = `strong searches of one collection, ${what}, ${count} ${count === 1 ? 'follower' : 'followers'}`;
    const perSecond = median(rounds.map((round) => round.perSecond));
    const ownerUs = median(rounds.map((round) => round.ownerUs));
    const share = median(rounds.map((round, i) => round.ownerUs / alone!.rounds[i]!.ownerUs));
    return [
      row(where, perSecond, 'requests/s'),
      row(`${where}: of the owner's processor`, ownerUs, 'µs a search'),
      ...(count === 0 ? [] : [row(`${where}: of the owner's processor / without followers`, share, '')]),
    ];
  });
  return [
    ...rows,
    row(`a strong search that the owner answers, ${what}: of its processor`, median(served), 'µs'),
    row(`a strong search that a follower answers, ${PER_MESSAGE} a message: of the owner's`, median(followed), 'µs'),
    row('the second / the first', median(followed.map((us, i) => us / served[i]!)), ''),
  ];
}
