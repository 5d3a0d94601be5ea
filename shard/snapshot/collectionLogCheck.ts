/**
 * The background check of the log before a collection's snapshot. Opening the collection did not read that part, so the
 * check finds damage that no request would meet.
 *
 * ```text
 * Waits ──its turn──▶ is read ──▶ whole.
 *   ▲                  │    └──▶ damaged: reported once.
 *   └──after a while───┘ could not be read
 * ```
 */
import { messageOf } from '../../shared/errors/errors.js';
import { Damaged } from '../../shared/log/damaged.js';
import type { WorkOf } from '../../shared/scheduling/fairSemaphore.js';
import { LOG_BEGIN, type LogPlace } from './checkLog.js';
import type { SnapshotServices } from './snapshotServices.js';

/** A log that ends too early this often, with no progress in between, has lost its end. */
const ENDS_EARLY_MAX = 3;

/** Signature of `CollectionAsOf.check`. */
export type CheckLog = (from: LogPlace, upTo: LogPlace, onReached: (reached: LogPlace) => void) => Promise<boolean>;

export interface CheckedLog {
  /** The end of the snapshot. */
  readonly upTo: LogPlace;
  readonly check: CheckLog;
  /** Called at most once, and not after `stop`. */
  onDamage(damage: Damaged): void;
}

export class CollectionLogCheck {
  #reached = LOG_BEGIN;
  #endedEarly = 0;
  #checking: Promise<void> | undefined;
  #waiting: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    private readonly collection: WorkOf,
    private readonly services: SnapshotServices,
    private readonly checked: CheckedLog,
  ) {
    services.unchecked.add(collection.id);
    this.#takeTurn();
  }

  /** Stops reports and further tries. */
  stop(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#waiting);
    this.services.unchecked.delete(this.collection.id);
  }

  /** Resolves when the check has ended. The caller must end its reading. Does not wait for its turn. */
  async close(): Promise<void> {
    this.stop();
    await this.#checking;
  }

  #takeTurn(): void {
    void this.services.checkTurns.run(this.collection, async () => {
      if (this.#closed) return;
      this.#checking = this.#checkNow();
      await this.#checking;
    });
  }

  async #checkNow(): Promise<void> {
    const { clock, logger, metrics } = this.services;
    const about = { collection: this.collection.id, logBytes: this.checked.upTo.end.logBytes };
    const startedMs = clock.monotonicMs();
    logger.info({ ...about, checkedBytes: this.#reached.end.logBytes }, 'checking the log before the snapshot');
    try {
      const isWhole = await this.checked.check(this.#reached, this.checked.upTo, (reached) => this.#advance(reached));
      if (this.#closed) return;
      if (!isWhole) throw this.#endsEarly();
      const seconds = (clock.monotonicMs() - startedMs) / 1000;
      logger.info({ ...about, seconds }, 'the log before the snapshot is whole');
      this.stop();
    } catch (error) {
      if (this.#closed) return;
      const isDamaged = error instanceof Damaged;
      metrics.count('vouch_log_check_failures_total', { reason: isDamaged ? 'damaged' : 'unreadable' });
      if (isDamaged) {
        this.stop();
        this.checked.onDamage(error);
        return;
      }
      logger.warn(
        { ...about, error: messageOf(error) },
        'the log before the snapshot could not be read; it is retried',
      );
      this.#waiting = setTimeout(() => this.#takeTurn(), this.services.checkAgainMs).unref();
    }
  }

  #advance(reached: LogPlace): void {
    this.services.metrics.count('vouch_log_checked_bytes_total', reached.end.logBytes - this.#reached.end.logBytes);
    this.#reached = reached;
    this.#endedEarly = 0;
  }

  /** A stale replica or the owner's connection may cause this once. Events that were stored do not stay away. */
  #endsEarly(): Error {
    const last = this.checked.upTo.end.nextSequence - 1;
    const reason = `it ends before event ${last}, which the snapshot has`;
    return ++this.#endedEarly >= ENDS_EARLY_MAX ? new Damaged(reason) : new Error(reason);
  }
}
