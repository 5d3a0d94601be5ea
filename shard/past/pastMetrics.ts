/** What a shard measures of searches of the past. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { unreachable } from '../../shared/errors.js';

/** From a log of a few hundred events to one of millions. */
const REBUILD_SECONDS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Passes between threads. */
export type Measured =
  | { readonly what: 'searched'; readonly from: 'current' | 'memory' | 'kept' | 'rebuilt' }
  | { readonly what: 'rebuilt'; readonly outcome: 'done' | 'failed'; readonly seconds: number }
  /** Memory of the states that are kept, estimated. */
  | { readonly what: 'kept'; readonly bytes: number }
  /** The thread died, and what waited for it failed. */
  | { readonly what: 'died' };

export class PastMetrics {
  readonly #searches: Counter<'from'>;
  readonly #rebuilds: Histogram<'outcome'>;
  readonly #kept: Gauge;
  readonly #deaths: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#searches = new Counter({
      name: 'vouch_past_searches_total',
      help: 'Searches of past states, by where the state was found: it is the current one, is still in memory, was kept, or was rebuilt.',
      labelNames: ['from'] as const,
      registers,
    });
    this.#rebuilds = new Histogram({
      name: 'vouch_past_rebuild_seconds',
      help: 'Time to rebuild a past state from snapshot and log.',
      labelNames: ['outcome'] as const,
      buckets: REBUILD_SECONDS,
      registers,
    });
    this.#kept = new Gauge({
      name: 'vouch_past_bytes',
      help: 'Memory, as estimated, of the past states that are kept.',
      registers,
    });
    this.#deaths = new Counter({
      name: 'vouch_past_thread_deaths_total',
      help: 'Times that the thread of past states died of itself and was started again.',
      registers,
    });
  }

  measured(what: Measured): void {
    switch (what.what) {
      case 'searched':
        this.#searches.inc({ from: what.from });
        return;
      case 'rebuilt':
        this.#rebuilds.observe({ outcome: what.outcome }, what.seconds);
        return;
      case 'kept':
        this.#kept.set(what.bytes);
        return;
      case 'died':
        this.#deaths.inc();
        this.#kept.set(0);
        return;
      default:
        unreachable(what);
    }
  }
}
