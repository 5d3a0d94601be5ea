/** What a coordinator measures of the cluster behind it: moves and followers where it leads, and the calls it sends. */
import { Counter, Histogram, Registry } from 'prom-client';
import { gaugesOf } from '../../shared/gauges.js';
import type { Verb } from '../../shared/subjects.js';
import { observeTransport } from '../../shared/transport/loadMetrics.js';
import type { Transport } from '../../shared/transport/transport.js';

/** Seconds. One that is not open moves in milliseconds; a large one is warmed for minutes first. */
const MOVE_BUCKETS = [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** `warm`: its new owner has replayed it before; `cold`: it was not open anywhere; `failover`: its owner was lost. */
export type MoveKind = 'warm' | 'cold' | 'failover';

export interface ClusterGauges {
  readonly isLeader: boolean;
  readonly liveShards: number;
  /** Collections whose owner does not live. */
  readonly unserved: number;
  /** Collections with an owner that are in no catalog, and that nobody deleted. */
  readonly unlisted: number;
  readonly followersWanted: number;
  /** Of live shards. */
  readonly followersPresent: number;
  readonly movesUnderWay: number;
  readonly callsParked: number;
}

export class ClusterMetrics {
  readonly #registry = new Registry();
  readonly #moves = new Counter({
    name: 'vouch_placement_moves_total',
    help: 'Moves of collections that this coordinator has led, by kind and by how far they came.',
    labelNames: ['kind', 'stage'] as const,
    registers: [this.#registry],
  });
  readonly #moveSeconds = new Histogram({
    name: 'vouch_placement_move_seconds',
    help: 'Time a finished move took, warming included.',
    labelNames: ['kind'] as const,
    buckets: MOVE_BUCKETS,
    registers: [this.#registry],
  });
  readonly #retried = new Counter({
    name: 'vouch_calls_retried_total',
    help: 'Calls to collections that were sent again, since nobody served them at the moment.',
    labelNames: ['verb'] as const,
    registers: [this.#registry],
  });
  readonly #ended = new Counter({
    name: 'vouch_calls_ended_total',
    help:
      'Calls under way that were ended: the process that was asked had gone, another owned what was read, or the answer was ' +
      'lost on its way.',
    labelNames: ['verb'] as const,
    registers: [this.#registry],
  });
  readonly #eventual = new Counter({
    name: 'vouch_eventual_reads_total',
    help: 'Searches with consistency "eventual", by who has answered.',
    labelNames: ['by'] as const,
    registers: [this.#registry],
  });

  observeTransport(transport: Pick<Transport, 'load'>): void {
    observeTransport(this.#registry, transport);
  }

  /** `gauges` is read when the metrics are. */
  observe(gauges: () => ClusterGauges): void {
    const gauge = gaugesOf(this.#registry, gauges);
    gauge('vouch_placement_leader', '1 where this coordinator places collections.', (now) => Number(now.isLeader));
    gauge('vouch_shards', 'Shards with a live heartbeat.', (now) => now.liveShards);
    gauge('vouch_owners_without_live_shard', 'Collections whose owner does not live.', (now) => now.unserved);
    gauge(
      'vouch_collections_unlisted',
      'Collections that have an owner and are not in the catalog, though nobody deleted them.',
      (now) => now.unlisted,
    );
    gauge('vouch_followers_wanted', 'Followers that the collections should have.', (now) => now.followersWanted);
    gauge('vouch_followers_present', 'Followers they have, on live shards.', (now) => now.followersPresent);
    gauge('vouch_placement_moves_under_way', 'Moves under way.', (now) => now.movesUnderWay);
    gauge('vouch_calls_parked', 'Calls that wait to be sent again.', (now) => now.callsParked);
  }

  /** The returned function tells how it ended. */
  startMove(kind: MoveKind): (stage: 'finished' | 'failed') => void {
    this.#moves.inc({ kind, stage: 'started' });
    const stop = this.#moveSeconds.startTimer({ kind });
    return (stage) => {
      this.#moves.inc({ kind, stage });
      if (stage === 'finished') stop();
    };
  }

  retried(verb: Verb): void {
    this.#retried.inc({ verb });
  }

  ended(verb: Verb): void {
    this.#ended.inc({ verb });
  }

  eventual(by: 'follower' | 'owner'): void {
    this.#eventual.inc({ by });
  }

  /** As prom-client gives it. */
  json(): Promise<unknown> {
    return this.#registry.getMetricsAsJSON();
  }
}
