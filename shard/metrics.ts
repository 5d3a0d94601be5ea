/** What a shard measures. The coordinator collects it and serves it with a `shard` label. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { DAMAGED_PARTS } from '../shared/damage.js';
import type { DamageReports } from './damageReports.js';
import { IndexMetrics } from './index/indexMetrics.js';
import { PastMetrics } from './past/pastMetrics.js';
import { SnapshotMetrics } from './snapshot/snapshotMetrics.js';

/** Seconds. A small search takes a fraction of a millisecond, a large commit some tens of them. */
const LATENCY_BUCKETS = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

export interface Gauges {
  readonly collections: number;
  readonly openCollections: number;
  readonly quarantinedCollections: number;
  readonly records: number;
  readonly vectorBytes: number;
}

export class ShardMetrics {
  readonly #registry = new Registry();
  readonly indexes = new IndexMetrics(this.#registry);
  readonly past = new PastMetrics(this.#registry);
  readonly snapshots = new SnapshotMetrics(this.#registry);
  readonly #calls = new Histogram({
    name: 'vouch_shard_call_seconds',
    help: 'Time from the arrival of a call at the shard to its outcome.',
    labelNames: ['op', 'outcome'] as const,
    buckets: LATENCY_BUCKETS,
    registers: [this.#registry],
  });
  readonly #commit = new Histogram({
    name: 'vouch_commit_seconds',
    help: 'Time until the log has made a frame durable.',
    buckets: LATENCY_BUCKETS,
    registers: [this.#registry],
  });
  readonly #committed = new Counter({
    name: 'vouch_committed_events_total',
    help: 'Events committed to the logs.',
    registers: [this.#registry],
  });
  readonly #committedBytes = new Counter({
    name: 'vouch_committed_bytes_total',
    help: 'Bytes of the frames committed to the logs.',
    registers: [this.#registry],
  });
  readonly #waiting = new Gauge({
    name: 'vouch_writes_waiting',
    help: 'Writes that wait for their commit.',
    registers: [this.#registry],
  });

  /** `gauges` is read when the metrics are. */
  observe(gauges: () => Gauges): void {
    const gauge = (name: string, help: string, read: (now: Gauges) => number): void => {
      new Gauge({
        name,
        help,
        registers: [this.#registry],
        collect() {
          this.set(read(gauges()));
        },
      });
    };
    gauge('vouch_collections', 'Collections this shard serves.', (now) => now.collections);
    gauge('vouch_collections_open', 'Collections held in memory.', (now) => now.openCollections);
    gauge(
      'vouch_collections_quarantined',
      'Collections whose log does not verify.',
      (now) => now.quarantinedCollections,
    );
    gauge('vouch_records', 'Live records in the collections held in memory.', (now) => now.records);
    gauge('vouch_vector_bytes', 'Memory taken for vectors.', (now) => now.vectorBytes);
  }

  /** Read when the metrics are. */
  observeDamages(damages: DamageReports): void {
    new Gauge({
      name: 'vouch_damaged',
      help: 'Collections of which something stored did not verify since the shard started, by what it was.',
      labelNames: ['part'] as const,
      registers: [this.#registry],
      collect() {
        for (const part of DAMAGED_PARTS) this.set({ part }, damages.count(part));
      },
    });
  }

  /** Starts the clock of one call; the returned function stops it. */
  time(op: string): (outcome: string) => void {
    const stop = this.#calls.startTimer();
    return (outcome) => {
      stop({ op, outcome });
    };
  }

  /** The returned function is called when the log has made the frame durable. */
  startCommit(events: number): (frameBytes: number) => void {
    const stop = this.#commit.startTimer();
    return (frameBytes) => {
      stop();
      this.#committed.inc(events);
      this.#committedBytes.inc(frameBytes);
    };
  }

  waiting(by: number): void {
    this.#waiting.inc(by);
  }

  json(): Promise<unknown> {
    return this.#registry.getMetricsAsJSON();
  }
}
