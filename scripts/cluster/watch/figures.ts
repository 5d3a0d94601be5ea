/** What `/metrics` of a coordinator says, as far as the view shows it: of itself and of every shard. */
import type { CoordinatorState, ShardState } from '../snapshot.js';
import { samplesOf } from './exposition.js';
import { type Buckets, quantileBetween, type Reading, ratePerSecond } from './rates.js';

/** One reading of a coordinator's own figures. */
export interface EdgeReading {
  readonly atMs: number;
  readonly requests: number;
  readonly unavailable: number;
  /** Seconds. */
  readonly latency: Buckets;
  readonly inFlight: number;
}

export interface ShardReading {
  readonly atMs: number;
  readonly open: number;
  readonly records: number;
  readonly commits: number;
  readonly searches: number;
  readonly memoryBytes: number | undefined;
}

export interface MetricsReading {
  readonly edge: EdgeReading;
  /** By the shard's name. */
  readonly shards: ReadonlyMap<string, ShardReading>;
}

const REQUESTS = 'vouch_http_requests_total';
const SECONDS = 'vouch_http_request_seconds_bucket';
const IN_FLIGHT = 'vouch_http_in_flight';
const OPEN = 'vouch_collections_open';
const RECORDS = 'vouch_records';
const COMMITS = 'vouch_commit_seconds_count';
const CALLS = 'vouch_shard_call_seconds_count';
const MEMORY = 'vouch_resident_memory_bytes';
const NAMES = new Set([REQUESTS, SECONDS, IN_FLIGHT, OPEN, RECORDS, COMMITS, CALLS, MEMORY]);
/** What operators ask is no load. */
const NOT_COUNTED = new Set(['GET /metrics', 'GET /health']);

export function readMetrics(text: string, atMs: number): MetricsReading {
  let requests = 0;
  let unavailable = 0;
  let inFlight = 0;
  const latency = new Map<number, number>();
  const shards = new Map<string, { -readonly [K in keyof ShardReading]: ShardReading[K] }>();
  for (const { name, labels, value } of samplesOf(text, NAMES)) {
    const { shard, route = '', status, le = '' } = labels;
    if (shard !== undefined) {
      let of = shards.get(shard);
      if (of === undefined) {
        of = { atMs, open: 0, records: 0, commits: 0, searches: 0, memoryBytes: undefined };
        shards.set(shard, of);
      }
      if (name === OPEN) of.open = value;
      else if (name === RECORDS) of.records = value;
      else if (name === COMMITS) of.commits = value;
      else if (name === MEMORY) of.memoryBytes = value;
      else if (name === CALLS && labels.op === 'search') of.searches += value;
    } else if (name === IN_FLIGHT) inFlight = value;
    else if (NOT_COUNTED.has(route)) continue;
    else if (name === REQUESTS) {
      requests += value;
      if (status === '503') unavailable += value;
    } else if (name === SECONDS) {
      const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
      latency.set(bound, (latency.get(bound) ?? 0) + value);
    }
  }
  return { edge: { atMs, requests, unavailable, latency, inFlight }, shards };
}

type EdgeFigures = Pick<CoordinatorState, 'requestsPerSecond' | 'refusedPerSecond' | 'p50Ms' | 'p99Ms' | 'inFlight'>;

export function edgeFigures(before: EdgeReading | undefined, now: EdgeReading | undefined): EdgeFigures {
  const quantileMs = (share: number): number | undefined => {
    const value = now && before && quantileBetween(before.latency, now.latency, share);
    return value === undefined ? undefined : value * 1000;
  };
  return {
    requestsPerSecond: rateOf(before, now, 'requests'),
    refusedPerSecond: rateOf(before, now, 'unavailable'),
    p50Ms: quantileMs(0.5),
    p99Ms: quantileMs(0.99),
    inFlight: now?.inFlight,
  };
}

type ShardFigures = Pick<ShardState, 'open' | 'records' | 'commitsPerSecond' | 'searchesPerSecond' | 'memoryBytes'>;

export function shardFigures(before: ShardReading | undefined, now: ShardReading | undefined): ShardFigures {
  return {
    open: now?.open,
    records: now?.records,
    commitsPerSecond: rateOf(before, now, 'commits'),
    searchesPerSecond: rateOf(before, now, 'searches'),
    memoryBytes: now?.memoryBytes,
  };
}

function rateOf<K extends string>(
  before: ({ readonly atMs: number } & Readonly<Record<K, number>>) | undefined,
  now: ({ readonly atMs: number } & Readonly<Record<K, number>>) | undefined,
  key: K,
): number | undefined {
  const reading = (of: { readonly atMs: number } & Readonly<Record<K, number>>): Reading => ({
    atMs: of.atMs,
    value: of[key],
  });
  return now && ratePerSecond(before && reading(before), reading(now));
}
