/** Figures of coordinators and shards, from two readings of a coordinator's `/metrics`. */

const REQUESTS = 'vouch_http_requests_total';
const SECONDS = 'vouch_http_request_seconds_bucket';
const IN_FLIGHT = 'vouch_http_in_flight';
const CALLS = 'vouch_shard_call_seconds_count';
/** Figures of a shard with one sample each. */
const OF_SHARDS: Readonly<Record<string, 'open' | 'records' | 'commits' | 'memoryBytes'>> = {
  vouch_collections_open: 'open',
  vouch_records: 'records',
  vouch_commit_seconds_count: 'commits',
  vouch_resident_memory_bytes: 'memoryBytes',
};
const NAMES = new Set([REQUESTS, SECONDS, IN_FLIGHT, CALLS, ...Object.keys(OF_SHARDS)]);
/** Requests of operators, which do not count as load. */
const NOT_COUNTED = new Set(['GET /metrics', 'GET /health']);

export type EdgeReading = ReturnType<typeof emptyEdge>;
export type ShardReading = ReturnType<typeof emptyShard>;

const emptyEdge = (atMs: number) => ({
  ...{ atMs, requests: 0, unavailable: 0, inFlight: 0 },
  /** In seconds. */
  latency: new Map<number, number>(),
});

const emptyShard = (atMs: number) => ({
  ...{ atMs, open: 0, records: 0, commits: 0, searches: 0 },
  memoryBytes: undefined as number | undefined,
});

/** Reads the figures of the coordinator and, by name, of every shard. */
export function readMetrics(text: string, atMs: number) {
  const edge = emptyEdge(atMs);
  const shards = new Map<string, ShardReading>();
  for (const { name, labels, value } of samplesOf(text, NAMES)) {
    const { shard, route = '', status, le = '' } = labels;
    if (shard !== undefined) {
      const of = shards.get(shard) ?? emptyShard(atMs);
      shards.set(shard, of);
      const figure = OF_SHARDS[name];
      if (figure !== undefined) of[figure] = value;
      else if (name === CALLS && labels.op === 'search') of.searches += value;
    } else if (name === IN_FLIGHT) edge.inFlight = value;
    else if (NOT_COUNTED.has(route)) continue;
    else if (name === REQUESTS) {
      edge.requests += value;
      if (status === '503') edge.unavailable += value;
    } else if (name === SECONDS) {
      const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
      edge.latency.set(bound, (edge.latency.get(bound) ?? 0) + value);
    }
  }
  return { edge, shards };
}

/** Figures between two readings. Undefined ones are unknown: the process is down, or it was read only once. */
export function edgeFigures(before: EdgeReading | undefined, now: EdgeReading | undefined) {
  const quantileMs = (share: number): number | undefined => {
    const value = now && before && quantileBetween(before.latency, now.latency, share);
    return value === undefined ? undefined : value * 1000;
  };
  return {
    requestsPerSecond: ratePerSecond(before, now, 'requests'),
    refusedPerSecond: ratePerSecond(before, now, 'unavailable'),
    /** Undefined also without a request between the readings. */
    p50Ms: quantileMs(0.5),
    p99Ms: quantileMs(0.99),
    inFlight: now?.inFlight,
  };
}

/** Figures between two readings, like `edgeFigures`. */
export const shardFigures = (before: ShardReading | undefined, now: ShardReading | undefined) => ({
  open: now?.open,
  records: now?.records,
  commitsPerSecond: ratePerSecond(before, now, 'commits'),
  searchesPerSecond: ratePerSecond(before, now, 'searches'),
  memoryBytes: now?.memoryBytes,
});

type Reading<K extends string> = { readonly atMs: number } & Readonly<Record<K, number>>;

/** The growth per second of a counter, which restarts with its process; undefined before the second reading. */
export function ratePerSecond<K extends string>(
  before: Reading<K> | undefined,
  now: Reading<K> | undefined,
  counter: K,
): number | undefined {
  if (before === undefined || now === undefined || now.atMs <= before.atMs) return undefined;
  const grown = now[counter] >= before[counter] ? now[counter] - before[counter] : now[counter];
  return (grown * 1000) / (now.atMs - before.atMs);
}

/** Upper bound → the number of values up to it; the last bound is infinite. */
type Buckets = ReadonlyMap<number, number>;

/**
 * The quantile `share` of the values counted between two readings, interpolated within its bucket like in Prometheus'
 * histogram_quantile. Above the greatest finite bound it is that bound; without values it is undefined.
 */
export function quantileBetween(before: Buckets | undefined, now: Buckets, share: number): number | undefined {
  const bounds = [...now.keys()].sort((a, b) => a - b);
  const hasBegunAgain = bounds.some((bound) => (before?.get(bound) ?? 0) > now.get(bound)!);
  const grown = bounds.map((bound) => now.get(bound)! - (hasBegunAgain ? 0 : (before?.get(bound) ?? 0)));
  const wanted = share * (grown.at(-1) ?? 0);
  if (wanted === 0) return undefined;
  const at = grown.findIndex((upTo) => upTo >= wanted);
  const lower = at === 0 ? 0 : bounds[at - 1]!;
  if (bounds[at] === Number.POSITIVE_INFINITY) return lower;
  const below = at === 0 ? 0 : grown[at - 1]!;
  return lower + ((bounds[at]! - lower) * (wanted - below)) / (grown[at]! - below);
}

export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of these metrics. */
export const samplesOf = (text: string, names: ReadonlySet<string>): MetricSample[] =>
  text.split('\n').flatMap((line) => {
    const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? [];
    if (!names.has(name)) return [];
    return { name, labels: labelsOf(labels), value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value) };
  });

const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(LABEL)].map(([, name, value]) => [name!, value!]));
