/**
 * Keeps every collection owned by a shard that lives, spread evenly, and followed as it should be. The coordinator that
 * leads goes round again and again: it looks, plans (`plan/`, pure) and carries out. Every change of an owner entry names
 * the entry it follows, so two that both think they lead cannot do what contradicts.
 *
 *   in catalog, not owned        → to the least loaded shard
 *   in catalog, owner is lost    → to a follower, else another shard; the old owner's writes fail at the log, its lease is over
 *   owner leaves, or has more    → moved while it serves (`moves.ts`)
 *   followers too few, too many  → named, or not any more
 *   deleted, and not all erased  → erased (`deletions.ts`)
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { CollectionConfig } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf, unavailable } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { Rounds } from '../../shared/rounds.js';
import { severalAtOnce } from '../../shared/severalAtOnce.js';
import { NobodyServes } from '../../shared/transport/nobodyServes.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Catalog } from './catalog.js';
import type { ClusterMetrics } from './clusterMetrics.js';
import type { Deletions } from './deletions.js';
import { type Leadership, RENEW_EVERY_MS } from './leadership.js';
import type { Members } from './members.js';
import type { Moves } from './moves.js';
import type { PlacementViews } from './placementView.js';
import { type FollowersChange, planFollowers } from './plan/followers.js';
import { type Home, planHomes } from './plan/homes.js';
import { planMoves } from './plan/moves.js';

const ROUND_MS = 500;
const CALL_MS = 2_000;
const ADOPTED_WITHIN_MS = 3_000;
const ADOPT_AGAIN_MS = 20;
/** Entries written at a time, where a lost shard had thousands. */
const WRITES_AT_ONCE = 64;
const ADOPTED_PER_CALL = 512;
/** More are planned anew in the next round. */
const MOVES_PER_ROUND = 512;
const FOLLOWERS_PER_ROUND = 256;

export interface PlacementParts {
  readonly catalog: Catalog;
  readonly members: Members;
  readonly moves: Moves;
  readonly views: PlacementViews;
  readonly deletions: Deletions;
  readonly leadership: Leadership;
  readonly metrics: Pick<ClusterMetrics, 'startMove'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Placement {
  readonly #rounds = new Rounds(() => this.#tend(), ROUND_MS);
  /** Apart: a round may take longer than the lease. */
  readonly #renewals = new Rounds(() => this.#renew(), RENEW_EVERY_MS);

  constructor(private readonly parts: PlacementParts) {}

  start(): void {
    this.#renewals.start();
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#renewals.stop();
    this.parts.moves.plan([]);
    await this.parts.leadership.release().catch(() => undefined);
  }

  /** Assigns a new collection and waits until its shard serves it. Throws `unavailable` where no shard stays. */
  async place(collection: CollectionConfig, envelope: Envelope): Promise<void> {
    const { members } = this.parts;
    const shard = members.leastLoaded();
    // The next round places it, as soon as one joins.
    if (shard === undefined) throw unavailable('no shard is there to hold the collection; retry shortly');
    const owner = await members.assign(collection, shard);
    await this.#adopted(owner, collection.id, envelope);
  }

  /** A shard that starts is known to live a little before it can be asked. */
  async #adopted(shard: string, collectionId: number, envelope: Envelope): Promise<void> {
    const { members, clock } = this.parts;
    const untilMs = clock.monotonicMs() + ADOPTED_WITHIN_MS;
    for (;;) {
      try {
        await members.ask(shard, { op: 'adopt', collectionIds: [collectionId] }, envelope);
        return;
      } catch (error) {
        if (!(error instanceof NobodyServes) || clock.monotonicMs() >= untilMs) throw error;
        await delay(ADOPT_AGAIN_MS);
      }
    }
  }

  async #renew(): Promise<void> {
    try {
      await this.parts.leadership.hold();
    } catch (error) {
      this.parts.logger.warn({ error: messageOf(error) }, 'the lease on placement could not be renewed');
    }
  }

  async #tend(): Promise<void> {
    const { views, moves, deletions, leadership, logger } = this.parts;
    try {
      if (!leadership.held) {
        moves.plan([]);
        return;
      }
      let view = views.view();
      const homes = planHomes(view);
      if (homes.length > 0) {
        await this.#giveHomes(homes);
        view = views.view();
      }
      moves.plan(planMoves(view, MOVES_PER_ROUND));
      await this.#setFollowers(planFollowers(view, FOLLOWERS_PER_ROUND));
      await deletions.sweep(() => leadership.held);
    } catch (error) {
      logger.warn({ error: messageOf(error) }, 'placement round failed; the next one tries again');
    }
  }

  async #giveHomes(homes: readonly Home[]): Promise<void> {
    if (homes.length === 0) return;
    const { logger } = this.parts;
    logger.info({ collections: homes.length }, 'giving collections without a live owner to other shards');
    const adopted = new Map<string, number[]>();
    await severalAtOnce(homes, WRITES_AT_ONCE, async (home) => {
      const owner = await this.#giveHome(home);
      if (owner === undefined) return;
      const ids = adopted.get(owner);
      if (ids === undefined) adopted.set(owner, [home.collectionId]);
      else ids.push(home.collectionId);
    });
    for (const [shard, ids] of adopted) void this.#tellAdopted(shard, ids);
  }

  /** Returns who owns it now. What fails for one collection must not keep the others waiting. */
  async #giveHome({ collectionId, shard }: Home): Promise<string | undefined> {
    const { catalog, members, leadership, metrics, logger } = this.parts;
    const collection = catalog.byId(collectionId);
    if (collection === undefined || !leadership.held) return undefined;
    const ended = metrics.startMove('failover');
    try {
      const owner = await members.assign(collection, shard);
      ended('finished');
      return owner;
    } catch (error) {
      ended('failed');
      logger.warn({ collectionId, error: messageOf(error) }, 'a collection waits for the next placement round');
      return undefined;
    }
  }

  /** The shard's own watch tells it too; this is sooner, and nobody waits for it. */
  async #tellAdopted(shard: string, ids: readonly number[]): Promise<void> {
    const { members, logger } = this.parts;
    try {
      for (let from = 0; from < ids.length; from += ADOPTED_PER_CALL) {
        const collectionIds = ids.slice(from, from + ADOPTED_PER_CALL);
        await members.ask(shard, { op: 'adopt', collectionIds }, this.#within(CALL_MS));
      }
    } catch (error) {
      logger.debug({ shard, error: messageOf(error) }, 'a shard does not say that it serves what it was given');
    }
  }

  async #setFollowers(changes: readonly FollowersChange[]): Promise<void> {
    const { members, moves, leadership, logger } = this.parts;
    await severalAtOnce(changes, WRITES_AT_ONCE, async ({ collectionId, followers }) => {
      if (!leadership.held || moves.underWay.has(collectionId)) return;
      try {
        await members.setFollowers(collectionId, followers);
      } catch (error) {
        logger.warn({ collectionId, error: messageOf(error) }, 'followers wait for the next placement round');
      }
    });
  }

  #within(ms: number): Envelope {
    return { requestId: 'placement', deadlineMs: this.parts.clock.nowMs() + ms };
  }
}
