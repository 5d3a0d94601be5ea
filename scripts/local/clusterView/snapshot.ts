/** The state of a cluster at one moment, as plain values that the view shows. */
import type { edgeFigures, shardFigures } from './watch/figures.js';
import type { NewsItem } from './watch/news.js';
import type { Ownerships } from './watch/ownerships.js';
import type { ServerFigures } from './watch/serverPage.js';
import type { LeaseState } from './watch/shardLives.js';

export interface ClusterSnapshot {
  readonly url: string;
  /** The file of the key made at the first start, if there is one. */
  readonly keyFile: string | undefined;
  readonly upMs: number;
  readonly servers: readonly ServerState[];
  readonly coordinators: readonly CoordinatorState[];
  readonly shards: readonly ShardState[];
  readonly moves: ReturnType<Ownerships['moves']>;
  /** Oldest first. */
  readonly news: readonly NewsItem[];
}

/** A process by its short name; `pid` undefined while it is down. */
interface ProcessState<Pid = number> {
  readonly name: string;
  readonly pid: Pid | undefined;
}

export type ServerState = ProcessState & ServerFigures;

export type CoordinatorState = ProcessState &
  ReturnType<typeof edgeFigures> & {
    readonly leadsPlacement: boolean;
    /** Whether it counts the requests of all projects. */
    readonly countsRequests: boolean;
  };

/** The state of a shard. `pid` is `elsewhere` if this command did not start it. */
export type ShardState = ProcessState<number | 'elsewhere'> &
  ReturnType<typeof shardFigures> & {
    readonly owned: number;
    readonly followed: number;
    readonly lease: LeaseState;
  };
