/** The delays between attempts of all work that is repeated until it succeeds. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../clock.js';

/** Constant delays, in milliseconds. */
export const RETRY_MS = {
  /** A connection to NATS that is lost. */
  connection: 200,
  /** A NATS cluster that is still starting, and streams that have no leader yet. */
  startUp: 250,
  /** The watch of a bucket that broke. */
  watch: 100,
  /** A commit or a vault entry whose outcome is unknown. */
  write: 50,
  /** The lock of a vault that another process holds. */
  vaultLock: 10,
  /** The change of an owner entry. */
  ownerEntry: 100,
  /** Opening, serving or closing a collection. */
  replica: 200,
  /** The transfer of a collection with a hold on its writes. */
  heldCollection: 10,
  /** The call `adopt`, which makes a shard serve new collections. */
  adopt: 20,
  /** The call `silence`, which makes a shard stop serving a deleted collection. */
  silence: 100,
  /** Asking a follower whether it has caught up. */
  warmUp: 50,
  /** Counting the bytes of a collection that has no owner at the moment. */
  heldBytes: 100,
  /** A log that ends too early: a stale replica may have answered. */
  shortLog: 500,
  /** Asking the writer of the service log, while no coordinator leads. */
  serviceLog: 100,
  /** A request of a command to a service that is out of reach. */
  command: 1_000,
  /** A local process that starts or ends. */
  process: 50,
} as const;

export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Delays that double from one attempt to the next. */
export const BACKOFF = {
  /** Calls to a collection that changes its owner. */
  call: { firstMs: 10, longestMs: 100 },
  /** The move of a collection that failed. */
  move: { firstMs: 2_000, longestMs: 60_000 },
  /** The build of an index that failed. */
  indexBuild: { firstMs: 60_000, longestMs: 3_600_000 },
  /** Bringing a NATS server the seals that it lacks. */
  seals: { firstMs: 1_000, longestMs: 60_000 },
  /** A supervised process that ended. */
  process: { firstMs: 100, longestMs: 10_000 },
} as const satisfies Readonly<Record<string, Backoff>>;

/** The delay after one of `previousMs`; without a previous one, the first. */
export const nextDelayMs = ({ firstMs, longestMs }: Backoff, previousMs?: number): number =>
  previousMs === undefined ? firstMs : Math.min(2 * previousMs, longestMs);

interface Polling {
  readonly everyMs: number;
  readonly withinMs: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/** Returns the first result of `attempt` that is not undefined; undefined once `withinMs` have passed. */
export async function poll<T>(
  attempt: () => Promise<T | undefined> | T | undefined,
  { everyMs, withinMs, clock, signal }: Polling,
): Promise<T | undefined> {
  const giveUpMs = clock.monotonicMs() + withinMs;
  for (;;) {
    const result = await attempt();
    if (result !== undefined || clock.monotonicMs() >= giveUpMs) return result;
    await delay(everyMs, undefined, signal && { signal });
  }
}
