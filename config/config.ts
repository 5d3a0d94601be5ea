/** The configuration of a node: every setting with its bounds, which are checked once at start. */
import type { tags } from 'typia';

type Port = number & tags.Type<'uint32'> & tags.Maximum<65_535>;
type FollowerCount = number & tags.Type<'uint32'> & tags.Maximum<16>;
type ByteQuota = number & tags.Type<'uint64'> & tags.Minimum<1>;
type Positive = number & tags.Type<'uint32'> & tags.Minimum<1>;

/**
 * The longest time of a setting, a deadline or a wait: 7 days. Three of them together are below the 2^31 − 1 ms that a timer
 * takes; a timer that is set for more runs after 1 ms.
 */
export const DURATION_MAX_MS = 604_800_000;
export type DurationMs = Positive & tags.Maximum<typeof DURATION_MAX_MS>;

/** A token bucket: `perMinute` tokens a minute, at most `burst` at once. */
export interface BucketRate {
  readonly perMinute: number & tags.ExclusiveMinimum<0>;
  readonly burst: Positive;
}

export interface ProjectRates {
  readonly total: BucketRate;
  readonly read: BucketRate;
  readonly write: BucketRate;
}

export type RateLimits =
  | 'off'
  | {
      readonly default: ProjectRates | 'off';
      readonly projects?: { readonly [project: string]: ProjectRates | 'off' };
    };

export interface Limits {
  readonly bodyBytes: Positive;
  readonly metadataBytes: Positive;
  readonly textBytes: Positive;
  /** The plaintext of an encrypted record. */
  readonly payloadBytes: Positive & tags.Maximum<65_536>;
  readonly batchVectors: Positive;
  readonly collectionsPerProject: Positive;
  readonly aliasesPerProject: Positive;
  /** Live records of a project, in all its collections. */
  readonly maxRecords: Positive;
  /** Bytes of a project: vectors, metadata, texts, payloads, and the logs of its collections. */
  readonly maxBytes: ByteQuota;
  /** The quotas of single projects, which replace `maxBytes`. */
  readonly maxBytesOfProjects?: { readonly [project: string]: ByteQuota };
  /** Key ids of a project that may be shredded without having been used. */
  readonly unknownShreds: Positive;
  readonly deadlineMs: DurationMs;
  /** The deadline of the rebuild of a project's indexes, instead of `deadlineMs`. */
  readonly rebuildMs: DurationMs;
  /** Request ids that a collection remembers. */
  readonly dedupWindow: Positive;
  /** The cache of past states of a shard process. */
  readonly asOfCacheBytes: Positive;
  /** The memory of a shard process, which refuses writes before it is full; 0: that of the container or the machine. */
  readonly memoryBytes: number & tags.Type<'uint64'>;
  /** The capacity of the store of all logs, copies on other servers included; 0: that of JetStream's account or the disk. */
  readonly storeBytes: number & tags.Type<'uint64'>;
  /** Requests that a coordinator works on at once; more are refused with 503. */
  readonly inFlight: Positive;
  /** The longest wait in a queue; a request that would have to wait longer is refused with 503. */
  readonly maxQueueWaitMs: DurationMs;
}

export interface Config {
  readonly mode: 'cluster' | 'standalone';
  /** `sharePort`: other coordinators of this machine may listen on the same port; the kernel spreads the connections. */
  readonly http: {
    readonly host: string;
    readonly port: Port;
    readonly sharePort: boolean;
    /** `auto`: uWebSockets.js where its binary runs and TLS is off, else Node's own server. */
    readonly engine: 'auto' | 'uws' | 'node';
    /** The files of HTTPS; empty: HTTP. */
    readonly tlsCert: string;
    readonly tlsKey: string;
    /** Whether HTTP without TLS may be served on another address than loopback. */
    readonly insecure: boolean;
    /** The origins whose pages may call the API; `*`: all. */
    readonly corsOrigins: readonly string[];
  };
  /** The address of `/metrics`, without a key; null: beside the API, with one. */
  readonly metrics: { readonly host: string; readonly port: Port } | null;
  /** Whether `/metrics` needs no key beside the API, which must be on loopback. */
  readonly metricsOpen: boolean;
  readonly dataDir: string & tags.MinLength<1>;
  /** The key that wraps the data keys, the same on every machine. Empty: `master.key` in the data folder. */
  readonly masterKeyFile: string;
  /** The Ed25519 key that signs checkpoints. Empty: `signing.key` in the data folder. */
  readonly signingKeyFile: string;
  /** The log over all collections, which the coordinator that places them writes. */
  readonly serviceLog: {
    /** The Ed25519 key of the log, the same on every machine. Empty: `log.key` in the data folder. */
    readonly keyFile: string;
    /** The identity of the log, fixed at its first start. Empty: made of its key. */
    readonly origin: string & tags.Pattern<'^[^\\s+]{0,200}$'>;
    /** How often changed collections are logged. */
    readonly everyMs: DurationMs;
    /** The policy with the witnesses that are asked to cosign; empty: none. */
    readonly witnesses: string;
  };
  /** Shard processes that `npm start` runs. */
  readonly shards: Positive & tags.Maximum<64>;
  /** Threads of a shard process for long exact searches; `auto`: one less than there are cores, at most 8. */
  readonly searchThreads: 'auto' | (number & tags.Type<'uint32'> & tags.Maximum<64>);
  readonly nats: {
    /** The server to use instead of starting one. */
    readonly url: string | null;
    /** Files of the login at the servers; empty: not used. See `NatsLogin`. */
    readonly creds: string;
    readonly nkey: string;
    readonly ca: string;
    readonly cert: string;
    readonly key: string;
    readonly replicas: Positive & tags.Maximum<5>;
    /** Streams of the collections' logs. Fixed once there is data. */
    readonly logStreams: Positive & tags.Maximum<256>;
  };
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  readonly limits: Limits;
  readonly rateLimits: RateLimits;
  /** Whether indexes can be configured; otherwise such a request is answered with 501. */
  readonly ann: boolean;
  /** Snapshots of a collection on its shard's disk, from which a restart begins. */
  readonly snapshots: {
    /** The least growth of the log from one snapshot to the next. */
    readonly everyBytes: number & tags.Type<'uint64'> & tags.Minimum<1>;
    readonly keep: Positive;
  };
  readonly placement: {
    readonly heartbeatMs: DurationMs;
    /** A shard that could not renew its lease for this long stops answering. */
    readonly leaseMs: DurationMs;
    /** A shard without heartbeat for this long loses its collections. */
    readonly failoverMs: DurationMs;
    /** The longest that a shard which stops may take to transfer its collections. */
    readonly drainTimeoutMs: DurationMs;
  };
  /** Shards that replay a collection's log, answer its eventual searches and take over from its owner. */
  readonly followers: {
    readonly count: FollowerCount;
    readonly projects?: { readonly [project: string]: FollowerCount };
    /** The counts of single collections, by `project/collection`. */
    readonly collections?: { readonly [collection: string]: FollowerCount };
    /** A follower whose lag may be longer than this answers no eventual search. */
    readonly staleMs: DurationMs;
  };
}
