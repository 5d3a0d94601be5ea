/**
 * The watch over the logs of this shard's collections, which detects a loss even without writes. A log that may have lost frames
 * is in doubt, and is read. A loss quarantines the collection.
 */
import { messageOf, VouchError } from '../../shared/errors/errors.js';
import type { LogLosses } from '../../shared/log/eventLog.js';
import type { Logger } from '../../shared/logger.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import type { Lease } from '../answering/lease.js';
import type { CollectionHandle } from '../collection/collectionHandle.js';

const EVERY_MS = 5_000;
/** Largest number of logs read in one round, and of those at a time. A stale replica makes each read long. */
const READ_MAX = 256;
const AT_ONCE = 64;

export class LogWatch {
  readonly #rounds = new PeriodicTask(() => this.round(), EVERY_MS);
  /** Collections with a log in doubt, and the evidence of the loss, if there is any. */
  readonly #doubts = new Map<number, string | undefined>();

  /** `handles`: the collections that this shard owns. */
  constructor(
    private readonly losses: LogLosses,
    private readonly handles: () => Iterable<CollectionHandle>,
    private readonly lease: Lease,
    private readonly logger: Logger,
  ) {}

  /** Begins with a round at once: losses are found by comparison with an earlier round. */
  start(): void {
    void this.#rounds.now();
    this.#rounds.start();
  }

  /** Begins no further round. Does not wait for running reads, which end with their collections or with the platform. */
  stop(): void {
    void this.#rounds.stop();
  }

  /** Looks for losses, and reads logs in doubt. */
  async round(): Promise<void> {
    // Without the lease another shard may own the collections.
    if (!this.lease.valid) return;
    const handles = new Map([...this.handles()].filter((one) => !one.quarantined).map((one) => [one.config.id, one]));
    const watched = [...handles].map(([collectionId, { openCollection }]) => ({
      collectionId,
      frames: openCollection?.journal.history.frames ?? 0,
      added: () => openCollection?.journal.added ?? 0,
    }));
    try {
      for (const { collectionId, loss } of await this.losses.look(watched)) this.#doubts.set(collectionId, loss);
    } catch (error) {
      this.logger.warn({ error: messageOf(error) }, 'the logs could not be checked for losses; this is retried');
    }
    await mapConcurrent([...this.#doubts].slice(0, READ_MAX), AT_ONCE, ([id, loss]) =>
      this.#check(id, loss, handles.get(id)),
    );
  }

  /** Reads a log in doubt. Without success the log stays in doubt. The handle logs a quarantine. */
  async #check(collectionId: number, loss: string | undefined, handle: CollectionHandle | undefined): Promise<void> {
    try {
      await handle?.assertStored(loss);
      this.#doubts.delete(collectionId);
    } catch (error) {
      if (error instanceof VouchError && error.code === 'internal_error') this.#doubts.delete(collectionId);
      else
        this.logger.warn(
          { collectionId, error: messageOf(error) },
          'a log in doubt could not be read; this is retried',
        );
    }
  }
}
