/**
 * The past states of all collections of a shard: rebuilt when a search asks for one, kept for the next that does, the
 * least recently used given up first.
 *
 *   asked for ──▶ rebuilding ──▶ kept ──bound reached, or collection closed──▶ destroyed, once no search uses it
 *                     └── nobody waits any more, closed, or failed ──▶ destroyed
 *
 * The bound is on what is kept. States that are being rebuilt, two at once, and those that searches use come on top; one
 * that is larger than the bound serves those who wait for it and is not kept.
 */
import { LRUCache } from 'lru-cache';
import type { CollectionConfig } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { Lanes } from './lanes.js';
import { Opening } from './opening.js';
import type { PastMetrics } from './pastMetrics.js';
import { PastState } from './pastState.js';
import { Rebuild } from './rebuild.js';

export interface PastStatesOptions {
  readonly boundBytes: number;
  readonly memory: VectorMemory;
  readonly clock: Clock;
  readonly metrics: PastMetrics;
}

export class PastStates {
  // Both by `keyOf`.
  readonly #kept: LRUCache<string, PastState>;
  readonly #rebuilds = new Map<string, Rebuild>();
  readonly #lanes = new Lanes();
  #openings = 0;

  constructor(private readonly options: PastStatesOptions) {
    this.#kept = new LRUCache({
      maxSize: options.boundBytes,
      sizeCalculation: (past) => Math.ceil(past.sizeBytes),
      dispose: (past) => past.drop(),
    });
    options.metrics.observe(() => this.keptBytes);
  }

  /** Estimated. */
  get keptBytes(): number {
    return this.#kept.calculatedSize;
  }

  open(config: CollectionConfig, log: EventLog): Opening {
    return new Opening(++this.#openings, config, log);
  }

  /**
   * Runs `work` with the state after `sequence` events, which have been committed; it stays until `work` is done. Throws
   * what a rebuild throws, and `unavailable` where too many wait, the deadline passes or the collection closes.
   */
  async use<T>(
    opening: Opening,
    sequence: number,
    deadlineMs: number,
    work: (past: PastState) => Promise<T>,
  ): Promise<T> {
    opening.closing.throwIfAborted();
    const past = await this.#held(opening, sequence, deadlineMs);
    try {
      if (this.options.clock.nowMs() > deadlineMs)
        throw unavailable('the deadline passed before the past state could be searched; retry');
      return await work(past);
    } finally {
      past.release();
    }
  }

  /** Stops its rebuilds, with `reason` for those who wait, and gives up what is kept. Resolves when its log is not read. */
  async close(opening: Opening, reason: Error): Promise<void> {
    opening.close(reason);
    const rebuilds = [...this.#rebuilds.values()].filter((rebuild) => rebuild.opening === opening);
    await Promise.all(rebuilds.map((rebuild) => rebuild.ended()));
    for (const [key] of [...this.#keptOf(opening)]) this.#kept.delete(key);
  }

  /** Held for the caller. */
  #held(opening: Opening, sequence: number, deadlineMs: number): Promise<PastState> {
    // Nothing to read and nothing to keep.
    if (sequence === 0) return Promise.resolve(this.#empty(opening));
    const key = keyOf(opening, sequence);
    const kept = this.#kept.get(key);
    this.options.metrics.searched(kept === undefined ? 'rebuilt' : 'kept');
    if (kept !== undefined) return Promise.resolve(kept.hold());
    return this.#rebuilds.get(key)?.join(deadlineMs) ?? this.#rebuild(opening, sequence, deadlineMs).made;
  }

  #rebuild(opening: Opening, sequence: number, deadlineMs: number): Rebuild {
    const key = keyOf(opening, sequence);
    const ended = this.options.metrics.rebuilding();
    const rebuild = new Rebuild(
      opening,
      this.options.clock,
      deadlineMs,
      (assertWanted) => this.#lanes.run(() => this.#make(opening, sequence, assertWanted), opening.closing),
      (past) => {
        this.#rebuilds.delete(key);
        ended(past === undefined ? 'failed' : 'done');
        if (past !== undefined) this.#keep(key, past);
      },
    );
    this.#rebuilds.set(key, rebuild);
    return rebuild;
  }

  /** Held once. */
  async #make(opening: Opening, sequence: number, assertWanted: () => void): Promise<PastState> {
    assertWanted();
    const past = this.#takeBefore(opening, sequence) ?? this.#empty(opening);
    try {
      await past.advance(sequence, assertWanted);
      return past;
    } catch (error) {
      past.release();
      throw error;
    }
  }

  #empty(opening: Opening): PastState {
    return new PastState(opening, this.options.memory, this.options.clock).hold();
  }

  /** The nearest earlier state that nobody uses: going on from there costs less than beginning. Held, not kept any more. */
  #takeBefore(opening: Opening, sequence: number): PastState | undefined {
    let nearest: [string, PastState] | undefined;
    for (const [key, past] of this.#keptOf(opening)) {
      const isEarlier = past.sequence < sequence && past.sequence > (nearest?.[1].sequence ?? 0);
      if (isEarlier && !past.isHeld) nearest = [key, past];
    }
    nearest?.[1].hold();
    if (nearest !== undefined) this.#kept.delete(nearest[0]);
    return nearest?.[1];
  }

  #keep(key: string, past: PastState): void {
    if (past.opening.closing.aborted) return;
    past.keep();
    this.#kept.set(key, past);
    if (this.#kept.peek(key) !== past) past.drop();
  }

  *#keptOf(opening: Opening): Generator<[string, PastState]> {
    for (const entry of this.#kept.entries()) if (entry[1].opening === opening) yield entry;
  }
}

const keyOf = ({ number }: Opening, sequence: number): string => `${number}/${sequence}`;
