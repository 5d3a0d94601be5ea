/** What a shard measures of collections that change hands, and of its right to answer. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { gaugesOf } from '../shared/gauges.js';

const SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

export interface LeaseGauges {
  /** 0 when it is over. */
  readonly leftMs: number;
  readonly isLeaving: boolean;
}

export class MoveMetrics {
  readonly #taken: Histogram<'as'>;
  readonly #given: Histogram<'outcome'>;
  readonly #lapses: Counter;

  constructor(private readonly registry: Registry) {
    const registers = [registry];
    this.#taken = new Histogram({
      name: 'vouch_move_in_seconds',
      help: 'Time from learning that a collection is this shard’s to serving it: taken over in place, or opened when it is asked for.',
      labelNames: ['as'] as const,
      buckets: SECONDS,
      registers,
    });
    this.#given = new Histogram({
      name: 'vouch_hand_over_seconds',
      help: 'Time for which writes waited while a collection was handed to another shard, by whether it was.',
      labelNames: ['outcome'] as const,
      buckets: SECONDS,
      registers,
    });
    this.#lapses = new Counter({
      name: 'vouch_lease_lapses_total',
      help: 'Times that the shard could not renew its lease in time, and stopped answering until it could.',
      registers,
    });
  }

  /** `gauges` is read when the metrics are. */
  observe(gauges: () => LeaseGauges): void {
    const gauge = gaugesOf(this.registry, gauges);
    gauge(
      'vouch_lease_left_seconds',
      'How long the shard may answer without renewing its lease; 0 when that is over.',
      (now) => now.leftMs / 1000,
    );
    gauge('vouch_leaving', '1 while the shard hands its collections over in order to end.', (now) =>
      Number(now.isLeaving),
    );
  }

  tookOver(as: 'follower' | 'idle', forMs: number): void {
    this.#taken.observe({ as }, forMs / 1000);
  }

  handedOver(isPassed: boolean, waitedMs: number): void {
    this.#given.observe({ outcome: isPassed ? 'done' : 'refused' }, waitedMs / 1000);
  }

  leaseLapsed(): void {
    this.#lapses.inc();
  }
}
