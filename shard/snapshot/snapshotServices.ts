/** What the collections of one shard share to make snapshots and to begin from them. */
import type { Clock } from '../../shared/clock.js';
import type { Logger } from '../../shared/logger.js';
import { Turns } from '../../shared/turns.js';
import type { ReadThreads } from './readThreads.js';
import type { SnapshotGauges, SnapshotMetrics } from './snapshotMetrics.js';
import type { SnapshotStore } from './snapshotStore.js';

export interface SnapshotServicesOptions {
  readonly store: SnapshotStore;
  readonly threads: ReadThreads;
  readonly metrics: SnapshotMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What a log grows by, at least, from one snapshot to the next. */
  readonly everyBytes: number;
  /** After a log could not be read for its check, until it is tried again. */
  readonly checkAgainMs?: number | undefined;
}

const CHECK_AGAIN_MS = 10_000;

export class SnapshotServices {
  readonly store: SnapshotStore;
  readonly threads: ReadThreads;
  readonly metrics: SnapshotMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly everyBytes: number;
  readonly checkAgainMs: number;
  /** One is made at a time: each takes the memory of a state, and a core. */
  readonly turns = new Turns();
  /** One log is checked at a time: each takes a share of the thread that reads it. */
  readonly checkTurns = new Turns();
  /** Open collections whose log before their snapshot is not verified yet. */
  readonly unchecked = new Set<number>();
  /** When the newest snapshot was made, of the open collections that have one; unix milliseconds. */
  readonly madeAtMs = new Map<number, number>();
  /** How far the snapshots are read of collections that are being opened: from 0 to 1. */
  readonly progress = new Map<number, number>();

  constructor(options: SnapshotServicesOptions) {
    this.store = options.store;
    this.threads = options.threads;
    this.metrics = options.metrics;
    this.clock = options.clock;
    this.logger = options.logger;
    this.everyBytes = options.everyBytes;
    this.checkAgainMs = options.checkAgainMs ?? CHECK_AGAIN_MS;
    this.metrics.observe(() => this.#gauges());
  }

  #gauges(): SnapshotGauges {
    const oldestMs = Math.min(...this.madeAtMs.values());
    return {
      sizeBytes: this.store.totalBytes,
      oldestAgeSeconds: this.madeAtMs.size === 0 ? 0 : Math.max(this.clock.nowMs() - oldestMs, 0) / 1000,
      progress: Math.min(1, ...this.progress.values()),
      unchecked: this.unchecked.size,
    };
  }
}
