/**
 * Carries out moves while the collections are in use:
 *
 * ```text
 * planned ──open at its owner──▶ followed by the new owner ──▶ warmed ──▶ transferred ──▶ served
 *    └──not open: there is nothing to warm────────────────────────────────────┘
 * ```
 *
 * Any step may fail or be interrupted, also by the end of this leadership. The owner serves until it has written its
 * successor's entry itself; a failed move leaves at most one surplus follower, which placement removes. A second leader does
 * no harm: each change of the owner entry names the entry it replaces.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../../config/config.js';
import { messageOf } from '../../../shared/errors/errors.js';
import { BACKOFF, nextDelayMs, RETRY_MS } from '../../../shared/scheduling/retry.js';
import type { Owned } from '../members/members.js';
import { type PlacementContext, placementEnvelope } from './context.js';
import { type MoveKind, startMove } from './moveMetrics.js';
import { followersWanted } from './plan/followers.js';
import type { Move } from './plan/moves.js';

type Kind = Exclude<MoveKind, 'failover'>;

/** Moves at a time: warming reads a whole log and fills memory. */
const CONCURRENT_MOVES: Readonly<Record<Kind, number>> = { warm: 4, cold: 16 };
const CALL_MS = 2_000;
/** The commit in flight is finished first. */
const TRANSFER_MS = 5_000;
const WARM_MS = 300_000;
/** Polls in a row that may fail: the new owner may not have read its entry yet. */
const WARM_FAILURES_MAX = 10;
/** A collection whose move failed is not moved for a while, longer after each failure. */

interface Backoff {
  readonly untilMs: number;
  readonly nextMs: number;
}

export class Moves {
  /** Collection → its new owner. */
  readonly #inFlight = new Map<number, string>();
  readonly #running: Record<Kind, number> = { warm: 0, cold: 0 };
  readonly #backoffs = new Map<number, Backoff>();
  #waiting: Record<Kind, Move[]> = { warm: [], cold: [] };
  #sorting = false;

  constructor(
    private readonly context: PlacementContext,
    private readonly followers: Config['followers'],
  ) {}

  get inFlight(): ReadonlyMap<number, string> {
    return this.#inFlight;
  }

  /** Whether a move of the collection failed a moment ago. */
  isBackingOff(collectionId: number): boolean {
    const backoff = this.#backoffs.get(collectionId);
    return backoff !== undefined && this.context.clock.monotonicMs() < backoff.untilMs;
  }

