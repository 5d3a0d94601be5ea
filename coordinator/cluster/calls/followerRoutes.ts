/**
 * Which searches go to followers. An eventual one goes to any of them. A strong one goes to the owner, which answers it the
 * soonest, unless the owner has searches in hand: then to that of the owner and the followers which is expected to answer it
 * first, by what each has in hand and how long a search takes there. A strong search of the past goes to the owner: it has
 * past states in memory, and each would have to be made at every follower again.
 */
import type { Clock } from '../../../shared/clock.js';
import type { Call } from '../../../shared/protocol/calls.js';
import { followerSubject, followersSubject } from '../../../shared/transport/subjects.js';
import type { Members } from '../members/members.js';
import { isStrongSearch, mayAskFollowers, searchesIn } from './callTraits.js';
import type { SearchLoad } from './searchLoad.js';

/** How long a follower is left alone after it has failed a strong search; all of them, after none has answered an eventual one. */
const PAUSE_MS = 2_000;
/** After this time without an answer from any follower, the owner is asked an eventual search. */
const EVENTUAL_MS = 300;
/** The same for strong searches: so long, and so many times what they are expected to take. */
const STRONG_MS = 1_000;
const STRONG_TIMES = 4;
/** A follower asks the owner first, which costs both of them something: without that it must be sooner by so much. */
const READ_INDEX_MS = 1;
/** Followers that are left alone, beyond which all are asked again. */
const PAUSED_MAX = 10_000;

export interface FollowerRoute {
  readonly subject: string;
  /** The one follower that is asked a strong search; undefined: any is asked an eventual one. */
  readonly shard: string | undefined;
}

export class FollowerRoutes {
  /** Subject → until when it is not asked. */
  readonly #pausedMs = new Map<string, number>();

  constructor(
    private readonly members: Pick<Members, 'serverOf' | 'liveFollowers'>,
    private readonly load: Pick<SearchLoad, 'pendingMs' | 'searchMs'>,
    private readonly clock: Clock,
  ) {}

  /** Undefined: the owner is asked. */
  routeOf(collectionId: number, call: Call): FollowerRoute | undefined {
    if (mayAskFollowers(call)) return this.#eventual(collectionId);
    return isStrongSearch(call) ? this.#strong(collectionId, searchesIn(call)) : undefined;
  }

  /** How long the route may take for what it is sent now, before the owner is asked instead. */
  withinMs({ shard }: FollowerRoute): number {
    return shard === undefined ? EVENTUAL_MS : STRONG_MS + STRONG_TIMES * this.load.pendingMs(shard);
  }

  /** Leaves the followers of the route alone for a while. */
  pause({ subject }: FollowerRoute): void {
    if (this.#pausedMs.size >= PAUSED_MAX) this.#pausedMs.clear();
    this.#pausedMs.set(subject, this.clock.nowMs() + PAUSE_MS);
  }

  #eventual(collectionId: number): FollowerRoute | undefined {
    const subject = followersSubject(collectionId);
    if (this.members.liveFollowers(collectionId).length === 0 || this.#isPaused(subject)) return undefined;
    return { subject, shard: undefined };
  }

  #strong(collectionId: number, searches: number): FollowerRoute | undefined {
    const owner = this.members.serverOf(collectionId)?.shard;
    const pendingMs = owner === undefined ? 0 : this.load.pendingMs(owner);
    if (owner === undefined || pendingMs === 0) return undefined;
    const searchMs = this.load.searchMs(collectionId, owner) ?? 0;
    let soonestMs = pendingMs + searches * searchMs;
    let route: FollowerRoute | undefined;
    for (const shard of this.members.liveFollowers(collectionId)) {
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
    const untilMs = this.#pausedMs.get(subject);
    if (untilMs === undefined) return false;
    if (this.clock.nowMs() < untilMs) return true;
    this.#pausedMs.delete(subject);
    return false;
  }
}
