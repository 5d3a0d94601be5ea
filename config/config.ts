/** The one configuration object: every setting a node has, checked once at start. */
import type { tags } from 'typia';

type Port = number & tags.Type<'uint32'> & tags.Maximum<65_535>;
type FollowerCount = number & tags.Type<'uint32'> & tags.Maximum<16>;
type Positive = number & tags.Type<'uint32'> & tags.Minimum<1>;

/** A token bucket: `perMinute` tokens a minute, never more than `burst` at once. */
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
  /** Plaintext of an encrypted record. */
  readonly payloadBytes: Positive & tags.Maximum<65_536>;
  readonly batchVectors: Positive;
  readonly collectionsPerProject: Positive;
  /** Live records a project may hold, over all its collections. */
  readonly maxRecords: Positive;
  readonly deadlineMs: Positive;
  /** How long the rebuild of a project's indexes may take; it has this deadline instead of `deadlineMs`. */
  readonly rebuildMs: Positive;
  /** Request ids each collection remembers. */
  readonly dedupWindow: Positive;
  /** Of each shard process, for past states that are kept after a search of one. */
  readonly pastStatesBytes: Positive;
  /** Requests a coordinator works on at once; more are refused with 503. */
  readonly inFlight: Positive;
  /** The longest that something waits in a queue for its turn; what would have to wait longer is refused with 503. */
  readonly queueMs: Positive;
}

export interface Config {
  readonly mode: 'cluster' | 'standalone';
  /** `sharePort`: other coordinators of this machine listen on the same port, and the kernel spreads connections over them. */
  readonly http: { readonly host: string; readonly port: Port; readonly sharePort: boolean };
  /** Where `/metrics` is served; null: beside the API. */
  readonly metrics: { readonly host: string; readonly port: Port } | null;
  readonly dataDir: string & tags.MinLength<1>;
  /** Holds the key that wraps the data keys of encrypted records; the same on every machine. Empty: `master.key` in the data folder. */
  readonly masterKeyFile: string;
  /** Holds the Ed25519 key that signs checkpoints. Empty: `signing.key` in the data folder. */
  readonly signingKeyFile: string;
  /** Shard processes that `npm start` runs. */
  readonly shards: Positive & tags.Maximum<64>;
  readonly nats: {
    /** Use this server instead of starting one. */
    readonly url: string | null;
    readonly replicas: Positive & tags.Maximum<5>;
    /** Streams that the collections' logs are spread over. Fixed once there is data. */
    readonly logStreams: Positive & tags.Maximum<256>;
  };
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  readonly limits: Limits;
  readonly rateLimits: RateLimits;
  /** False: index configuration answers 501 on this node. */
  readonly ann: boolean;
  /** Of each collection, on its shard's disk: what a restart begins from. */
  readonly snapshots: {
    /** What its log grows by, at least, from one to the next. */
    readonly everyBytes: number & tags.Type<'uint64'> & tags.Minimum<1>;
    readonly keep: Positive;
  };
  readonly placement: {
    readonly heartbeatMs: Positive;
    /** A shard that could not renew for this long stops answering. */
    readonly leaseMs: Positive;
    /** A shard not heard of for this long loses its collections; longer than the lease. */
    readonly reassignMs: Positive;
    /** How long a shard that is told to end takes at most to hand its collections over. */
    readonly leaveMs: Positive;
  };
  /** Shards that follow a collection's owner, answer its eventual searches and stand in for it. */
  readonly followers: {
    readonly count: FollowerCount;
    readonly projects?: { readonly [project: string]: FollowerCount };
    /** By `project/collection`. */
    readonly collections?: { readonly [collection: string]: FollowerCount };
    /** A follower that may be further behind than this does not answer. */
    readonly staleMs: Positive;
  };
}
