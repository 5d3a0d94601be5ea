/**
 * The past states of all collections of a shard, in the thread of past states. A state is rebuilt for a search and kept
 * for later ones. The least recently used is dropped first.
 *
 * ```text
 * Requested ──▶ rebuilding ──▶ kept ──bound reached, or collection closed──▶ destroyed after the last search.
 *                   └── no longer wanted, closed, or failed ──▶ destroyed.
 * ```
 *
 * The bound counts kept states. States in use come on top: one per search, at most two rebuilds (one per project), and
 * one being saved as a snapshot. A state larger than the bound serves the waiting searches and is not kept.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors/errors.js';
import { FairSemaphore } from '../../shared/scheduling/fairSemaphore.js';
import type { Pause } from '../../shared/scheduling/pacer.js';
import { sliceTurns } from '../../shared/scheduling/slice.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { type Restore, restoreNewest, saveSnapshot } from '../snapshot/folderSnapshots.js';
import type { Opening } from '../snapshot/opening.js';
import type { SavedSnapshot, SetAside } from '../snapshot/savedSnapshots.js';
import { emptyState, HistoricalState, NO_REQUESTS } from './historicalState.js';
import type { Measured } from './measured.js';

/** Rebuilds that run, each with the memory of a state, or wait. No project gets both places. */
const REBUILDS = {
  ...{ atOnce: 2, ofProject: 1, waiting: 32 },
  refusal: () => unavailable('too many past states are being rebuilt; retry shortly'),
};

export interface HistoricalStateCacheOptions {
  readonly boundBytes: number;
  readonly memory: VectorMemory;
  readonly clock: Clock;
  readonly measured: (what: Measured) => void;
  readonly setAside: (opening: Opening, snapshot: SetAside) => void;
}

interface Rebuild {
  readonly opening: Opening;
  /** Searches that wait for the rebuild. */
  readonly waiting: { count: number; latestDeadlineMs: number };
  /** The state, retained once per waiting search. */
  readonly made: Promise<HistoricalState>;
}

export class HistoricalStateCache {
  // Both are keyed by `keyOf`.
  readonly #kept: LRUCache<string, HistoricalState>;
  readonly #rebuilds = new Map<string, Rebuild>();
  /** Snapshots that are being written. */
  readonly #snapshots = new Map<Opening, Promise<SavedSnapshot | undefined>>();
  readonly #semaphore: FairSemaphore;

