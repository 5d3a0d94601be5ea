/** What a shard measures of what it follows, and of what it tells its followers. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { gaugesOf } from '../../shared/gauges.js';
import { FOLLOWER_STATES, type FollowerState } from './follower.js';

export interface FollowGauges {
  readonly states: Readonly<Record<FollowerState, number>>;
  /** Of the one that is furthest behind. */
  readonly lag: number;
  /** Of the one whose state may be oldest. */
  readonly staleMs: number;
}

export class FollowMetrics {
  readonly #frames: Counter<'way'>;
  readonly #reads: Counter;
  readonly #searches: Counter<'outcome'>;
  readonly #compared: Counter;
  readonly #diverged: Counter;

  constructor(private readonly registry: Registry) {
    const registers = [registry];
    this.#frames = new Counter({
      name: 'vouch_feed_frames_total',
      help: 'Committed frames told to followers (sent), applied as they were told, and found missing when the next came.',
      labelNames: ['way'] as const,
      registers,
    });
    this.#reads = new Counter({
      name: 'vouch_follower_log_reads_total',
      help: 'Times that a follower read the log, since something was missing.',
      registers,
    });
    this.#searches = new Counter({
      name: 'vouch_follower_searches_total',
      help: 'Eventual searches that came to a follower, by whether it answered or passed them on to the owner.',
      labelNames: ['outcome'] as const,
      registers,
    });
    this.#compared = new Counter({
      name: 'vouch_follower_compared_total',
      help: 'Times that a follower and its owner had the same state hash at the same event.',
      registers,
    });
    this.#diverged = new Counter({
      name: 'vouch_follower_diverged_total',
      help: 'Followers quarantined since they were not what their owner is, or not what they were. Never expected.',
      registers,
    });
  }

  /** `gauges` is read when the metrics are. */
  observe(gauges: () => FollowGauges): void {
    new Gauge({
      name: 'vouch_collections_followed',
      help: 'Collections this shard follows, by how far it is.',
      labelNames: ['state'] as const,
      registers: [this.registry],
      collect() {
        const { states } = gauges();
        for (const state of FOLLOWER_STATES) this.set({ state }, states[state]);
      },
    });
    const gauge = gaugesOf(this.registry, gauges);
    gauge(
      'vouch_follower_lag_events',
      'Events that the follower which is furthest behind is behind its owner.',
      (now) => now.lag,
    );
    gauge(
      'vouch_follower_stale_seconds',
      'How old the state of a follower may be, of the one where it may be oldest; at most a day is told.',
      (now) => now.staleMs / 1000,
    );
  }

  sent(): void {
    this.#frames.inc({ way: 'sent' });
  }

  applied(): void {
    this.#frames.inc({ way: 'applied' });
  }

  missed(): void {
    this.#frames.inc({ way: 'missed' });
  }

  read(): void {
    this.#reads.inc();
  }

  searched(outcome: 'answered' | 'passed on'): void {
    this.#searches.inc({ outcome });
  }

  compared(): void {
    this.#compared.inc();
  }

  diverged(): void {
    this.#diverged.inc();
  }
}
