/** What a shard measures of searches of the past. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** From a log of a few hundred events to one of millions. */
const REBUILD_SECONDS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class PastMetrics {
  readonly #searches: Counter<'from'>;
  readonly #rebuilds: Histogram<'outcome'>;

  constructor(private readonly registry: Registry) {
    this.#searches = new Counter({
      name: 'vouch_past_searches_total',
      help: 'Searches of past states, by where the state was found: it is the current one, was kept, or was rebuilt.',
      labelNames: ['from'] as const,
      registers: [registry],
    });
    this.#rebuilds = new Histogram({
      name: 'vouch_past_rebuild_seconds',
      help: 'Time to rebuild a past state from the log.',
      labelNames: ['outcome'] as const,
      buckets: REBUILD_SECONDS,
      registers: [registry],
    });
  }

  /** `keptBytes` is read when the metrics are. */
  observe(keptBytes: () => number): void {
    new Gauge({
      name: 'vouch_past_bytes',
      help: 'Memory, as estimated, of the past states that are kept.',
      registers: [this.registry],
      collect() {
        this.set(keptBytes());
      },
    });
  }

  searched(from: 'current' | 'kept' | 'rebuilt'): void {
    this.#searches.inc({ from });
  }

  /** The returned function is called when the rebuild has ended. */
  rebuilding(): (outcome: 'done' | 'failed') => void {
    const stop = this.#rebuilds.startTimer();
    return (outcome) => {
      stop({ outcome });
    };
  }
}
