/**
 * Carries moves out while the collections are in use:
 *
 *   planned ──open at its owner──▶ followed by the new owner ──▶ warmed ──▶ handed over ──▶ served
 *      └──not open: there is nothing to warm────────────────────────────────────┘
 *
 * Any step may fail or be cut short, by the end of this leadership too. Until the owner itself has named its successor
 * the owner serves, and what a move leaves behind is a follower too many, which placement takes back. A second leader
 * does no harm: each change of the owner entry names the one it follows.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { ClusterMetrics, MoveKind } from './clusterMetrics.js';
import type { Leadership } from './leadership.js';
import type { Members, Owned } from './members.js';
import type { Move } from './plan/moves.js';

/** How many are moved at a time: warming reads a whole log and fills memory. */
const AT_ONCE: Readonly<Record<Kind, number>> = { warm: 4, cold: 16 };
const CALL_MS = 2_000;
/** The commit under way is finished first. */
const HAND_OVER_MS = 5_000;
const WARM_MS = 300_000;
const WARM_AGAIN_MS = 50;
/** Questions in a row that may fail: the new owner may not have been told of its part yet. */
const WARM_FAILURES_MAX = 10;
/** What would not move is left alone for a while, longer each time. */
const REST_MIN_MS = 2_000;
const REST_MAX_MS = 60_000;

type Kind = Exclude<MoveKind, 'failover'>;

interface Rest {
  readonly untilMs: number;
  readonly nextMs: number;
}

interface OpenAt {
  readonly open: ReadonlySet<number>;
  readonly held: ReadonlySet<number>;
}

