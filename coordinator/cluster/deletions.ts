/** What is left of a collection whose catalog entry is gone: erased at once, or by the leader where that was cut short. */
import type { CollectionConfig } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors.js';
import type { EventLogs } from '../../shared/log/eventLog.js';
import type { Logger } from '../../shared/logger.js';
import type { Reservations } from '../../shared/reservations.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Catalog } from './catalog.js';
import type { Members } from './members.js';

const CALL_MS = 2_000;
/** A deletion or a creation in progress elsewhere is left alone for so long. */
const SWEPT_AFTER_MS = 5_000;

export class Deletions {
  /** Collection → since when it is seen owned without a catalog entry. */
  readonly #orphans = new Map<number, number>();

  constructor(
    private readonly catalog: Catalog,
    private readonly members: Members,
    private readonly logs: EventLogs,
    private readonly reservations: Reservations,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /** The shards forget it, and log, reservation and owner entry go. May be repeated. */
  async erase(collection: CollectionConfig, envelope: Envelope): Promise<void> {
    await this.members.reread(collection.id);
    const owned = this.members.owned().get(collection.id);
    const holders = owned === undefined ? [] : [owned.shard, ...owned.followers];
    const live = holders.filter((shard) => this.members.heartbeat(shard) !== undefined);
    await Promise.all(
      live.map((shard) => this.members.ask(shard, { op: 'drop', collectionId: collection.id }, envelope)),
    );
    await this.logs.remove(collection.id);
    await this.reservations.remove(collection.project, collection.id);
    await this.members.disown(collection.id);
  }

  /** One round of looking for what was left; `isLeading` is asked before each deletion. */
  async sweep(isLeading: () => boolean): Promise<void> {
    const nowMs = this.clock.monotonicMs();
    for (const [id, { collection }] of this.members.owned()) {
      if (this.catalog.hasId(id)) {
        this.#orphans.delete(id);
        continue;
      }
      const sinceMs = this.#orphans.get(id) ?? nowMs;
      this.#orphans.set(id, sinceMs);
      if (nowMs - sinceMs >= SWEPT_AFTER_MS && isLeading()) await this.#eraseOrphan(collection);
    }
  }

  /** Asks the catalog itself: what is erased by mistake is gone. What fails for one must not keep the others waiting. */
  async #eraseOrphan(collection: CollectionConfig): Promise<void> {
    try {
      if (await this.catalog.isGone(collection))
        await this.erase(collection, { requestId: 'placement', deadlineMs: this.clock.nowMs() + CALL_MS });
      this.#orphans.delete(collection.id);
    } catch (error) {
      this.logger.warn(
        { collectionId: collection.id, error: messageOf(error) },
        'a deleted collection waits for the next placement round',
      );
    }
  }
}