  constructor(private readonly options: HistoricalStateCacheOptions) {
    this.#semaphore = new FairSemaphore(REBUILDS, options.clock);
    this.#kept = new LRUCache({
      maxSize: options.boundBytes,
      sizeCalculation: (past) => Math.ceil(past.sizeBytes),
      dispose: (past) => past.drop(),
    });
  }

  /** Estimated bytes of kept states. */
  get keptBytes(): number {
    return this.#kept.calculatedSize;
  }

  /**
   * Runs `work` with the state after `sequence` events, which must be committed. The state exists until `work` is done.
   * Throws errors of a rebuild, and `unavailable` if too many wait, the deadline passes or the collection closes.
   */
  async use<T>(
    opening: Opening,
    sequence: number,
    deadlineMs: number,
    work: (past: HistoricalState) => Promise<T>,
  ): Promise<T> {
    opening.closing.throwIfAborted();
    const past = await this.#retained(opening, sequence, deadlineMs);
    try {
      if (this.options.clock.nowMs() > deadlineMs)
        throw unavailable('the deadline passed before the past state could be searched; retry');
      return await work(past);
    } finally {
      past.release();
    }
  }

  /**
   * Writes a snapshot of the newest frame end at or before event `upTo`, which must be committed. Returns undefined if
   * it exists. Concurrent calls for a collection share one snapshot. The caller bounds how many are written at once.
   */
  async snapshot(opening: Opening, upTo: number): Promise<SavedSnapshot | undefined> {
    opening.closing.throwIfAborted();
    const before = this.#snapshots.get(opening);
    if (before !== undefined) return before;
    const snapshot = this.#write(opening, upTo).finally(() => this.#snapshots.delete(opening));
    this.#snapshots.set(opening, snapshot);
    return snapshot;
  }

  /** Ends the rebuilds of an opening with `reason`, and drops its states. Resolves when its log is no longer read. */
  async close(opening: Opening, reason: Error): Promise<void> {
    opening.close(reason);
    const rebuilds = [...this.#rebuilds.values()].filter((rebuild) => rebuild.opening === opening);
    await Promise.allSettled([...rebuilds.map(({ made }) => made), this.#snapshots.get(opening)]);
    for (const past of [...this.#keptOf(opening)]) this.#kept.delete(keyOf(opening, past.sequence));
    this.#measureKept();
  }

  /** Returns the state after `sequence` events, retained for the caller. */
  #retained(opening: Opening, sequence: number, deadlineMs: number): Promise<HistoricalState> {
    // Making the empty state costs nothing, so it is not kept.
    if (sequence === 0) return Promise.resolve(this.#empty(opening, NO_REQUESTS));
    const key = keyOf(opening, sequence);
    const kept = this.#kept.get(key);
    this.options.measured({ what: 'searched', from: kept === undefined ? 'rebuilt' : 'kept' });
    if (kept !== undefined) return Promise.resolve(kept.retain());
    const rebuild = this.#rebuilds.get(key);
    if (rebuild === undefined) return this.#rebuild(opening, sequence, deadlineMs);
    rebuild.waiting.count++;
    rebuild.waiting.latestDeadlineMs = Math.max(rebuild.waiting.latestDeadlineMs, deadlineMs);
    return rebuild.made;
  }

  #rebuild(opening: Opening, sequence: number, deadlineMs: number): Promise<HistoricalState> {
    const key = keyOf(opening, sequence);
    const { clock, measured } = this.options;
    const startedMs = clock.monotonicMs();
    const waiting = { count: 1, latestDeadlineMs: deadlineMs };
    const assertWanted = (): void => {
      opening.closing.throwIfAborted();
      if (clock.nowMs() > waiting.latestDeadlineMs)
        throw unavailable('the deadline passed while the past state was being rebuilt; retry');
    };
    const ended = (outcome: 'done' | 'failed'): void => {
      this.#rebuilds.delete(key);
      measured({ what: 'rebuilt', outcome, seconds: (clock.monotonicMs() - startedMs) / 1000 });
    };
    const made = this.#semaphore
      .run(opening.config, () => this.#make(opening, sequence, assertWanted), opening.closing)
      .then(
        (past) => {
          for (let users = 1; users < waiting.count; users++) past.retain();
          ended('done');
          this.#keep(past);
          return past;
        },
        (error: unknown) => {
          ended('failed');
          throw error;
        },
      );
    this.#rebuilds.set(key, { opening, waiting, made });
    return made;
  }

  /** Makes the state, retained once. */
  async #make(opening: Opening, sequence: number, assertWanted: () => void): Promise<HistoricalState> {
    assertWanted();
    const after = this.#nearestBefore(opening, sequence)?.sequence ?? 0;
    const restored = await this.#restored(opening, { upTo: sequence, after, dedupWindow: NO_REQUESTS }, assertWanted);
    const past = restored ?? this.#takeBefore(opening, sequence) ?? this.#empty(opening, NO_REQUESTS);
    return orRelease(past, () => past.advance(sequence, 'exactly', assertWanted));
  }

  async #write(opening: Opening, upTo: number): Promise<SavedSnapshot | undefined> {
    const { place, closing } = opening;
    if (place === undefined) throw new Error('the collection has no place for snapshots');
    const { dedupWindow } = place;
    const assertWanted = (): void => closing.throwIfAborted();
    const restored = await this.#restored(opening, { upTo, after: 0, dedupWindow }, assertWanted);
    const before = restored?.sequence ?? 0;
    const past = restored ?? this.#empty(opening, dedupWindow);
    await orRelease(past, () => past.advance(upTo, 'whole', assertWanted));
    try {
      if (past.sequence === before) return undefined;
      return await saveSnapshot(opening, place, past.made, resting(assertWanted));
    } finally {
      past.release();
    }
  }

  /** Restores the state from a snapshot, retained once. Returns undefined if no snapshot is newer than `after`. */
  async #restored(
    opening: Opening,
    wanted: Pick<Restore, 'upTo' | 'after' | 'dedupWindow'>,
    assertWanted: () => void,
  ): Promise<HistoricalState | undefined> {
    const { memory, clock, setAside } = this.options;
    const onSetAside = (snapshot: SetAside): void => setAside(opening, snapshot);
    const rest = resting(assertWanted);
    const restored = await restoreNewest(opening, { ...wanted, memory, onSetAside, rest });
    return restored && new HistoricalState(opening, restored, clock).retain();
  }

  /** Makes an empty state, retained once. */
  #empty(opening: Opening, dedupWindow: number): HistoricalState {
    const { memory, clock } = this.options;
    return new HistoricalState(opening, emptyState(opening, memory, dedupWindow), clock).retain();
  }

  /**
   * Returns the nearest earlier state that no search uses, since continuing from there costs less than starting over.
   */
  #nearestBefore(opening: Opening, sequence: number): HistoricalState | undefined {
    let nearest: HistoricalState | undefined;
    for (const past of this.#keptOf(opening))
      if (past.sequence < sequence && past.sequence > (nearest?.sequence ?? 0) && !past.isInUse) nearest = past;
    return nearest;
  }

  /** Takes the nearest earlier state out of the cache, retained once. */
  #takeBefore(opening: Opening, sequence: number): HistoricalState | undefined {
    const nearest = this.#nearestBefore(opening, sequence)?.retain();
    if (nearest !== undefined) this.#kept.delete(keyOf(opening, nearest.sequence));
    return nearest;
  }

  #keep(past: HistoricalState): void {
    if (past.opening.closing.aborted) return;
    const key = keyOf(past.opening, past.sequence);
    past.keep();
    this.#kept.set(key, past);
    if (this.#kept.peek(key) !== past) past.drop();
    this.#measureKept();
  }

  #measureKept(): void {
    this.options.measured({ what: 'kept', bytes: this.keptBytes });
  }

  *#keptOf(opening: Opening): Generator<HistoricalState> {
    for (const past of this.#kept.values()) if (past.opening === opening) yield past;
  }
}

/** Returns the state once the work is done; releases it if the work fails. */
async function orRelease(past: HistoricalState, work: () => Promise<void>): Promise<HistoricalState> {
  try {
    await work();
    return past;
  } catch (error) {
    past.release();
    throw error;
  }
}

const resting = (assertWanted: () => void): Pause => {
  const pause = sliceTurns();
  return async () => {
    await pause();
    assertWanted();
  };
};

const keyOf = ({ number }: Opening, sequence: number): string => `${number}/${sequence}`;
