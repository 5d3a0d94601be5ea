// Covers: scripts/local/clusterView/watch/
/** The readings of `npm run cluster`: figures from metrics pages, and events from the buckets. */
import { expect } from 'chai';
import {
  edgeFigures,
  quantileBetween,
  ratePerSecond,
  readMetrics,
  shardFigures,
} from '../../../../../scripts/local/clusterView/watch/figures.js';
import { News } from '../../../../../scripts/local/clusterView/watch/news.js';
import { Ownerships } from '../../../../../scripts/local/clusterView/watch/ownerships.js';
import { serverFigures } from '../../../../../scripts/local/clusterView/watch/serverPage.js';
import { ShardLives } from '../../../../../scripts/local/clusterView/watch/shardLives.js';
import type { Damage } from '../../../../../shared/model/damage.js';
import type { Heartbeat, Ownership } from '../../../../../shared/registry/owners.js';

describe('the figures of a cluster', () => {
  it('are rates between two readings', () => {
    expect(ratePerSecond(undefined, { atMs: 1, value: 5 }, 'value')).to.equal(undefined);
    expect(ratePerSecond({ atMs: 0, value: 5 }, { atMs: 500, value: 15 }, 'value')).to.equal(20);
    // The process has restarted.
    expect(ratePerSecond({ atMs: 0, value: 100 }, { atMs: 1000, value: 7 }, 'value')).to.equal(7);
  });

  it('interpolate a quantile within its bucket', () => {
    const before = new Map([
      [1, 10],
      [2, 10],
      [Number.POSITIVE_INFINITY, 10],
    ]);
    const now = new Map([
      [1, 60],
      [2, 110],
      [Number.POSITIVE_INFINITY, 110],
    ]);
    expect(quantileBetween(before, now, 0.25)).to.equal(0.5);
    expect(quantileBetween(before, now, 0.5)).to.equal(1);
    expect(quantileBetween(before, now, 0.99)).to.be.closeTo(1.98, 1e-9);
    expect(quantileBetween(now, now, 0.5)).to.equal(undefined);
    expect(quantileBetween(now, before, 0.5), 'begun again').to.equal(0.5);
    expect(
      quantileBetween(
        undefined,
        new Map([
          [1, 0],
          [Number.POSITIVE_INFINITY, 4],
        ]),
        0.5,
      ),
      'above all bounds',
    ).to.equal(1);
  });

  it("are read from a coordinator's metrics page, for coordinators and shards", () => {
    const text = (requests: number, commits: number): string => `# HELP vouch_http_requests_total Requests.
# TYPE vouch_http_requests_total counter
vouch_http_requests_total{route="POST /v1/search",status="200"} ${requests}
vouch_http_requests_total{route="POST /v1/records",status="503"} ${requests / 2}
vouch_http_requests_total{route="GET /metrics",status="200"} 1000
vouch_http_request_seconds_bucket{le="0.001",route="POST /v1/search",status="200"} 0
vouch_http_request_seconds_bucket{le="0.002",route="POST /v1/search",status="200"} ${requests}
vouch_http_request_seconds_bucket{le="+Inf",route="POST /v1/search",status="200"} ${requests}
vouch_http_in_flight 3
vouch_resident_memory_bytes 5
vouch_records{shard="s1"} 70
vouch_resident_memory_bytes{shard="s1"} 1e8
vouch_commit_seconds_count{shard="s1"} ${commits}
vouch_shard_call_seconds_count{op="search",outcome="ok",shard="s1"} ${commits}
vouch_shard_call_seconds_count{op="search",outcome="moved",shard="s1"} ${commits}
vouch_shard_call_seconds_count{op="insert",outcome="ok",shard="s1"} 99
`;
    const before = readMetrics(text(100, 10), 1_000);
    const now = readMetrics(text(140, 30), 3_000);
    const { p50Ms, p99Ms, ...edge } = edgeFigures(before.edge, now.edge);
    expect(edge).to.deep.equal({ requestsPerSecond: 30, refusedPerSecond: 10, inFlight: 3 });
    expect([p50Ms, p99Ms].map((ms) => ms?.toFixed(3))).to.deep.equal(['1.500', '1.990']);
    expect(shardFigures(before.shards.get('s1'), now.shards.get('s1'))).to.deep.equal({
      open: 0,
      records: 70,
      commitsPerSecond: 10,
      searchesPerSecond: 20,
      memoryBytes: 1e8,
    });
    expect(edgeFigures(now.edge, undefined).requestsPerSecond).to.equal(undefined);
  });

  it('name the streams that a NATS server leads', () => {
    const page = {
      storage: 7,
      meta_cluster: { leader: 'n2' },
      account_details: [
        {
          stream_detail: [
            { name: 'VOUCH_LOG_10', cluster: { leader: 'n2' } },
            { name: 'VOUCH_LOG_9', cluster: { leader: 'n2' } },
            { name: 'KV_vouch-keys', cluster: { leader: 'n2' } },
            { name: 'VOUCH_LOG_1', cluster: { leader: 'n1' } },
            { name: 'VOUCH_VAULT', cluster: {} },
          ],
        },
      ],
    };
    expect(serverFigures('n2', page)).to.deep.equal({
      leadsMeta: true,
      logsLed: ['9', '10'],
      othersLed: 1,
      storedBytes: 7,
    });
    expect(serverFigures('n1', page)).to.deep.equal({ leadsMeta: false, logsLed: ['1'], othersLed: 0, storedBytes: 7 });
    const alone = { storage: 1, account_details: [{ stream_detail: [{ name: 'VOUCH_LOG_0' }] }] };
    expect(serverFigures('n1', alone)).to.deep.include({ leadsMeta: true, logsLed: ['0'] });
    expect(serverFigures('n1', {})).to.deep.include({ logsLed: [], othersLed: 0 });
  });
});

