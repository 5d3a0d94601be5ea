/**
 * Changes the settings of access logs. Those in the log of a collection count; coordinators read a copy in the catalog. A change
 * that fails between its two steps leaves the copy stale. The next list that shows the collection updates it. After a creation that
 * fails there the copy stays, so that the same creation can be repeated.
 */
import type { Clock } from '../../../shared/clock.js';
import type { AccessChange, AccessSettings } from '../../../shared/model/readAudit.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import type { Catalog } from './catalog.js';
import type { Collection, CountedCollection } from './collection.js';

/** Time for an update of the catalog in the background. */
const SETTLE_MS = 10_000;

type Access = Pick<Collection, 'auditReads' | 'accessRetentionDays'>;

/** Changes the log, and resolves to its settings. */
type ChangeLog = (collection: Collection, change: AccessChange, envelope: Envelope) => Promise<AccessSettings>;

export class AccessChanges {
  /** The ids of the collections that this process is changing. */
  readonly #changing = new Set<number>();

  constructor(
    private readonly catalog: Pick<Catalog, 'setAccess'>,
    private readonly changeLog: ChangeLog,
    private readonly clock: Clock,
  ) {}

  /** Resolves to the changed collection. Throws `collection_not_found` if it was deleted, also if another one has its name. */
  async change(collection: Collection, change: AccessChange, envelope: Envelope): Promise<Collection> {
    this.#changing.add(collection.id);
    try {
      // Coordinators keep requests from before the first entry until after the last.
      const isOn = change.audit !== undefined && change.audit !== 'off';
      if (isOn) await this.catalog.setAccess(collection, { audit: change.audit });
      return await this.complete(collection, change, envelope);
    } finally {
      this.#changing.delete(collection.id);
    }
  }

  /** Changes the log, and then the catalog. After concurrent changes, also of other coordinators, the catalog has what the log has. */
  async complete(collection: Collection, change: AccessChange, envelope: Envelope): Promise<Collection> {
    let logged = await this.changeLog(collection, change, envelope);
    for (;;) {
      const { audit, retentionDays } = logged;
      const changed = await this.catalog.setAccess(collection, { audit, retentionDays });
      logged = await this.changeLog(collection, {}, envelope);
      if (logged.audit === audit && logged.retentionDays === retentionDays) return changed;
    }
  }

  /** Updates the catalog, in the background, where it differs from what shards have reported. After a failure the next list repeats it. */
  settle(listed: readonly Collection[], counted: readonly CountedCollection[]): void {
    for (const [i, collection] of listed.entries())
      if (!collection.accessAsked && !isSameAccess(collection, counted[i]!) && !this.#changing.has(collection.id))
        void this.#settle(collection);
  }

  async #settle(collection: Collection): Promise<void> {
    const envelope = { requestId: `access-${collection.id}`, deadlineMs: this.clock.nowMs() + SETTLE_MS };
    await this.change(collection, {}, envelope).catch(() => undefined);
  }
}

const isSameAccess = (a: Access, b: Access): boolean =>
  a.auditReads === b.auditReads && a.accessRetentionDays === b.accessRetentionDays;
