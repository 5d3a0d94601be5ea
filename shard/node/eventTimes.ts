/**
 * Reports how far the newest events of this shard's collections are ahead of its clock. Within a collection, event times never
 * decrease. So if a clock was ahead once, new events get the time of the newest event until the clock has reached it.
 */
import type { Clock } from '../../shared/clock.js';
import type { Logger } from '../../shared/logger.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import type { CollectionHandle } from '../collection/collectionHandle.js';

const LOOK_EVERY_MS = 5_000;
/** Lead from which it warns: the clocks of a cluster's machines may differ by this. */
const WARNED_FROM_MS = 5_000;

export class EventTimes {
  readonly #rounds = new PeriodicTask(async () => this.look(), LOOK_EVERY_MS);
  #isWarned = false;

  /** `handles`: the collections that this shard owns. */
  constructor(
    private readonly handles: () => Iterable<CollectionHandle>,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.#rounds.start();
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Seconds by which the open collection that is furthest ahead is ahead of the clock; 0 if none is. */
  get aheadSeconds(): number {
    const nowMs = this.clock.nowMs();
    let furthest = nowMs;
    for (const { openCollection } of this.handles())
      furthest = Math.max(furthest, openCollection?.journal.timeMs ?? nowMs);
    return (furthest - nowMs) / 1000;
  }

  /** Warns once when events are ahead, and logs when they no longer are. */
  look(): void {
    const limitMs = this.clock.nowMs() + WARNED_FROM_MS;
    const ahead = [...this.handles()].filter(({ openCollection }) => (openCollection?.journal.timeMs ?? 0) > limitMs);
    if (ahead.length > 0 && !this.#isWarned)
      this.logger.warn(
        { collections: ahead.length, first: ahead[0]?.config.id, aheadSeconds: Math.round(this.aheadSeconds) },
        'events are ahead of the clock, which was set back or is behind: new ones have the time of the newest until it has caught up',
      );
    if (ahead.length === 0 && this.#isWarned) this.logger.info('no event is ahead of the clock any more');
    this.#isWarned = ahead.length > 0;
  }
}
