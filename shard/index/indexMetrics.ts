/** What a shard measures of its indexes. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { gaugesOf } from '../../shared/gauges.js';
import type { IndexKind } from '../../shared/indexSpec.js';

/** Seconds: from an index of a thousand rows to one of millions. */
const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];

export interface IndexGauges {
  readonly generations: Readonly<Record<IndexKind, number>>;
  readonly tailRows: number;
  readonly bytes: number;
  readonly building: number;
  /** Of the builds under way: 0 to 1 each, the least. */
  readonly progress: number;
}

export type Ended = (outcome: 'active' | 'failed' | 'cancelled') => void;

export class IndexMetrics {
  readonly #builds: Histogram<'kind' | 'outcome'>;
  readonly #loads: Histogram<'kind' | 'outcome'>;
  readonly #damaged: Counter;

  constructor(private readonly registry: Registry) {
    const histogram = (name: string, help: string) =>
      new Histogram({
        name,
        help,
        labelNames: ['kind', 'outcome'] as const,
        buckets: SECONDS,
        registers: [registry],
      });
    this.#builds = histogram('vouch_index_build_seconds', 'Time from the start of a build of an index to its end.');
    this.#loads = histogram('vouch_index_load_seconds', 'Time to verify and open a saved index.');
    this.#damaged = new Counter({
      name: 'vouch_index_damaged_total',
      help: 'Saved indexes that did not verify, were set aside and built anew.',
      registers: [registry],
    });
  }

  /** `gauges` is read when the metrics are. */
  observe(gauges: () => IndexGauges): void {
    const { registry } = this;
    new Gauge({
      name: 'vouch_index_generations',
      help: 'Indexes that serve searches.',
      labelNames: ['kind'] as const,
      registers: [registry],
      collect() {
        for (const [kind, count] of Object.entries(gauges().generations)) this.set({ kind }, count);
      },
    });
    const gauge = gaugesOf(registry, gauges);
    gauge('vouch_index_tail_rows', 'Rows that no index has absorbed yet; searches scan them.', (now) => now.tailRows);
    gauge('vouch_index_bytes', 'Memory that indexes take beside the vectors.', (now) => now.bytes);
    gauge('vouch_index_building', 'Indexes being built, loaded or waiting for it.', (now) => now.building);
    gauge('vouch_index_build_progress', 'Of the build that is least far: 0 to 1.', (now) => now.progress);
  }

  /** The returned function is called once, when the build has ended. */
  startBuild(kind: IndexKind): Ended {
    return timed(this.#builds, kind);
  }

  startLoad(kind: IndexKind): Ended {
    return timed(this.#loads, kind);
  }

  damaged(): void {
    this.#damaged.inc();
  }
}

function timed(histogram: Histogram<'kind' | 'outcome'>, kind: IndexKind): Ended {
  const stop = histogram.startTimer();
  return (outcome) => {
    stop({ kind, outcome });
  };
}
