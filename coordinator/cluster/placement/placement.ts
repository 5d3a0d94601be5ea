/**
 * Keeps every collection owned by a live shard, spread evenly, and followed as configured. Twice a second the leading
 * coordinator looks, plans (`plan/`, pure) and carries out. Every change of an owner entry names the entry it replaces. So two
 * coordinators that both believe they lead cannot contradict each other.
 *
 * ```text
 * in the catalog, not owned   → to the least loaded shard
 * owner is lost               → to a follower, else to another shard; the old lease has ended, and the log refuses its writes
 * owner leaves, or has more   → moved while it serves (`moves.ts`)
 * too few or many followers   → added or removed
 * ```
 */
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, unavailable } from '../../../shared/errors/errors.js';
import type { CollectionConfig } from '../../../shared/model/collectionConfig.js';
import { mapConcurrent } from '../../../shared/scheduling/mapConcurrent.js';
import { PeriodicTask } from '../../../shared/scheduling/periodicTask.js';
import { RETRY_MS } from '../../../shared/scheduling/retry.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import { NotServed } from '../../../shared/transport/transportErrors.js';
import { RENEW_EVERY_MS } from '../members/leadership.js';
import { type PlacementContext, placementEnvelope } from './context.js';
import { startMove } from './moveMetrics.js';
import type { Moves } from './moves.js';
import type { PlacementViews } from './placementView.js';
import { type FollowersChange, planFollowers } from './plan/followers.js';
import { type Home, planHomes } from './plan/homes.js';
import { planMoves } from './plan/moves.js';

const ROUND_MS = 500;
const CALL_MS = 2_000;
const ADOPTED_WITHIN_MS = 3_000;
/** Owner entries written at a time: a lost shard may have had thousands. */
const CONCURRENT_WRITES = 64;
const ADOPTED_PER_CALL = 512;
/** Largest number of moves that one round plans; the next round plans further ones. */
const MOVES_PER_ROUND = 512;
const FOLLOWERS_PER_ROUND = 256;

export class Placement {
  readonly #rounds = new PeriodicTask(() => this.#round(), ROUND_MS);
  /** A task of its own: a round may take longer than the lease. */
  readonly #renewals = new PeriodicTask(() => this.#renew(), RENEW_EVERY_MS);

  constructor(
    private readonly context: PlacementContext,
    private readonly moves: Moves,
    private readonly views: PlacementViews,
  ) {}

  start(): void {
    this.#renewals.start();
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#renewals.stop();
    this.moves.plan([]);
    await this.context.leadership.release().catch(() => undefined);
  }

  /** Assigns a new collection and waits until its shard serves it. Throws `unavailable` if every shard is leaving. */
  async place(collection: CollectionConfig, envelope: Envelope): Promise<void> {
    const { members, clock } = this.context;
    const shard = members.leastLoaded();
    // The next round places it, as soon as a shard joins.
    if (shard === undefined) throw unavailable('the service has no shard for the collection; retry shortly');
    const owner = await this.#own(collection, shard);
    if (owner === undefined) return;
    const untilMs = clock.monotonicMs() + ADOPTED_WITHIN_MS;
    for (;;) {
      try {
        await members.ask(owner, { op: 'adopt', collectionIds: [collection.id] }, envelope);
        return;
      } catch (error) {
        // A starting shard has a heartbeat a little before it answers calls.
        if (!(error instanceof NotServed) || clock.monotonicMs() >= untilMs) throw error;
        await delay(RETRY_MS.adopt);
      }
    }
  }

  /** Gives the collection an owner, and returns it; undefined if the collection was deleted meanwhile. */
  #own(collection: CollectionConfig, shard: string): Promise<string | undefined> {
    const { members, catalog } = this.context;
    return members.assign(collection, shard, () => catalog.isListed(collection));
  }

  async #renew(): Promise<void> {
    try {
      await this.context.leadership.hold();
    } catch (error) {
      this.context.logger.warn({ error: messageOf(error) }, 'the lease on placement could not be renewed');
    }
  }

  async #round(): Promise<void> {
    const { leadership, logger } = this.context;
    try {
      if (!leadership.leads) {
        this.moves.plan([]);
        return;
      }
      let view = this.views.view();
      const homes = planHomes(view);
      if (homes.length > 0) {
        await this.#assignAll(homes);
        view = this.views.view();
      }
      this.moves.plan(planMoves(view, MOVES_PER_ROUND));
      await this.#setFollowers(planFollowers(view, FOLLOWERS_PER_ROUND));
    } catch (error) {
      logger.warn({ error: messageOf(error) }, 'placement round failed; the next one tries again');
    }
  }

  async #assignAll(homes: readonly Home[]): Promise<void> {
    this.context.logger.info({ collections: homes.length }, 'giving collections without a live owner to other shards');
    const adopted = new Map<string, number[]>();
    await mapConcurrent(homes, CONCURRENT_WRITES, async (home) => {
      const owner = await this.#assign(home);
      if (owner === undefined) return;
      const ids = adopted.get(owner);
      if (ids === undefined) adopted.set(owner, [home.collectionId]);
      else ids.push(home.collectionId);
    });
    for (const [shard, ids] of adopted) void this.#notifyAdopted(shard, ids);
  }

  /** Returns the new owner. A failure must not delay the other collections. */
  async #assign({ collectionId, shard }: Home): Promise<string | undefined> {
    const { catalog, leadership, metrics, logger } = this.context;
    const collection = catalog.byId(collectionId);
    if (collection === undefined || !leadership.leads) return undefined;
    const ended = startMove(metrics, 'failover');
    try {
      const owner = await this.#own(collection, shard);
      ended('finished');
      return owner;
    } catch (error) {
      ended('failed');
      logger.warn({ collectionId, error: messageOf(error) }, 'a collection waits for the next placement round');
      return undefined;
    }
  }

  /** Asks the shard to serve its new collections. Its own watch reports them too, a little later. */
  async #notifyAdopted(shard: string, ids: readonly number[]): Promise<void> {
    const { members, clock, logger } = this.context;
    try {
      for (let from = 0; from < ids.length; from += ADOPTED_PER_CALL) {
        const collectionIds = ids.slice(from, from + ADOPTED_PER_CALL);
        await members.ask(shard, { op: 'adopt', collectionIds }, placementEnvelope(clock, CALL_MS));
      }
    } catch (error) {
      logger.debug({ shard, error: messageOf(error) }, 'a shard does not confirm that it serves its new collections');
    }
  }

  async #setFollowers(changes: readonly FollowersChange[]): Promise<void> {
    const { members, leadership, logger } = this.context;
    await mapConcurrent(changes, CONCURRENT_WRITES, async ({ collectionId, followers }) => {
      if (!leadership.leads || this.moves.inFlight.has(collectionId)) return;
      try {
        await members.setFollowers(collectionId, followers);
      } catch (error) {
        logger.warn({ collectionId, error: messageOf(error) }, 'followers wait for the next placement round');
      }
    });
  }
}
