/**
 * The past states of all collections of a shard, in the thread that is theirs: rebuilt when a search asks for one, kept
 * for the next that does, the least recently used given up first.
 *
 *   asked for ──▶ rebuilding ──▶ kept ──bound reached, or collection closed──▶ destroyed, once no search uses it
 *                     └── nobody waits any more, closed, or failed ──▶ destroyed
 *
 * The bound is on what is kept. States that are being rebuilt, two at once, and those that searches use come on top; one
 * that is larger than the bound serves those who wait for it and is not kept.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { nextTurn } from '../pause.js';
import { Lanes } from './lanes.js';
import type { Opening } from './opening.js';
import type { Measured } from './pastMetrics.js';
import { emptyState, NO_REQUESTS, PastState } from './pastState.js';
import { Rebuild } from './rebuild.js';
import type { Restore, SavedSnapshot, SetAside, Snapshots } from './snapshots.js';

export interface PastStatesOptions {
  readonly boundBytes: number;
  readonly memory: VectorMemory;
  readonly clock: Clock;
  readonly snapshots: Snapshots;
  readonly measured: (what: Measured) => void;
  readonly setAside: (opening: Opening, snapshot: SetAside) => void;
}

export class PastStates {
  // Both by `keyOf`.
  readonly #kept: LRUCache<string, PastState>;
  readonly #rebuilds = new Map<string, Rebuild>();
  /** Under way, by opening: each settles when nothing of it runs any more. */
  readonly #writing = new Map<Opening, Promise<unknown>>();
  readonly #lanes = new Lanes();

  constructor(private readonly options: PastStatesOptions) {
    this.#kept = new LRUCache({
      maxSize: options.boundBytes,
      sizeCalculation: (past) => Math.ceil(past.sizeBytes),
      dispose: (past) => past.drop(),
    });
  }

  /** Estimated. */
  get keptBytes(): number {
    return this.#kept.calculatedSize;
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

  /**
   * Writes a snapshot of the newest frame end at or before event `upTo`, which has been committed. Undefined where there
   * is one already. One at a time of each collection: who asks for another meanwhile is given that one.
   */
  async snapshot(opening: Opening, upTo: number): Promise<SavedSnapshot | undefined> {
    opening.closing.throwIfAborted();
    const before = this.#writing.get(opening);
    if (before !== undefined) return before as Promise<SavedSnapshot | undefined>;
    const writing = this.#lanes
      .run(() => this.#write(opening, upTo), opening.closing)
      .finally(() => this.#writing.delete(opening));
    this.#writing.set(opening, writing);
    return writing;
  }

  /** Stops its rebuilds, with `reason` for those who wait, and gives up what is kept. Resolves when its log is not read. */
  async close(opening: Opening, reason: Error): Promise<void> {
    opening.close(reason);
    const rebuilds = [...this.#rebuilds.values()].filter((rebuild) => rebuild.opening === opening);
    await Promise.allSettled([...rebuilds.map((rebuild) => rebuild.ended()), this.#writing.get(opening)]);
    for (const [key] of [...this.#keptOf(opening)]) this.#kept.delete(key);
    this.#tellKept();
  }

  /** Held for the caller. */
  #held(opening: Opening, sequence: number, deadlineMs: number): Promise<PastState> {
    // Nothing to read and nothing to keep.
    if (sequence === 0) return Promise.resolve(this.#empty(opening, NO_REQUESTS));
    const key = keyOf(opening, sequence);
    const kept = this.#kept.get(key);
    this.options.measured({ what: 'searched', from: kept === undefined ? 'rebuilt' : 'kept' });
    if (kept !== undefined) return Promise.resolve(kept.hold());
    return this.#rebuilds.get(key)?.join(deadlineMs) ?? this.#rebuild(opening, sequence, deadlineMs).made;
  }

  #rebuild(opening: Opening, sequence: number, deadlineMs: number): Rebuild {
    const key = keyOf(opening, sequence);
    const { clock, measured } = this.options;
    const startedMs = clock.monotonicMs();
    const rebuild = new Rebuild(
      opening,
      clock,
      deadlineMs,
      (assertWanted) => this.#lanes.run(() => this.#make(opening, sequence, assertWanted), opening.closing),
      (past) => {
        this.#rebuilds.delete(key);
        const seconds = (clock.monotonicMs() - startedMs) / 1000;
        measured({ what: 'rebuilt', outcome: past === undefined ? 'failed' : 'done', seconds });
        if (past !== undefined) this.#keep(key, past);
      },
    );
    this.#rebuilds.set(key, rebuild);
    return rebuild;
  }

  /** Held once. */
  async #make(opening: Opening, sequence: number, assertWanted: () => void): Promise<PastState> {
    assertWanted();
    const after = this.#nearestBefore(opening, sequence)?.[1].sequence ?? 0;
    const restored = await this.#restored(opening, { upTo: sequence, after, dedupWindow: NO_REQUESTS }, assertWanted);
    const past = restored ?? this.#takeBefore(opening, sequence) ?? this.#empty(opening, NO_REQUESTS);
    return advanced(past, (started) => started.advance(sequence, 'exactly', assertWanted));
  }

  async #write(opening: Opening, upTo: number): Promise<SavedSnapshot | undefined> {
    const { place, config, closing } = opening;
    if (place === undefined) throw new Error('the collection has no place for snapshots');
    const { dedupWindow } = place;
    const assertWanted = (): void => closing.throwIfAborted();
    const restored = await this.#restored(opening, { upTo, after: 0, dedupWindow }, assertWanted);
    const before = restored?.sequence ?? 0;
    const past = restored ?? this.#empty(opening, dedupWindow);
    await advanced(past, (started) => started.advance(upTo, 'whole', assertWanted));
    try {
      if (past.sequence === before) return undefined;
      return await this.options.snapshots.write({ config, place }, past.made, resting(assertWanted));
    } finally {
      past.release();
    }
  }

  /** Held once; undefined where there is no snapshot that is nearer than what is there already. */
  async #restored(
    opening: Opening,
    wanted: Pick<Restore, 'upTo' | 'after' | 'dedupWindow'>,
    assertWanted: () => void,
  ): Promise<PastState | undefined> {
    const { snapshots, memory, clock, setAside } = this.options;
    const { config, place } = opening;
    if (place === undefined) return undefined;
    const onSetAside = (snapshot: SetAside): void => setAside(opening, snapshot);
    const restored = await snapshots.restore(
      { config, place },
      { ...wanted, memory, onSetAside, rest: resting(assertWanted) },
    );
    return restored && new PastState(opening, restored, clock).hold();
  }

  /** Held once. */
  #empty(opening: Opening, dedupWindow: number): PastState {
    const { memory, clock } = this.options;
    return new PastState(opening, emptyState(opening, memory, dedupWindow), clock).hold();
  }

  /** The nearest earlier state that nobody uses: going on from there costs less than beginning. */
  #nearestBefore(opening: Opening, sequence: number): [string, PastState] | undefined {
    let nearest: [string, PastState] | undefined;
    for (const [key, past] of this.#keptOf(opening)) {
      const isEarlier = past.sequence < sequence && past.sequence > (nearest?.[1].sequence ?? 0);
      if (isEarlier && !past.isHeld) nearest = [key, past];
    }
    return nearest;
  }

  /** Held once, not kept any more. */
  #takeBefore(opening: Opening, sequence: number): PastState | undefined {
    const nearest = this.#nearestBefore(opening, sequence);
    nearest?.[1].hold();
    if (nearest !== undefined) this.#kept.delete(nearest[0]);
    return nearest?.[1];
  }

  #keep(key: string, past: PastState): void {
    if (past.opening.closing.aborted) return;
    past.keep();
    this.#kept.set(key, past);
    if (this.#kept.peek(key) !== past) past.drop();
    this.#tellKept();
  }

  #tellKept(): void {
    this.options.measured({ what: 'kept', bytes: this.keptBytes });
  }

  *#keptOf(opening: Opening): Generator<[string, PastState]> {
    for (const entry of this.#kept.entries()) if (entry[1].opening === opening) yield entry;
  }
}

/** The state once it has advanced; where that fails it is released. */
async function advanced(past: PastState, advance: (past: PastState) => Promise<void>): Promise<PastState> {
  try {
    await advance(past);
    return past;
  } catch (error) {
    past.release();
    throw error;
  }
}

const resting = (assertWanted: () => void) => async (): Promise<void> => {
  await nextTurn();
  assertWanted();
};

const keyOf = ({ number }: Opening, sequence: number): string => `${number}/${sequence}`;