export interface MovesParts {
  readonly members: Members;
  readonly leadership: Pick<Leadership, 'held'>;
  /** How many followers a collection should have. */
  readonly followersWanted: (collection: Owned['collection']) => number;
  readonly metrics: Pick<ClusterMetrics, 'startMove'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Moves {
  /** Collection → where it goes. */
  readonly #underWay = new Map<number, string>();
  readonly #atWork: Record<Kind, number> = { warm: 0, cold: 0 };
  readonly #rests = new Map<number, Rest>();
  #waiting: Record<Kind, Move[]> = { warm: [], cold: [] };
  #sorting = false;

  constructor(private readonly parts: MovesParts) {}

  get underWay(): ReadonlyMap<number, string> {
    return this.#underWay;
  }

  /** It would not move a moment ago. */
  isResting(collectionId: number): boolean {
    const rest = this.#rests.get(collectionId);
    return rest !== undefined && this.parts.clock.monotonicMs() < rest.untilMs;
  }

  /** These instead of those that have not begun. Returns at once. */
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
   * What is open at its owner would be missed while another shard opens it. What is held there comes last, or is planned
   * again. The new owner is asked too: nothing goes to one that died a moment ago, and whose heartbeat nobody misses yet.
   */
  async #sort(moves: readonly Move[]): Promise<void> {
    const shards = [...new Set(moves.flatMap(({ from, to }) => [from, to]))];
    const open = new Map(await Promise.all(shards.map(async (shard) => [shard, await this.#openAt(shard)] as const)));
    const held: Move[] = [];
    for (const move of moves) {
      const from = open.get(move.from);
      if (from === undefined || open.get(move.to) === undefined) continue;
      if (from.held.has(move.collectionId)) held.push(move);
      else this.#waiting[from.open.has(move.collectionId) ? 'warm' : 'cold'].push(move);
    }
    // Its owner hands it over once that has ended, and has no time to lose where it leaves.
    this.#waiting.warm.push(...held.filter(({ from }) => this.parts.members.heartbeat(from)?.leaving));
  }

  /** Undefined where the shard does not say. */
  async #openAt(shard: string): Promise<OpenAt | undefined> {
    try {
      const { open, held } = await this.parts.members.ask(shard, { op: 'openIds' }, this.#within(CALL_MS));
      return { open: new Set(open), held: new Set(held) };
    } catch (error) {
      this.parts.logger.debug({ shard, error: messageOf(error) }, 'a shard does not say what it has open');
      return undefined;
    }
  }

  #begin(): void {
    for (const kind of ['warm', 'cold'] as const)
      while (this.#atWork[kind] < AT_ONCE[kind] && this.parts.leadership.held) {
        const move = this.#waiting[kind].shift();
        if (move === undefined) break;
        if (!this.#underWay.has(move.collectionId)) void this.#carryOut(move, kind);
      }
  }

  async #carryOut(move: Move, kind: Kind): Promise<void> {
    const { collectionId, to } = move;
    const { metrics, logger } = this.parts;
    this.#underWay.set(collectionId, to);
    this.#atWork[kind]++;
    const ended = metrics.startMove(kind);
    try {
      if (kind === 'warm') await this.#warm(move);
      await this.#handOver(move);
      this.#rests.delete(collectionId);
      ended('finished');
      logger.info(move, `a collection has moved (${kind})`);
    } catch (error) {
      this.#rest(collectionId);
      ended('failed');
      logger.warn({ ...move, error: messageOf(error) }, 'a collection has not moved; it is served where it was');
    } finally {
      this.#underWay.delete(collectionId);
      this.#atWork[kind]--;
      this.#begin();
    }
  }

  async #warm(move: Move): Promise<void> {
    const { members, clock } = this.parts;
    const { collectionId, to } = move;
    const { followers } = this.#ownedBefore(move);
    if (!followers.includes(to) && !(await members.setFollowers(collectionId, [...followers, to]))) throw overtaken();
    const untilMs = clock.monotonicMs() + WARM_MS;
    let failures = 0;
    while (clock.monotonicMs() < untilMs) {
      this.#ownedBefore(move);
      try {
        const { ready } = await members.ask(to, { op: 'warm', collectionId }, this.#within(CALL_MS));
        if (ready) return;
        failures = 0;
      } catch (error) {
        if (++failures > WARM_FAILURES_MAX) throw error;
      }
      await delay(WARM_AGAIN_MS);
    }
    throw new Error(`it could not be warmed within ${WARM_MS} ms`);
  }

  async #handOver(move: Move): Promise<void> {
    const { members, logger } = this.parts;
    const { collectionId, from, to } = move;
    const owned = this.#ownedBefore(move);
    const { epoch } = owned;
    const followers = this.#followersAfter(owned, move);
    const envelope = this.#within(HAND_OVER_MS);
    try {
      await members.ask(from, { op: 'handOver', collectionId, epoch, to, followers }, envelope);
      await members.reread(collectionId);
    } catch (error) {
      // Whatever became of the question, the entry knows.
      await members.reread(collectionId);
      if (members.owned().get(collectionId)?.shard !== to) throw error;
    }
    try {
      await members.ask(to, { op: 'adopt', collectionIds: [collectionId] }, this.#within(CALL_MS));
    } catch (error) {
      // It is told by its watch too; this is only sooner.
      logger.debug({ ...move, error: messageOf(error) }, 'the new owner does not say that it serves');
    }
  }

  /** Throws where the move has lost its ground. */
  #ownedBefore({ collectionId, from, to }: Move): Owned {
    const { members, leadership } = this.parts;
    const owned = members.owned().get(collectionId);
    if (!leadership.held) throw new Error('this coordinator leads no longer');
    if (owned?.shard !== from) throw overtaken();
    if (members.heartbeat(to)?.leaving !== false) throw new Error(`${to} does not stay`);
    return owned;
  }

  /** The old owner has all there is: where one is wanting, it follows. */
  #followersAfter({ followers, collection }: Owned, { from, to }: Move): string[] {
    const others = followers.filter((shard) => shard !== to);
    const stays = this.parts.members.heartbeat(from)?.leaving === false;
    return stays && others.length < this.parts.followersWanted(collection) ? [...others, from] : others;
  }

  #rest(collectionId: number): void {
    const restMs = this.#rests.get(collectionId)?.nextMs ?? REST_MIN_MS;
    const untilMs = this.parts.clock.monotonicMs() + restMs;
    this.#rests.set(collectionId, { untilMs, nextMs: Math.min(2 * restMs, REST_MAX_MS) });
  }

  #within(ms: number): Envelope {
    return { requestId: 'placement', deadlineMs: this.parts.clock.nowMs() + ms };
  }
}

const overtaken = (): Error => new Error('its owner entry was changed by somebody else meanwhile');
