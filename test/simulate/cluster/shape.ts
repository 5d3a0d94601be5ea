/** Shape of a simulated cluster: drawn from its seed, small, and different each time. */

import { INDEX_KINDS } from '../../../shared/model/indexKinds.js';
import type { IndexKind } from '../../soak/history/indexes.js';
import type { SeededRandom } from '../../soak/random.js';
import type { CollectionShape } from '../../soak/shapes.js';

export interface SimulatedShape {
  /** NATS servers; 0: standalone. */
  readonly servers: number;
  /** Whether the servers sync what they acknowledge (`sync_interval: always`). */
  readonly syncs: boolean;
  readonly shards: number;
  readonly coordinators: number;
  /** Whether a witness cosigns the service log. */
  readonly hasWitness: boolean;
  readonly followers: number;
  /** Milliseconds between direct calls to shards by a reader with an outdated view; undefined: no such reader. */
  readonly outdatedEveryMs: number | undefined;
  readonly clients: number;
  readonly collections: readonly CollectionShape[];
  /** Simulated time under faults, in milliseconds. */
  readonly durationMs: number;
  /** Mean time between two faults, in milliseconds. */
  readonly faultEveryMs: number;
  /** Mean pause of a client between two calls, in milliseconds. */
  readonly thinkMs: number;
  /** Size of the log files of a standalone node; without it, the product's default. */
  readonly segmentBytes?: number | undefined;
  /** Simulated time that one look at a clock takes, in milliseconds: the speed of all machines. */
  readonly lookMs: number;
  /** Settings of all shards and coordinators, as variables of the environment. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Pauses of clients. Busy clients meet the first moments of faults; others cost less to simulate. */
const THINK_MS = [200, 1_000, 2_000, 4_000, 8_000];

/** Half a microsecond, or so long that work is cut into slices with other work between them. */
const LOOK_MS = [0.0005, 0.0005, 0.05, 0.4];

const KINDS: readonly IndexKind[] = ['none', 'none', 'none', ...INDEX_KINDS];

/** Largest number of collections of a project. */
const COLLECTIONS_MAX = 3;

/** Fewest rows for which an index is searched; below, an exact search costs less. */
export const INDEXED_ROWS = 3_500;
/**
 * Rows of an indexed collection before the faults. Few clusters get enough for the index to serve: one such costs as
 * much as many others.
 */
const ROWS = [0, 0, 0, 0, 500, 500, 500, 500, INDEXED_ROWS];

/** Greatest staleness of an eventual answer: longer than a heartbeat, shorter than a lease. */
const STALE_MS = [1_200, 2_000];

/** Requirements of a swept operation. */
interface Wanted {
  readonly index?: IndexKind;
  readonly shards?: number;
  readonly segmentBytes?: number;
}

export function shapeOf(random: SeededRandom, durationMs: number): SimulatedShape {
  const servers = random.pick([0, 0, 1, 3, 3]);
  const heartbeatMs = 500 + 250 * random.int(3);
  const leaseMs = 4 * heartbeatMs;
  const followers = servers === 0 ? 0 : random.int(2);
  const drawn: SimulatedShape = {
    servers,
    syncs: random.int(3) > 0,
    outdatedEveryMs: servers > 0 ? random.pick([undefined, 200, 50]) : undefined,
    shards: 2 + random.int(2),
    coordinators: 1 + random.int(3),
    hasWitness: false,
    followers,
    clients: 2 + random.int(4),
    collections: Array.from({ length: 1 + random.int(3) }, (_, i) => {
      const index = random.pick(KINDS);
      return { name: `c${i + 1}`, dimension: 4, index, rows: index === 'none' ? 0 : random.pick(ROWS) };
    }),
    durationMs,
    faultEveryMs: 1_000 * (1 + random.int(12)),
    thinkMs: random.pick(THINK_MS),
    lookMs: random.pick(LOOK_MS),
    settings: {
      VOUCH_HEARTBEAT_MS: String(heartbeatMs),
      VOUCH_LEASE_MS: String(leaseMs),
      VOUCH_FAILOVER_MS: String(leaseMs + 1_000),
      // A call without a known outcome may still be on its way for this long.
      VOUCH_DEADLINE_MS: random.pick(['10000', '10000', '2000']),
      VOUCH_DRAIN_TIMEOUT_MS: '20000',
      VOUCH_FOLLOWERS: String(followers),
      VOUCH_FOLLOWERS_STALE_MS: String(random.pick(STALE_MS)),
      VOUCH_SNAPSHOT_EVERY_BYTES: String(4096 * (1 + random.int(8))),
      VOUCH_DEDUP_WINDOW: random.int(2) === 0 ? '65536' : '1024',
      VOUCH_RATE_LIMITS: 'off',
      VOUCH_REPLICAS: String(Math.max(servers, 1)),
      VOUCH_LOG_STREAMS: '2',
      VOUCH_MAX_COLLECTIONS: String(COLLECTIONS_MAX),
    },
  };
  const quotas = quotasOf(random, drawn);
  const hasWitness = servers > 0 && random.int(2) === 0;
  const settings = { ...drawn.settings, ...quotas, VOUCH_SEARCH_THREADS: String(random.int(SEARCH_THREADS_MAX + 1)) };
  const audited = drawn.collections.map((each) => ({ ...each, auditReads: random.int(AUDITED_ONE_IN) === 0 }));
  const living = audited.map((each) => withRetention(withLife(random, each)));
  const collections = living.map((each) => ({ ...each, normalise: random.int(NORMALISED_ONE_IN) === 0 }));
  return { ...drawn, settings, hasWitness, collections };
}

/** Lives of records in seconds: some end before the insert is answered, some in a calm. */
const TTL_SECS = [1, 5, 30, 120];

/** Records expire in one of three collections that begin without any. */
function withLife(random: SeededRandom, collection: CollectionShape): CollectionShape {
  const ttlSecs = random.pick([undefined, undefined, random.pick(TTL_SECS)]);
  return ttlSecs === undefined || collection.rows > 0 ? collection : { ...collection, ttlSecs };
}

/** Days for which entries of an access log are kept. Those of a collection whose records expire are kept for ever. */
const RETENTION_DAYS = 2;

function withRetention(collection: CollectionShape): CollectionShape {
  const isKept = collection.auditReads !== true || collection.ttlSecs !== undefined;
  return isKept ? collection : { ...collection, accessRetentionDays: RETENTION_DAYS };
}

const SEARCH_THREADS_MAX = 2;

/** One collection in this many has an access log, and one divides its vectors by their length. */
const AUDITED_ONE_IN = 3;
const NORMALISED_ONE_IN = 4;

/** One service in four has quotas that its clients reach: of records, of bytes, or of both. */
const QUOTA_ONE_IN = 4;
const ROOM = { records: 60, bytes: 40_000 };

function quotasOf(random: SeededRandom, { collections }: SimulatedShape): Readonly<Record<string, string>> {
  if (random.int(QUOTA_ONE_IN) > 0) return {};
  const rows = collections.reduce((sum, each) => sum + each.rows, 0);
  const records = rows + 10 + random.int(ROOM.records);
  const bytes = 10_000 + random.int(ROOM.bytes);
  // The rows from before the faults fit in any case.
  const of = rows > 0 ? 'records' : random.pick(['records', 'bytes', 'both']);
  return {
    ...(of !== 'bytes' && { VOUCH_MAX_RECORDS: String(records) }),
    ...(of !== 'records' && { VOUCH_MAX_BYTES: String(bytes) }),
  };
}

/**
 * Mean pauses of a client in a cluster with calms. There, one collection in LARGE_ONE_IN keeps its drawn rows; the
 * others have at most 500.
 */
const CALM_THINK_MS = [500, 1_000, 2_000, 4_000];
const LARGE_ONE_IN = 8;
const CALM_OUTDATED_MS = 1_000;

/** Longer runs have heartbeats of up to four seconds, shorter ones of up to two. */
const HOUR_MS = 3_600_000;

/** The drawn shape for runs with calms between storms of faults: denser storms, and fewer calls. */
export function calmShape(drawn: SimulatedShape, random: SeededRandom): SimulatedShape {
  const heartbeatMs = (drawn.durationMs > HOUR_MS ? 1_000 : 500) * (1 + random.int(4));
  const leaseMs = 4 * heartbeatMs;
  return {
    ...drawn,
    coordinators: Math.min(drawn.coordinators, 1 + random.int(3)),
    outdatedEveryMs: drawn.outdatedEveryMs && CALM_OUTDATED_MS,
    faultEveryMs: 1_000 * (1 + random.int(8)),
    thinkMs: random.pick(CALM_THINK_MS),
    collections: drawn.collections.map((each) => ({
      ...each,
      rows: random.int(LARGE_ONE_IN) === 0 ? each.rows : Math.min(each.rows, 500),
    })),
    settings: {
      ...drawn.settings,
      VOUCH_HEARTBEAT_MS: String(heartbeatMs),
      VOUCH_LEASE_MS: String(leaseMs),
      VOUCH_FAILOVER_MS: String(leaseMs + 1_000),
    },
  };
}

/** The smallest shape with the drawn settings: one collection, and in a cluster one NATS server. */
export function sweepShape(drawn: SimulatedShape, mode: 'standalone' | 'cluster', wanted: Wanted): SimulatedShape {
  const { index = 'none', shards = 1, segmentBytes } = wanted;
  const { VOUCH_MAX_RECORDS: _, VOUCH_MAX_BYTES: __, ...withoutQuotas } = drawn.settings;
  return {
    ...drawn,
    ...{ servers: mode === 'cluster' ? 1 : 0, shards, coordinators: 1, followers: 0, clients: 0, segmentBytes },
    hasWitness: false,
    collections: [{ name: 'c1', dimension: 4, index, rows: index === 'none' ? 0 : 500 }],
    settings: { ...withoutQuotas, VOUCH_FOLLOWERS: '0', VOUCH_REPLICAS: '1', VOUCH_SNAPSHOT_EVERY_BYTES: '4096' },
  };
}
