/**
 * Decides which searches go to followers. An eventual search goes to any follower. A strong search goes to the owner if that is
 * idle. Otherwise it goes to the shard that should answer first: the expected time of its unanswered searches, plus that of this
 * call. A strong search of the past goes to the owner, which has past states in memory: a follower would have to build them first.
 */
import type { Clock } from '../../../shared/clock.js';
import type { Call } from '../../../shared/protocol/calls.js';
import { followerSubject, followersSubject } from '../../../shared/transport/subjects.js';
import type { Members } from '../members/members.js';
import { isStrongSearch, mayAskFollowers, searchesIn } from './callTraits.js';
import type { SearchLoad } from './searchLoad.js';

/** Pause of a follower that failed a strong search, and of all followers when none answered an eventual search. */
const PAUSE_MS = 2_000;
/** An eventual search goes to the owner if no follower has answered after this time. */
const EVENTUAL_MS = 300;
/** A strong search goes to the owner after this time plus this multiple of its expected duration. */
const STRONG_MS = 1_000;
const STRONG_TIMES = 4;
/** A follower must be faster by so much: it asks the owner for the read index first, which costs both some work. */
const READ_INDEX_MS = 1;
/** Largest number of paused followers; at this number all are asked again. */
const PAUSED_MAX = 10_000;

export interface FollowerRoute {
  readonly subject: string;
  /** The follower that gets a strong search; undefined: any follower gets an eventual search. */
  readonly shard: string | undefined;
}

export class FollowerRoutes {
  /** Subject → end of its pause. */
  readonly #pausedUntilMs = new Map<string, number>();

  constructor(
    private readonly members: Pick<Members, 'serverOf' | 'liveFollowers'>,
    private readonly load: Pick<SearchLoad, 'pendingMs' | 'searchMs'>,
    private readonly clock: Clock,
  ) {}

  /** The follower route of the call; undefined: it goes to the owner. */
  routeOf(collectionId: number, call: Call): FollowerRoute | undefined {
    if (mayAskFollowers(call)) return this.#eventual(collectionId);
    return isStrongSearch(call) ? this.#strong(collectionId, searchesIn(call)) : undefined;
  }

  /** Time that the route has to answer a call that is sent now, before the owner is asked instead. */
  withinMs({ shard }: FollowerRoute): number {
    return shard === undefined ? EVENTUAL_MS : STRONG_MS + STRONG_TIMES * this.load.pendingMs(shard);
  }

  /** Sends the followers of the route no searches for a while. */
  pause({ subject }: FollowerRoute): void {
    if (this.#pausedUntilMs.size >= PAUSED_MAX) this.#pausedUntilMs.clear();
    this.#pausedUntilMs.set(subject, this.clock.nowMs() + PAUSE_MS);
  }

  #eventual(collectionId: number): FollowerRoute | undefined {
    const subject = followersSubject(collectionId);
    if (this.members.liveFollowers(collectionId).length === 0 || this.#isPaused(subject)) return undefined;
    return { subject, shard: undefined };
  }

  #strong(collectionId: number, searches: number): FollowerRoute | undefined {
    const followers = this.members.liveFollowers(collectionId);
    if (followers.length === 0) return undefined;
    const owner = this.members.serverOf(collectionId)?.shard;
    const pendingMs = owner === undefined ? 0 : this.load.pendingMs(owner);
    if (owner === undefined || pendingMs === 0) return undefined;
    const searchMs = this.load.searchMs(collectionId, owner) ?? 0;
    let soonestMs = pendingMs + searches * searchMs;
    let route: FollowerRoute | undefined;
    for (const shard of followers) {
      const takesMs = searches * (this.load.searchMs(collectionId, shard) ?? searchMs);
      const expectedMs = this.load.pendingMs(shard) + takesMs + READ_INDEX_MS;
      if (expectedMs >= soonestMs) continue;
      const subject = followerSubject(collectionId, shard);
      if (this.#isPaused(subject)) continue;
      soonestMs = expectedMs;
      route = { subject, shard };
    }
    return route;
  }

  #isPaused(subject: string): boolean {
    const untilMs = this.#pausedUntilMs.get(subject);
    if (untilMs === undefined) return false;
    if (this.clock.nowMs() < untilMs) return true;
    this.#pausedUntilMs.delete(subject);
    return false;
  }
}
