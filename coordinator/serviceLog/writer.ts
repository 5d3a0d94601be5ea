/**
 * Writes the service log: on the coordinator that places collections, in rounds, it asks the shards which collections have
 * changed, and appends their checkpoints and the deletions. No write of a client waits for it.
 *
 *   not leading ──lease──▶ up to date ──changes──▶ appended ──▶ up to date
 *        ▲                     │ fenced, or outcome unknown: the log is read first
 *        └──lease is over──────┘
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import type { LogSources } from '../cluster/logSources.js';
import { checkpointEntry, deletionEntry, readEntryHead } from './entry.js';
import type { LogStore } from './logStore.js';

/** Checkpoints that are asked for at a time: each is a read of its collection. */
const CHECKPOINTS_AT_ONCE = 16;
/** Entries of a frame: some milliseconds of hashing. */
const ENTRIES_PER_FRAME = 500;
const APPEND_MS = 5_000;

export interface WriterOptions {
  readonly store: LogStore;
  readonly sources: Pick<LogSources, keyof LogSources>;
  /** Whether the log may grow: nothing has shown yet that it was rolled back, and its key is here. */
  readonly mayWrite: () => Promise<boolean>;
  readonly onAppended: () => void;
  readonly everyMs: number;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class LogWriter {
  readonly #rounds: PeriodicTask;
  /** Collections that have fewer events than the log says; each is told once. */
  readonly #shorter = new Set<number>();

  constructor(private readonly options: WriterOptions) {
    this.#rounds = new PeriodicTask(() => this.#round(), options.everyMs);
  }

  start(): void {
    this.#rounds.start();
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Runs a round now; resolves when it is done. */
  now(): Promise<void> {
    return this.#rounds.now();
  }

  async #round(): Promise<void> {
    const { sources, store, mayWrite, onAppended, metrics, logger } = this.options;
    if (!sources.leads) return;
    try {
      await store.refresh();
      const erased = [...sources.erased()];
      if (!(await mayWrite())) return await this.#forgetErased(erased);
      const entries = [...this.#deletions(erased), ...(await this.#checkpoints(erased))];
      for (let from = 0; from < entries.length && sources.leads; from += ENTRIES_PER_FRAME) {
        const some = entries.slice(from, from + ENTRIES_PER_FRAME);
        await store.append(some, this.options.clock.nowMs() + APPEND_MS);
        metrics.count('vouch_log_entries_total', some.length);
        onAppended();
      }
      await this.#forgetErased(erased);
    } catch (error) {
      metrics.count('vouch_log_failures_total');
      logger.warn({ error: messageOf(error) }, 'the service log could not be written; the next round tries again');
    }
  }

  #deletions(erased: readonly number[]): Uint8Array[] {
    const { store, clock } = this.options;
    return erased.flatMap((id) => {
      const logged = store.collections.get(id);
      if (logged === undefined || logged.isDeleted) return [];
      return [deletionEntry(id, logged.configHash, Math.max(clock.nowMs(), logged.timeMs))];
    });
  }

  /** A mark goes when the log says so, and where the log never had the collection. */
  async #forgetErased(erased: readonly number[]): Promise<void> {
    const { store, sources } = this.options;
    for (const id of erased) if (store.collections.get(id)?.isDeleted !== false) await sources.forgetErased(id);
  }

  async #checkpoints(erased: readonly number[]): Promise<Uint8Array[]> {
    const { sources, store } = this.options;
    const open = await sources.openSequences();
    // The others would be opened for their checkpoint: one that the log never had waits until it is.
    const unseen = [...(await sources.unseenSequences())].filter(([id]) => store.collections.has(id));
    const changed = new Set<number>();
    for (const [id, sequence] of [...open, ...unseen]) if (this.#isBehind(id, sequence)) changed.add(id);
    for (const id of erased) changed.delete(id);
    const entries = await mapConcurrent([...changed], CHECKPOINTS_AT_ONCE, (id) => this.#checkpoint(id));
    return entries.filter((entry) => entry !== undefined);
  }

  /** Whether the log does not have event `sequence` of the collection. */
  #isBehind(id: number, sequence: number): boolean {
    const logged = this.options.store.collections.get(id);
    if (logged === undefined) return sequence > 0;
    if (sequence + 1 < logged.size && !this.#shorter.has(id)) {
      this.#shorter.add(id);
      const facts = { collectionId: id, events: sequence + 1, loggedEvents: logged.size };
      this.options.logger.error(facts, 'a collection has fewer events than the service log says: it was rolled back');
    }
    return !logged.isDeleted && logged.size <= sequence;
  }

  /** Undefined if it cannot be logged now; a later round tries again. */
  async #checkpoint(id: number): Promise<Uint8Array | undefined> {
    const { sources, store, logger } = this.options;
    try {
      const entry = checkpointEntry(await sources.checkpoint(id));
      const { size, timeMs, configHash } = readEntryHead(entry);
      const logged = store.collections.get(id);
      if (logged === undefined) return entry;
      if (logged.configHash !== configHash) {
        logger.error(
          { collectionId: id, configHash },
          'a collection is not the one that the service log has under its id',
        );
        return undefined;
      }
      // The clock of another shard may be behind; time in the log does not go back.
      return size <= logged.size || timeMs < logged.timeMs ? undefined : entry;
    } catch (error) {
      logger.debug({ collectionId: id, error: messageOf(error) }, 'a checkpoint waits for the next round');
      return undefined;
    }
  }
}
