/**
 * Keeps every collection owned by a live shard, and finishes deletions that were cut short.
 *
 *   in catalog, not owned        → assign to the least loaded shard
 *   in catalog, owner is lost    → assign to another one; the old owner's writes fail at the log, its lease is over
 *   owned, not in catalog        → erase: shard forgets, log, reservation and owner entry go
 */

import type { CollectionConfig } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors.js';
import type { EventLogs } from '../../shared/log/eventLog.js';
import type { Logger } from '../../shared/logger.js';
import type { Reservations } from '../../shared/reservations.js';
import { Rounds } from '../../shared/rounds.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Catalog } from './catalog.js';
import type { Leadership } from './leadership.js';
import type { Members } from './members.js';

const ROUND_MS = 1_000;
const CALL_MS = 2_000;
/** How many of a lost shard's collections move at a time. */
const MOVES_AT_ONCE = 16;
/** A deletion or a creation in progress elsewhere is left alone for this many rounds. */
const ROUNDS_BEFORE_SWEEP = 5;

export class Placement {
  readonly #rounds = new Rounds(() => this.#tend(), ROUND_MS);
  /** Collection id → rounds it was seen owned without a catalog entry. */
  readonly #orphans = new Map<number, number>();

  constructor(
    private readonly catalog: Catalog,
    private readonly members: Members,
    private readonly logs: EventLogs,
    private readonly reservations: Reservations,
    private readonly leadership: Leadership,
    private readonly clock: Clock,
    private readonly reassignMs: number,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.leadership.release().catch(() => undefined);
  }

  /** Assigns and waits until the shard serves it. Throws `unavailable` where no shard lives. */
  async place(collection: CollectionConfig, envelope: Envelope): Promise<void> {
    const shard = this.members.leastLoaded();
    // Without a shard the next round places it, as soon as one joins.
    if (shard === undefined) return;
    const owner = await this.members.assign(collection, shard);
    await this.members.ask(owner, { op: 'adopt', collectionIds: [collection.id] }, envelope);
  }

  /** Everything that is left of a collection whose catalog entry is gone. May be repeated. */
  async erase(collection: CollectionConfig, envelope: Envelope): Promise<void> {
    const owner = this.members.liveOwner(collection.id);
    if (owner !== undefined) await this.members.ask(owner, { op: 'drop', collectionId: collection.id }, envelope);
    await this.logs.remove(collection.id);
    await this.reservations.remove(collection.project, collection.id);
    await this.members.disown(collection.id);
  }

  async #tend(): Promise<void> {
    try {
      if (!(await this.leadership.hold())) return;
      await this.#assignOrphans();
      await this.#sweep();
    } catch (error) {
      this.logger.warn({ error: messageOf(error) }, 'placement round failed; the next one tries again');
    }
  }

  async #assignOrphans(): Promise<void> {
    const homeless: CollectionConfig[] = [];
    for (const collection of this.catalog.all()) {
      const owned = this.members.owned().get(collection.id);
      if (owned === undefined || this.members.isLost(owned.shard, this.reassignMs)) homeless.push(collection);
    }
    if (homeless.length === 0 || this.members.liveShards().size === 0) return;
    this.logger.info({ collections: homeless.length }, 'giving collections without a live owner to other shards');
    for (let i = 0; i < homeless.length && this.leadership.held; i += MOVES_AT_ONCE)
      await Promise.all(
        homeless
          .slice(i, i + MOVES_AT_ONCE)
          .map((one) => this.#attempt(one.id, () => this.place(one, this.#envelope()))),
      );
  }

  async #sweep(): Promise<void> {
    for (const [id, owned] of [...this.members.owned()]) {
      if (this.catalog.hasId(id)) {
        this.#orphans.delete(id);
        continue;
      }
      const rounds = (this.#orphans.get(id) ?? 0) + 1;
      this.#orphans.set(id, rounds);
      if (rounds < ROUNDS_BEFORE_SWEEP || !this.leadership.held) continue;
      await this.#attempt(id, () => this.#eraseOrphan(owned.collection));
    }
  }

  /** Asks the catalog itself: what is erased by mistake is gone. */
  async #eraseOrphan(collection: CollectionConfig): Promise<void> {
    if (!(await this.catalog.isListed(collection))) await this.erase(collection, this.#envelope());
    this.#orphans.delete(collection.id);
  }

  /** What fails for one collection must not keep the others waiting. */
  async #attempt(collectionId: number, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.logger.warn({ collectionId, error: messageOf(error) }, 'a collection waits for the next placement round');
    }
  }

  #envelope(): Envelope {
    return { requestId: 'placement', deadlineMs: this.clock.nowMs() + CALL_MS };
  }
}
