/** What a shard measures of its snapshots. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { gaugesOf } from '../../shared/gauges.js';

/** From a collection of a few thousand records to one of millions. */
const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export interface SnapshotGauges {
  readonly sizeBytes: number;
  /** Of the collection whose newest one is the oldest; 0 where there are none. */
  readonly oldestAgeSeconds: number;
  /** Of the collection that is being opened and is the least far; 1 where none is. */
  readonly progress: number;
  /** Open collections that were begun from a snapshot, and whose log before it is not verified yet. */
  readonly unchecked: number;
}

export class SnapshotMetrics {
  readonly #made: Histogram<'outcome'>;
  readonly #opened: Histogram<'from'>;
  readonly #refused: Counter<'reason'>;
  readonly #checkedBytes: Counter;
  readonly #checksFailed: Counter<'reason'>;

  constructor(private readonly registry: Registry) {
    this.#made = new Histogram({
      name: 'vouch_snapshot_seconds',
      help: 'Time to make a snapshot.',
      labelNames: ['outcome'] as const,
      buckets: SECONDS,
      registers: [registry],
    });
    this.#opened = new Histogram({
      name: 'vouch_open_seconds',
      help: 'Time until a collection was in memory, by what it was begun from: a snapshot, or the log alone.',
      labelNames: ['from'] as const,
      buckets: SECONDS,
      registers: [registry],
    });
    this.#refused = new Counter({
      name: 'vouch_snapshots_refused_total',
      help: 'Snapshots that were not begun from: damaged ones were set aside, unusable ones left alone.',
      labelNames: ['reason'] as const,
      registers: [registry],
    });
    this.#checkedBytes = new Counter({
      name: 'vouch_log_checked_bytes_total',
      help: 'Bytes of logs before a snapshot that were verified in the background.',
      registers: [registry],
    });
    this.#checksFailed = new Counter({
      name: 'vouch_log_check_failures_total',
      help: 'Checks of the log before a snapshot that found damage, or could not read it and are made again.',
      labelNames: ['reason'] as const,
      registers: [registry],
    });
  }

  /** `gauges` is read when the metrics are. */
  observe(gauges: () => SnapshotGauges): void {
    const gauge = gaugesOf(this.registry, gauges);
    gauge('vouch_snapshot_bytes', 'Bytes of the snapshots on disk.', (now) => now.sizeBytes);
    gauge(
      'vouch_snapshot_age_seconds',
      'Age of the newest snapshot of the open collection where that is the oldest.',
      (now) => now.oldestAgeSeconds,
    );
    gauge(
      'vouch_open_progress',
      'Part of its snapshot, or then of its log, that is read, of the collection that is being opened and is the least far; 1: none is.',
      (now) => now.progress,
    );
    gauge(
      'vouch_log_checks_waiting',
      'Open collections whose log before their snapshot is not verified yet.',
      (now) => now.unchecked,
    );
  }

  made(outcome: 'done' | 'failed', seconds: number): void {
    this.#made.observe({ outcome }, seconds);
  }

  opened(from: 'snapshot' | 'log', seconds: number): void {
    this.#opened.observe({ from }, seconds);
  }

  refused(reason: 'damaged' | 'unusable'): void {
    this.#refused.inc({ reason });
  }

  checked(sizeBytes: number): void {
    this.#checkedBytes.inc(sizeBytes);
  }

  checkFailed(reason: 'damaged' | 'unreadable'): void {
    this.#checksFailed.inc({ reason });
  }
}
