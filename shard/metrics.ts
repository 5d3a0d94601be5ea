/** What a shard measures. The coordinator collects it and serves it with a `shard` label. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { systemClock } from '../shared/clock.js';
import { DAMAGED_PARTS } from '../shared/damage.js';
import { gaugesOf } from '../shared/gauges.js';
import type { RefusalReason } from '../shared/overloaded.js';
import { observeProcess } from '../shared/processMetrics.js';
import { observeTransport } from '../shared/transport/loadMetrics.js';
import type { Transport } from '../shared/transport/transport.js';
import { ReachMetrics } from './collection/reachMetrics.js';
import type { DamageReports } from './damageReports.js';
import { FollowMetrics } from './follow/followMetrics.js';
import { IndexMetrics } from './index/indexMetrics.js';
import { MoveMetrics } from './moveMetrics.js';
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
  readonly follow = new FollowMetrics(this.#registry);
  readonly moves = new MoveMetrics(this.#registry);
  readonly reach = new ReachMetrics(this.#registry);
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
  readonly #refused = new Counter({
    name: 'vouch_refused_total',
    help: 'Requests and calls that were turned away because there were too many, by the bound they met.',
    labelNames: ['reason'] as const,
    registers: [this.#registry],
  });
  readonly #waiting = new Gauge({
    name: 'vouch_writes_waiting',
    help: 'Writes that wait for their commit.',
    registers: [this.#registry],
  });

  /** `gauges` is read when the metrics are. */
  observe(gauges: () => Gauges): void {
    const gauge = gaugesOf(this.#registry, gauges);
    gauge('vouch_collections', 'Collections this shard serves.', (now) => now.collections);
    gauge('vouch_collections_open', 'Collections held in memory.', (now) => now.openCollections);
    gauge(
      'vouch_collections_quarantined',
      'Collections whose log does not verify.',
      (now) => now.quarantinedCollections,
    );
    gauge('vouch_records', 'Live records in the collections held in memory.', (now) => now.records);
    gauge('vouch_vector_bytes', 'Memory taken for vectors.', (now) => now.vectorBytes);
    observeProcess(this.#registry);
  }

  /** Read when the metrics are. */
  observeDamages(damages: DamageReports): void {
    new Gauge({
      name: 'vouch_damaged',
      help: 'Collections of which something stored did not verify since the shard started, by what it was; `vault` counts the master key too.',
      labelNames: ['part'] as const,
      registers: [this.#registry],
      collect() {
        for (const part of DAMAGED_PARTS) this.set({ part }, damages.count(part));
      },
    });
  }

  /** Starts the clock of one call; the returned function stops it. */
  time(op: string): (outcome: string) => void {
    const startedMs = systemClock.monotonicMs();
    return (outcome) => this.#calls.observe({ op, outcome }, (systemClock.monotonicMs() - startedMs) / 1000);
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

  /** A call that was turned away. */
  refused(reason: RefusalReason): void {
    this.#refused.inc({ reason });
  }

  /** Read when the metrics are. */
  observeAdmission(admission: { readonly readsWaiting: number; readonly calls: number; readonly bytes: number }): void {
    const gauge = gaugesOf(this.#registry, () => admission);
    gauge('vouch_reads_waiting', 'Reads that wait for their turn.', (now) => now.readsWaiting);
    gauge('vouch_shard_calls_under_way', 'Calls that are not answered yet.', (now) => now.calls);
    gauge('vouch_shard_call_bytes_under_way', 'Bytes of the messages they came in.', (now) => now.bytes);
  }

  observeTransport(transport: Pick<Transport, 'load'>): void {
    observeTransport(this.#registry, transport);
  }

  waiting(by: number): void {
    this.#waiting.inc(by);
  }

  json(): Promise<unknown> {
    return this.#registry.getMetricsAsJSON();
  }
}
