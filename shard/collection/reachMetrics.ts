/** What a shard measures of its notes of how far logs have reached. */
import { Counter, type Registry } from 'prom-client';
import { gaugesOf } from '../../shared/gauges.js';

export class ReachMetrics {
  readonly #notes: Counter<'outcome'>;

  constructor(private readonly registry: Registry) {
    this.#notes = new Counter({
      name: 'vouch_reach_notes_total',
      help: 'Notes of how far a log has reached, by whether they were written.',
      labelNames: ['outcome'] as const,
      registers: [registry],
    });
  }

  /** `waiting` is read when the metrics are. */
  observe(waiting: () => number): void {
    const gauge = gaugesOf(this.registry, waiting);
    gauge('vouch_reach_notes_waiting', 'Collections whose log has gone further than is noted.', (now) => now);
  }

  noted(): void {
    this.#notes.inc({ outcome: 'done' });
  }

  failed(): void {
    this.#notes.inc({ outcome: 'failed' });
  }
}
