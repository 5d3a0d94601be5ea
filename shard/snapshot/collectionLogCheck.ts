/**
 * The log that a collection's snapshot stands for was not read when it was opened. It is now, in the background and at
 * leisure, so that damage there is found although nobody asks for it.
 *
 *   waits ──its turn──▶ is read ──▶ whole
 *     ▲                  │    └──▶ damaged: told, and that is all
 *     └──after a while───┘ could not be read
 */
import { messageOf } from '../../shared/errors.js';
import { Damaged } from '../collection/damaged.js';
import { LOG_BEGIN, type LogPlace } from '../past/checkLog.js';
import type { SnapshotServices } from './snapshotServices.js';

/** A log that ends too early, as often as this and with nothing read in between, has lost its end. */
const ENDS_EARLY_MAX = 3;

/** As `PastThread.check`. */
export type CheckLog = (from: LogPlace, upTo: LogPlace, onReached: (reached: LogPlace) => void) => Promise<boolean>;

export class CollectionLogCheck {
  #reached = LOG_BEGIN;
  #endedEarly = 0;
  #checking: Promise<void> | undefined;
  #waiting: NodeJS.Timeout | undefined;
  #closed = false;

  /** `upTo`: where the snapshot stands. `onDamage` is called once, at most, and not after `stop`. */
  constructor(
    private readonly collectionId: number,
    private readonly services: SnapshotServices,
    private readonly upTo: LogPlace,
    private readonly check: CheckLog,
    private readonly onDamage: (damage: Damaged) => void,
  ) {
    services.unchecked.add(collectionId);
    this.#takeTurn();
  }

  /** Nothing is told of it any more, and it is not begun again. */
  stop(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#waiting);
    this.services.unchecked.delete(this.collectionId);
  }

  /** Resolves when it does not go on; what reads has been told to end. One that waits for its turn is not waited for. */
  async close(): Promise<void> {
    this.stop();
    await this.#checking;
  }

  #takeTurn(): void {
    void this.services.checkTurns.take(async () => {
      if (this.#closed) return;
      this.#checking = this.#checkNow();
      await this.#checking;
    });
  }

  async #checkNow(): Promise<void> {
    const { clock, logger, metrics } = this.services;
    const about = { collection: this.collectionId, logBytes: this.upTo.end.logBytes };
    const startedMs = clock.monotonicMs();
    logger.info({ ...about, checkedBytes: this.#reached.end.logBytes }, 'checking the log before the snapshot');
    try {
      const isWhole = await this.check(this.#reached, this.upTo, (reached) => this.#advance(reached));
      if (this.#closed) return;
      if (!isWhole) throw this.#endsEarly();
      const seconds = (clock.monotonicMs() - startedMs) / 1000;
      logger.info({ ...about, seconds }, 'the log before the snapshot is whole');
      this.stop();
    } catch (error) {
      if (this.#closed) return;
      const isDamaged = error instanceof Damaged;
      metrics.checkFailed(isDamaged ? 'damaged' : 'unreadable');
      if (isDamaged) {
        this.stop();
        this.onDamage(error);
        return;
      }
      logger.warn(
        { ...about, error: messageOf(error) },
        'the log before the snapshot could not be read; it is tried again later',
      );
      this.#waiting = setTimeout(() => this.#takeTurn(), this.services.checkAgainMs).unref();
    }
  }

  #advance(reached: LogPlace): void {
    this.services.metrics.checked(reached.end.logBytes - this.#reached.end.logBytes);
    this.#reached = reached;
    this.#endedEarly = 0;
  }

  /** Once may be a replica that lags, or the owner's own connection; what was there cannot be gone for ever. */
  #endsEarly(): Error {
    const last = this.upTo.end.nextSequence - 1;
    const reason = `it ends before event ${last}, which was there when the snapshot was made`;
    return ++this.#endedEarly >= ENDS_EARLY_MAX ? new Damaged(reason) : new Error(reason);
  }
}
