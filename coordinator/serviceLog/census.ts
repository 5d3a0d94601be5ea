/**
 * Census entries of the service log. An hourly entry counts the logged collections that exist; a logged collection that is
 * missing without a deletion is named at once. So an operator cannot take a collection away without one of four traces. These
 * are a deletion, a signed statement that it is missing, a false signed statement, and more than an hour without an entry.
 */
import type { Clock } from '../../shared/clock.js';
import { Slice } from '../../shared/scheduling/slice.js';
import type { LogSources } from '../cluster/reports/logSources.js';
import { censusEntry, MISSING_MAX } from './entry.js';
import type { LogStore } from './logStore.js';

const EVERY_MS = 3_600_000;
/** Interval of looks. A look visits all collections of the log: some tens of milliseconds for 100,000, in slices. */
const LOOK_EVERY_MS = 10_000;
/** Time before an unlisted collection counts as missing: a deletion arrives in two buckets, one after the other. */
const MISSING_AFTER_MS = 10_000;

export class Census {
  /** When each collection was first seen unlisted. */
  readonly #unlistedMs = new Map<number, number>();
  #nextLookMs = 0;

  constructor(
    private readonly store: LogStore,
    private readonly sources: Pick<LogSources, 'isListed' | 'isMissing'>,
    private readonly clock: Clock,
  ) {}

  /** The next entry, if one is due. Throws `unavailable`. */
  async due(): Promise<Uint8Array | undefined> {
    const { store, clock } = this;
    if (clock.monotonicMs() < this.#nextLookMs) return undefined;
    if (store.living === 0 && store.census === undefined) return undefined;
    this.#nextLookMs = clock.monotonicMs() + LOOK_EVERY_MS;
    const missing = await this.#missing();
    const { census: last, living } = store;
    const isSame = last !== undefined && last.missing.join() === missing.slice(0, MISSING_MAX).join();
    if (isSame && clock.nowMs() - last.timeMs < EVERY_MS) return undefined;
    const timeMs = Math.max(clock.nowMs(), last?.timeMs ?? 0);
    return censusEntry({ present: living - missing.length, missing, timeMs });
  }

  async #missing(): Promise<number[]> {
    const { store, sources, clock } = this;
    const slice = new Slice(clock);
    const unlisted = new Set<number>();
    for (const [id, { isDeleted }] of store.collections) {
      if (!isDeleted && !sources.isListed(id)) unlisted.add(id);
      if (slice.step()) await slice.next();
    }
    for (const id of this.#unlistedMs.keys()) if (!unlisted.has(id)) this.#unlistedMs.delete(id);
    const nowMs = clock.monotonicMs();
    const missing: number[] = [];
    for (const id of unlisted) {
      const sinceMs = this.#unlistedMs.get(id) ?? nowMs;
      this.#unlistedMs.set(id, sinceMs);
      if (nowMs - sinceMs >= MISSING_AFTER_MS && (await sources.isMissing(id))) missing.push(id);
    }
    return missing.sort((a, b) => a - b);
  }
}
