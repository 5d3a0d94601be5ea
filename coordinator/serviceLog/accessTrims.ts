/**
 * Removes old entries of access logs, on the placement leader, about once an hour. It removes only entries that a published
 * checkpoint of the service log covers, so that the others can be checked.
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import { accessDayMs } from '../../shared/model/accessDay.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import type { LogSources } from '../cluster/reports/logSources.js';
import type { AccessHeadEntry } from './entry.js';

const LOOK_EVERY_MS = 1_000;
/** Once an hour. */
const TRIMS_A_DAY = 24;
const AT_ONCE = 4;

interface TrimOptions {
  readonly sources: Pick<LogSources, 'leads' | 'withRetention' | 'trimAccess'>;
  /** The newest published state of the collection's access log; undefined before the first one. */
  readonly covered: (collectionId: number) => Promise<AccessHeadEntry | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class AccessTrims {
  readonly #looks = new PeriodicTask(() => this.#look(), LOOK_EVERY_MS);
  /** When this leader trims next; undefined while another one leads. */
  #nextMs: number | undefined;

  constructor(private readonly options: TrimOptions) {}

  start(): void {
    this.#looks.start();
  }

  stop(): Promise<void> {
    return this.#looks.stop();
  }

  /** Looks now whether it is time; resolves when that is done. */
  lookNow(): Promise<void> {
    return this.#looks.now();
  }

  async #look(): Promise<void> {
    const { sources, clock } = this.options;
    if (!sources.leads) this.#nextMs = undefined;
    else if ((this.#nextMs ?? 0) <= clock.monotonicMs()) {
      this.#nextMs = clock.monotonicMs() + accessDayMs() / TRIMS_A_DAY;
      await mapConcurrent(sources.withRetention(), AT_ONCE, (id) => this.#trim(id));
    }
  }

  async #trim(collectionId: number): Promise<void> {
    const { sources, covered, logger } = this.options;
    try {
      const head = await covered(collectionId);
      const removed = head === undefined ? 0 : await sources.trimAccess(collectionId, head);
      if (removed > 0) logger.info({ collectionId, removed }, 'old entries of an access log were removed');
    } catch (error) {
      logger.warn({ collectionId, error: messageOf(error) }, 'old entries of an access log stay for now');
    }
  }
}