describe('the events of a cluster', () => {
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const ownership = (owner: string, followers: string[] = [], name = 'c'): Ownership => ({
    shard: owner,
    epoch: 1,
    collection: { id: 1, project: 'p', name, dimension: 1, metric: 'squared_l2', createdAtMs: 0 },
    followers,
  });
  const heartbeat = (fields: Partial<Heartbeat> = {}): Heartbeat => ({
    session: 'a',
    collections: 0,
    records: 0,
    damages: [],
    leaving: false,
    ...fields,
  });

  it('count the collections that each shard owns and follows, and report finished and current moves', () => {
    const owners = new Ownerships({ count: 0, collections: { 'p/followed': 1 }, staleMs: 1 });
    owners.set(1, ownership('s1'), 0);
    owners.set(2, ownership('s1', ['s2'], 'followed'), 0);
    owners.set(3, ownership('s2'), 0);
    expect(owners.takeMoved()).to.deep.equal([]);
    expect([owners.owned('s1'), owners.followed('s2'), owners.owned('s2')]).to.deep.equal([2, 1, 1]);
    owners.set(1, ownership('s1', ['s3']), 100);
    owners.set(1, ownership('s1', ['s3']), 200);
    expect(owners.moves(400)).to.deep.equal([{ collectionId: 1, name: 'c', from: 's1', to: 's3', sinceMs: 300 }]);
    owners.set(1, ownership('s3'), 500);
    expect(owners.moves(600)).to.deep.equal([]);
    expect(owners.takeMoved()).to.deep.equal([{ from: 's1', to: 's3', collections: 1 }]);
    expect(owners.takeMoved()).to.deep.equal([]);
    owners.set(2, undefined, 0);
    expect([owners.owned('s1'), owners.followed('s2'), owners.owned('s3')]).to.deep.equal([0, 0, 1]);
  });

  it('report each change in the life of a shard', () => {
    const news = new News(clock);
    const owned = new Map<string, number>();
    const lives = new ShardLives((name) => owned.get(name) ?? 0, 2_000, news);
    const newsOf = (act: () => void): string[] => {
      const before = news.items.length;
      act();
      return news.items.slice(before).map(({ text }) => text);
    };
    expect(newsOf(() => lives.set('s1', heartbeat(), 0))).to.deep.equal(['s1 joined']);
    expect(newsOf(() => lives.set('s1', heartbeat(), 500))).to.deep.equal([]);
    expect(lives.leaseOf('s1', 1_000)).to.deep.equal({ kind: 'valid', leftMs: 1_500 });
    expect(lives.leaseOf('s1', 2_500)).to.deep.equal({ kind: 'none' });
    owned.set('s1', 12);
    expect(newsOf(() => lives.set('s1', undefined, 2_600))).to.deep.equal([
      's1 has lost its heartbeat; 12 collections wait for another owner',
    ]);
    expect(newsOf(() => lives.ownersChanged(3_000))).to.deep.equal([]);
    owned.set('s1', 0);
    expect(newsOf(() => lives.ownersChanged(4_000))).to.deep.equal([
      'failover of s1 took 3.5 s: all its collections have other owners',
    ]);
    expect(newsOf(() => lives.set('s1', heartbeat({ session: 'b' }), 5_000))).to.deep.equal(['s1 joined']);
    expect(newsOf(() => lives.set('s1', heartbeat({ session: 'c' }), 5_500))).to.deep.equal(['s1 has restarted']);
    owned.set('s1', 3);
    expect(newsOf(() => lives.set('s1', heartbeat({ session: 'c', leaving: true }), 6_000))).to.deep.equal([
      's1 is leaving and hands 3 collections over',
    ]);
    expect(lives.leaseOf('s1', 6_100)).to.deep.equal({ kind: 'leaving' });
    owned.set('s1', 0);
    expect(newsOf(() => lives.set('s1', undefined, 7_000))).to.deep.equal(['s1 has left']);
  });

  it('report a shard that returns in time, and each damage once', () => {
    const news = new News(clock);
    const lives = new ShardLives(() => 4, 2_000, news);
    lives.set('s1', heartbeat(), 0);
    lives.set('s1', undefined, 2_000);
    const damages: Damage[] = [
      { collectionId: 17, part: 'follower', reason: 'it differs' },
      { collectionId: null, part: 'vault', reason: 'the master key is missing' },
    ];
    for (const atMs of [2_500, 3_000]) lives.set('s1', heartbeat({ damages }), atMs);
    expect(news.items.slice(2).map(({ text }) => text)).to.deep.equal([
      's1 is back after 2.5 s and still has 4 collections',
      's1 reports damage: follower of collection 17: it differs',
      's1 reports damage: vault: the master key is missing',
    ]);
  });
});
