/**
 * All followers of this shard. Rounds ask the owners for their heads and their open collections, and compare. A round makes one
 * call per pair of shards, however many collections, and no owner delays the round of another. `follower.ts` answers searches.
 */
import { messageOf } from '../../shared/errors/errors.js';
import type { Readings } from '../../shared/metrics/metrics.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import { Comparison } from './comparison.js';
import { askShard, type Follower, type FollowerState, type FollowServices } from './follower.js';

const ROUND_MS = 500;
const COMPARE_MS = 1_500;
/** Idle followers are checked once in this many rounds. */
const IDLE_ROUNDS = 4;
const DAY_MS = 86_400_000;

export class Following {
  readonly #rounds: PeriodicTask;
  readonly #comparisons: PeriodicTask;
  /** Calls that owners have not answered yet. */
  readonly #asking = new Set<string>();
  #round = 0;

  constructor(private readonly services: FollowServices) {
    const comparison = new Comparison(services);
    this.#rounds = new PeriodicTask(async () => this.#askOwners(), ROUND_MS);
    this.#comparisons = new PeriodicTask(() => comparison.round(), COMPARE_MS);
  }

  start(): void {
    this.#rounds.start();
    this.#comparisons.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#comparisons.stop();
  }

  gauges(): Readings {
    const states: Record<FollowerState, number> = { idle: 0, opening: 0, following: 0, diverged: 0 };
    let lag = 0;
    let staleMs = 0;
    for (const follower of this.services.all) {
      states[follower.state]++;
      if (follower.collection === undefined) continue;
      lag = Math.max(lag, follower.lag);
      staleMs = Math.max(staleMs, Math.min(follower.ageMs, DAY_MS));
    }
    return {
      vouch_collections_followed: states,
      vouch_follower_lag_events: lag,
      vouch_follower_stale_seconds: staleMs / 1000,
    };
  }

  #askOwners(): void {
    const isIdleRound = this.#round++ % IDLE_ROUNDS === 0;
    const following = byOwner(this.services.all, ({ collection }) => collection !== undefined);
    for (const [owner, followers] of following) this.#ask(owner, 'heads', () => this.#askHeads(owner, followers));
    if (!isIdleRound) return;
    const idle = byOwner(this.services.all, ({ state }) => state === 'idle');
    for (const [owner, followers] of idle) this.#ask(owner, 'openIds', () => this.#askOpen(owner, followers));
  }

  #ask(owner: string, what: string, work: () => Promise<void>): void {
    const key = `${what} ${owner}`;
    if (this.#asking.has(key)) return;
    this.#asking.add(key);
    void work()
      .catch((error: unknown) => {
        this.services.logger.debug(
          { owner, what, error: messageOf(error) },
          'an owner did not answer; it is asked again',
        );
      })
      .finally(() => this.#asking.delete(key));
  }

  async #askHeads(owner: string, followers: readonly Follower[]): Promise<void> {
    const askedMs = this.services.clock.monotonicMs();
    const collectionIds = followers.map(({ collectionId }) => collectionId);
    const { sequences } = await askShard(this.services, owner, { op: 'heads', collectionIds });
    for (const [i, follower] of followers.entries()) {
      const sequence = sequences[i];
      if (typeof sequence === 'number') follower.ownerHas(sequence, askedMs);
    }
  }

  async #askOpen(owner: string, followers: readonly Follower[]): Promise<void> {
    const { open } = await askShard(this.services, owner, { op: 'openIds' });
    const isOpen = new Set(open);
    for (const follower of followers) if (isOpen.has(follower.collectionId)) follower.open();
  }
}

function byOwner(all: Iterable<Follower>, isIncluded: (follower: Follower) => boolean): Map<string, Follower[]> {
  const grouped = new Map<string, Follower[]>();
  for (const follower of all) {
    if (!isIncluded(follower)) continue;
    const group = grouped.get(follower.owner) ?? [];
    grouped.set(follower.owner, group);
    group.push(follower);
  }
  return grouped;
}
