/**
 * Search load of each shard, as this coordinator knows it: the recent duration of a search, summed over the unanswered
 * searches. Searches of other coordinators count indirectly: a busy shard takes longer for each.
 */
import type { Clock } from '../../../shared/clock.js';

/** Weight of a new measurement in the average. */
const NEW_SHARE = 0.2;
/** An older measurement is ignored. */
const MEASURED_MS = 10_000;
/** Assumed duration of a search before the first measurement. */
const DEFAULT_MS = 1;
/** Largest number of pairs of collection and shard whose times are kept. */
const MEASURED_MAX = 10_000;

/** An unanswered call, with the number of its searches. */
export interface CallInHand {
  readonly collectionId: number;
  readonly shard: string;
  /** Number of searches in the call. */
  readonly searches: number;
  readonly estimateMs: number;
  readonly startedMs: number;
  /** Searches that the shard had answered when this call was queued. */
  readonly answeredBefore: number;
}

interface ShardLoad {
  calls: number;
  pendingMs: number;
  answered: number;
}

export class SearchLoad {
  readonly #shards = new Map<string, ShardLoad>();
  readonly #measured = new Map<string, { ms: number; atMs: number }>();

  constructor(private readonly clock: Clock) {}

  /** Time that the shard needs for its unanswered searches; 0 without any. */
  pendingMs(shard: string): number {
    return this.#shards.get(shard)?.pendingMs ?? 0;
  }

  /** Recent duration of one search of the collection at the shard; undefined without a recent measurement. */
  searchMs(collectionId: number, shard: string): number | undefined {
    const measured = this.#measured.get(keyOf(collectionId, shard));
    if (measured === undefined || this.clock.monotonicMs() - measured.atMs > MEASURED_MS) return undefined;
    return measured.ms;
  }

  begin(collectionId: number, shard: string, searches: number): CallInHand {
    let load = this.#shards.get(shard);
    if (load === undefined) {
      load = { calls: 0, pendingMs: 0, answered: 0 };
      this.#shards.set(shard, load);
    }
    const estimateMs = searches * (this.searchMs(collectionId, shard) ?? DEFAULT_MS);
    load.calls++;
    load.pendingMs += estimateMs;
    const startedMs = this.clock.monotonicMs();
    return { collectionId, shard, searches, estimateMs, startedMs, answeredBefore: load.answered };
  }

  /**
   * Counts the searches of one message as ended. Measures the duration of a search. It is the time since the message's first call
   * was queued, divided by the number of searches that the shard answered in that time.
   */
  end(ended: readonly CallInHand[], isAnswered: boolean): void {
    for (const { shard, searches, estimateMs } of ended) {
      const load = this.#shards.get(shard) as ShardLoad;
      if (isAnswered) load.answered += searches;
      load.calls--;
      // Rounding errors must not make an idle shard look busy.
      load.pendingMs = load.calls === 0 ? 0 : load.pendingMs - estimateMs;
    }
    const [first] = ended;
    if (first === undefined || !isAnswered) return;
    const { collectionId, shard, startedMs, answeredBefore } = first;
    const nowMs = this.clock.monotonicMs();
    const answered = (this.#shards.get(shard) as ShardLoad).answered - answeredBefore;
    // A call may hold no search.
    if (answered === 0) return;
    const ms = (nowMs - startedMs) / answered;
    const before = this.searchMs(collectionId, shard) ?? ms;
    if (this.#measured.size >= MEASURED_MAX) this.#measured.clear();
    this.#measured.set(keyOf(collectionId, shard), { ms: before + NEW_SHARE * (ms - before), atMs: nowMs });
  }
}

const keyOf = (collectionId: number, shard: string): string => `${collectionId} ${shard}`;
