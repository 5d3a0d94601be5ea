/** The state of a cluster at one moment, as the view shows it. Plain values: the view is a function of them. */
import type { Mark } from '../terminal/line.js';

export interface ClusterSnapshot {
  readonly url: string;
  /** To the key that was made at the first start; undefined where there is none. */
  readonly keyFile: string | undefined;
  readonly upMs: number;
  readonly servers: readonly ServerState[];
  readonly coordinators: readonly CoordinatorState[];
  readonly shards: readonly ShardState[];
  readonly moves: readonly Move[];
  /** Oldest first. */
  readonly news: readonly NewsItem[];
}

/** Undefined figures are not known: the process is down, or has not been asked twice yet. */
export interface ServerState {
  readonly name: string;
  readonly pid: number | undefined;
  /** Leads the group that places streams. */
  readonly leadsMeta: boolean;
  /** Log streams it leads. */
  readonly logsLed: readonly string[];
  /** Other streams and buckets it leads. */
  readonly othersLed: number;
  readonly storedBytes: number | undefined;
}

export interface CoordinatorState {
  readonly name: string;
  readonly pid: number | undefined;
  /** Gives collections to shards. */
  readonly leadsPlacement: boolean;
  /** Counts every project's requests. */
  readonly countsRequests: boolean;
  readonly requestsPerSecond: number | undefined;
  /** Of the requests since it was asked before; undefined where there was none. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly refusedPerSecond: number | undefined;
  readonly inFlight: number | undefined;
}

export interface ShardState {
  readonly name: string;
  /** `elsewhere`: it has joined from somewhere else, and is not this command's to start. */
  readonly pid: number | 'elsewhere' | undefined;
  readonly owned: number;
  readonly open: number | undefined;
  readonly followed: number;
  readonly records: number | undefined;
  readonly commitsPerSecond: number | undefined;
  readonly searchesPerSecond: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly lease: LeaseState;
}

/** `leftMs`: until others may take what it has, counted from the last heartbeat that was seen. */
export type LeaseState =
  | { readonly kind: 'held'; readonly leftMs: number }
  | { readonly kind: 'leaving' }
  | { readonly kind: 'none' };

/** A collection is being copied to another shard, which is to own or to follow it. */
export interface Move {
  readonly collectionId: number;
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly sinceMs: number;
}

export interface NewsItem {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly mark: Mark;
  readonly text: string;
  /** A process has logged it: what follows from it is told besides. */
  readonly isComplaint: boolean;
}
