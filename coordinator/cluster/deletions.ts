/**
 * What is left of a collection that was deleted: erased at once, or by the leader where that was cut short. A collection that
 * the catalog does not list is not deleted for that: only what is marked is (`deletionMarks.ts`), and the others are told.
 *
 *   listed ──marked──▶ unlisted ──▶ erased: log, note of its end, reservation, owner ──▶ unmarked
 *      ▲                  │
 *      └──still listed────┘ the deletion was cut short before its first step, and was never answered: unmarked
 */
import type { Bucket } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors.js';
import type { EventLogs } from '../../shared/log/eventLog.js';
import type { Logger } from '../../shared/logger.js';
import { reachedKey } from '../../shared/reached.js';
import type { Reservations } from '../../shared/reservations.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Catalog } from './catalog.js';
import type { Deleted, DeletionMarks } from './deletionMarks.js';
import type { Members } from './members.js';

const CALL_MS = 2_000;
/** A deletion or a creation in progress elsewhere is left alone for so long. */
const SWEPT_AFTER_MS = 5_000;
/** A server that was deposed may go on listing for a while what was deleted. */
const UNMARKED_AFTER_MS = 60_000;

export interface DeletionParts {
  readonly catalog: Catalog;
  readonly members: Members;
  readonly marks: DeletionMarks;
  readonly logs: EventLogs;
  readonly reservations: Reservations;
  /** BUCKETS.reached. */
  readonly reached: Bucket;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Deletions {
  /** Since when a collection is seen marked, or owned without a catalog entry. */
  readonly #seenMs = new Map<number, number>();
  /** Those that nobody deleted, of which the log has been told. */
  readonly #unlisted = new Set<number>();

  constructor(private readonly parts: DeletionParts) {}

  /** The shards forget it, and nothing is left of it when this resolves. May be repeated. */
  async erase({ id, project }: Deleted, envelope: Envelope): Promise<void> {
    const { members, logs, reached, reservations, marks } = this.parts;
    await members.reread(id);
    const owned = members.owned().get(id);
    const holders = owned === undefined ? [] : [owned.shard, ...owned.followers];
    const live = holders.filter((shard) => members.heartbeat(shard) !== undefined);
    await Promise.all(live.map((shard) => members.ask(shard, { op: 'drop', collectionId: id }, envelope)));
    await logs.remove(id);
    await reached.delete(reachedKey(id));
    await reservations.remove(project, id);
    await members.disown(id);
    await marks.clear(id);
  }

  /** One round of looking for what was left; `isLeading` is asked before each deletion. */
  async sweep(isLeading: () => boolean): Promise<void> {
    const marked = this.parts.marks.all();
    const unlisted = this.unlisted();
    this.#forgetBut(new Set([...marked, ...unlisted].map(({ id }) => id)));
    for (const deleted of marked)
      if (this.#seenForMs(deleted.id) >= SWEPT_AFTER_MS && isLeading()) await this.#finish(deleted);
    for (const collection of unlisted)
      if (this.#seenForMs(collection.id) >= SWEPT_AFTER_MS) await this.#tell(collection);
  }

  /** What has an owner, is not in the catalog, and was not deleted: as far as this process was told. */
  unlisted(): Deleted[] {
    const { catalog, members, marks } = this.parts;
    const owned = [...members.owned().values()].map(({ collection }) => collection);
    return owned.filter(({ id }) => !catalog.hasId(id) && !marks.has(id));
  }

  /** Asks the catalog itself: what is erased by mistake is gone. What fails for one must not keep the others waiting. */
  async #finish(deleted: Deleted): Promise<void> {
    const { catalog, marks, clock, logger } = this.parts;
    const { id } = deleted;
    try {
      if (catalog.hasId(id)) {
        if (this.#seenForMs(id) >= UNMARKED_AFTER_MS && (await catalog.isListed(deleted))) await marks.clear(id);
      } else if (await catalog.isGone(deleted))
        await this.erase(deleted, { requestId: 'placement', deadlineMs: clock.nowMs() + CALL_MS });
    } catch (error) {
      logger.warn(
        { collectionId: id, error: messageOf(error) },
        'a deleted collection waits for the next placement round',
      );
    }
  }

  async #tell(collection: Deleted): Promise<void> {
    const { id: collectionId, project, name } = collection;
    if (this.#unlisted.has(collectionId) || (await this.parts.catalog.isListed(collection))) return;
    this.#unlisted.add(collectionId);
    this.parts.logger.error(
      { collectionId, project, name },
      'the catalog does not list a collection that nobody deleted; its log is kept: put the entry of the catalog back',
    );
  }

  /** For how long that was so. */
  #seenForMs(id: number): number {
    const nowMs = this.parts.clock.monotonicMs();
    const sinceMs = this.#seenMs.get(id) ?? nowMs;
    this.#seenMs.set(id, sinceMs);
    return nowMs - sinceMs;
  }

  #forgetBut(ids: ReadonlySet<number>): void {
    for (const id of this.#seenMs.keys()) if (!ids.has(id)) this.#seenMs.delete(id);
    for (const id of this.#unlisted) if (!ids.has(id)) this.#unlisted.delete(id);
  }
}