  /** Replaces the moves that have not begun. Returns at once. */
  plan(moves: readonly Move[]): void {
    this.#waiting = { warm: [], cold: [] };
    if (moves.length === 0 || this.#sorting) return;
    this.#sorting = true;
    void this.#sort(moves).finally(() => {
      this.#sorting = false;
      this.#begin();
    });
  }

  /**
   * Sorts moves into warm and cold. A collection that is open at its owner moves warm. A collection with a hold on its writes
   * is planned again, or moves last if its shard is leaving. The new owner is asked too, so that nothing moves to a dead shard
   * whose heartbeat has not expired yet.
   */
  async #sort(moves: readonly Move[]): Promise<void> {
    const shards = [...new Set(moves.flatMap(({ from, to }) => [from, to]))];
    const answers = new Map(
      await Promise.all(shards.map(async (shard) => [shard, await this.#openAt(shard)] as const)),
    );
    const held: Move[] = [];
    for (const move of moves) {
      const from = answers.get(move.from);
      if (from === undefined || answers.get(move.to) === undefined) continue;
      if (from.held.includes(move.collectionId)) held.push(move);
      else this.#waiting[from.open.has(move.collectionId) ? 'warm' : 'cold'].push(move);
    }
    // A leaving shard has no time to lose: it transfers the collection as soon as the hold ends.
    this.#waiting.warm.push(...held.filter(({ from }) => this.context.members.heartbeat(from)?.leaving));
  }

  /** The shard's open collections, and those with a hold on their writes; undefined if the shard does not answer. */
  async #openAt(shard: string): Promise<{ open: ReadonlySet<number>; held: readonly number[] } | undefined> {
    const { members, clock, logger } = this.context;
    try {
      const { open, held } = await members.ask(shard, { op: 'openIds' }, placementEnvelope(clock, CALL_MS));
      return { open: new Set(open), held };
    } catch (error) {
      logger.debug({ shard, error: messageOf(error) }, 'a shard does not list its open collections');
      return undefined;
    }
  }

  #begin(): void {
    for (const kind of ['warm', 'cold'] as const)
      while (this.#running[kind] < CONCURRENT_MOVES[kind] && this.context.leadership.leads) {
        const move = this.#waiting[kind].shift();
        if (move === undefined) break;
        if (!this.#inFlight.has(move.collectionId)) void this.#carryOut(move, kind);
      }
  }

  async #carryOut(move: Move, kind: Kind): Promise<void> {
    const { collectionId, to } = move;
    const { metrics, logger } = this.context;
    this.#inFlight.set(collectionId, to);
    this.#running[kind]++;
    const ended = startMove(metrics, kind);
    try {
      if (kind === 'warm') await this.#warm(move);
      await this.#transfer(move);
      this.#backoffs.delete(collectionId);
      ended('finished');
      logger.info(move, `a collection has moved (${kind})`);
    } catch (error) {
      this.#backOff(collectionId);
      ended('failed');
      logger.warn({ ...move, error: messageOf(error) }, 'a collection has not moved; its owner still serves it');
    } finally {
      this.#inFlight.delete(collectionId);
      this.#running[kind]--;
      this.#begin();
    }
  }

  async #warm(move: Move): Promise<void> {
    const { members, clock } = this.context;
    const { collectionId, to } = move;
    const { followers } = this.#assertMovable(move);
    if (!followers.includes(to) && !(await members.setFollowers(collectionId, [...followers, to]))) throw overtaken();
    const untilMs = clock.monotonicMs() + WARM_MS;
    let failures = 0;
    while (clock.monotonicMs() < untilMs) {
      this.#assertMovable(move);
      try {
        const { ready } = await members.ask(to, { op: 'warm', collectionId }, placementEnvelope(clock, CALL_MS));
        if (ready) return;
        failures = 0;
      } catch (error) {
        if (++failures > WARM_FAILURES_MAX) throw error;
      }
      await delay(RETRY_MS.warmUp);
    }
    throw new Error(`it could not be warmed within ${WARM_MS} ms`);
  }

  async #transfer(move: Move): Promise<void> {
    const { members, clock, logger } = this.context;
    const { collectionId, from, to } = move;
    const owned = this.#assertMovable(move);
    const followers = this.#followersAfter(owned, move);
    const call = { op: 'handOver', collectionId, epoch: owned.epoch, to, followers } as const;
    try {
      await members.ask(from, call, placementEnvelope(clock, TRANSFER_MS));
      await members.ownersCaughtUp();
    } catch (error) {
      // Without an answer, the owner entry says whether the transfer took place.
      await members.ownersCaughtUp();
      if (members.owned().get(collectionId)?.shard !== to) throw error;
    }
    try {
      await members.ask(to, { op: 'adopt', collectionIds: [collectionId] }, placementEnvelope(clock, CALL_MS));
    } catch (error) {
      // The new owner's watch reports it too, a little later.
      logger.debug({ ...move, error: messageOf(error) }, 'the new owner does not confirm that it serves');
    }
  }

  /** The current owner entry. Throws if the move is no longer wanted or possible. */
  #assertMovable({ collectionId, from, to }: Move): Owned {
    const { members, leadership } = this.context;
    const owned = members.owned().get(collectionId);
    if (!leadership.leads) throw new Error('this coordinator is no longer the leader');
    if (owned?.shard !== from) throw overtaken();
    if (members.heartbeat(to)?.leaving !== false) throw new Error(`${to} is leaving`);
    return owned;
  }

  /** The followers after the move. The old owner has the whole collection in memory: it becomes a follower if one is missing. */
  #followersAfter({ followers, collection }: Owned, { from, to }: Move): string[] {
    const others = followers.filter((shard) => shard !== to);
    const stays = this.context.members.heartbeat(from)?.leaving === false;
    return stays && others.length < followersWanted(this.followers, collection) ? [...others, from] : others;
  }

  #backOff(collectionId: number): void {
    const backoffMs = this.#backoffs.get(collectionId)?.nextMs ?? BACKOFF.move.firstMs;
    const untilMs = this.context.clock.monotonicMs() + backoffMs;
    this.#backoffs.set(collectionId, { untilMs, nextMs: nextDelayMs(BACKOFF.move, backoffMs) });
  }
}

const overtaken = (): Error => new Error('another process has changed the owner entry meanwhile');
