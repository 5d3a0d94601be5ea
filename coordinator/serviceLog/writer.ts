/**
 * Writes the service log, on the placement leader, in rounds. A round asks the shards which collections have changed, and
 * appends their checkpoints, the deletions, and from time to time a census. No write of a client waits for it. A shard may end
 * before its change was asked for. So once a second the ends of some logs are read, until all have been.
 *
 * ```text
 * not leading ──lease──▶ up to date ──changes──▶ appended ──▶ up to date
 *      ▲                     │ fenced, or outcome unknown: the log is read first
 *      └──lease has ended────┘
 * ```
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { Mutex } from '../../shared/scheduling/mutex.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import type { LogSources } from '../cluster/reports/logSources.js';
import { Census } from './census.js';
import { accessEntry, checkpointEntry, deletionEntry, readEntryHead } from './entry.js';
import type { LogStore } from './logStore.js';

/** Largest number of checkpoint calls in flight: each reads its collection. */
const CHECKPOINTS_AT_ONCE = 16;
const LOOK_EVERY_MS = 1_000;
/** Largest number of collections that a round opens only for their checkpoint. */
const OPENED_PER_ROUND = 64;
/** Largest number of entries of a frame: some milliseconds of hashing. */
const ENTRIES_PER_FRAME = 500;
const APPEND_MS = 5_000;

export interface WriterOptions {
  readonly store: LogStore;
  readonly sources: Pick<LogSources, keyof LogSources>;
  /** Whether the log may grow: this process has its key, and no rollback was found. */
  readonly mayWrite: () => Promise<boolean>;
  /** The first id of a collection that is younger than the log: the log must cover all its events. */
  readonly firstId: () => number;
  readonly onAppended: () => void;
  readonly everyMs: number;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class LogWriter {
  readonly #rounds: PeriodicTask;
  readonly #looks: PeriodicTask;
  /** Ensures that this coordinator appends nothing between asking for a sequence and comparing it. */
  readonly #turns = new Mutex();
  readonly #census: Census;
  /** Collection → a sequence that the log lacks, read while the collection was not in memory. */
  readonly #unlogged = new Map<number, number>();
  /** Collections with fewer events than the log records, and minus those with fewer entries in the access log; each is reported once. */
  readonly #shorter = new Set<number>();
  /** The start of the first round since the last one that succeeded; undefined after a success. */
  #unwrittenSinceMs: number | undefined;

  constructor(private readonly options: WriterOptions) {
    this.#rounds = new PeriodicTask(() => this.#turns.run(() => this.#round()), options.everyMs);
    this.#looks = new PeriodicTask(() => this.#turns.run(() => this.#look()), LOOK_EVERY_MS);
    this.#census = new Census(options.store, options.sources, options.clock);
  }

  start(): void {
    this.#rounds.start();
    this.#looks.start();
  }

  async stop(): Promise<void> {
    await this.#looks.stop();
    await this.#rounds.stop();
  }

  /** Runs a round now; resolves when it is done. */
  now(): Promise<void> {
    return this.#rounds.now();
  }

  /** Reads the ends of the next unseen logs now; resolves when that is done. */
  lookNow(): Promise<void> {
    return this.#looks.now();
  }

  /** Time since the last successful round, minus the pause between rounds; 0 if the last round succeeded. */
  get unwrittenMs(): number {
    const { clock, everyMs } = this.options;
    const sinceMs = this.#unwrittenSinceMs;
    return sinceMs === undefined ? 0 : Math.max(0, clock.monotonicMs() - sinceMs - everyMs);
  }

  async #round(): Promise<void> {
    const { sources, metrics, clock, logger } = this.options;
    if (sources.leads) this.#unwrittenSinceMs ??= clock.monotonicMs();
    try {
      if (sources.leads) await this.#write();
      this.#unwrittenSinceMs = undefined;
    } catch (error) {
      metrics.count('vouch_log_failures_total');
      logger.warn({ error: messageOf(error) }, 'the service log could not be written; the next round tries again');
    }
  }

  async #write(): Promise<void> {
    const { sources, store, mayWrite } = this.options;
    await store.refresh();
    const erased = sources.erased();
    if (!(await mayWrite())) return this.#forgetErased(erased);
    const checkpoints = await this.#checkpoints(erased);
    await this.#append([...this.#deletions(erased), ...checkpoints, ...(await this.#accesses(erased))]);
    await this.#forgetErased(erased);
    const census = await this.#census.due();
    if (census !== undefined) await this.#append([census]);
  }

  async #append(entries: readonly Uint8Array[]): Promise<void> {
    const { sources, store, onAppended, metrics, clock } = this.options;
    for (let from = 0; from < entries.length && sources.leads; from += ENTRIES_PER_FRAME) {
      const some = entries.slice(from, from + ENTRIES_PER_FRAME);
      await store.append(some, clock.nowMs() + APPEND_MS);
      metrics.count('vouch_log_entries_total', some.length);
      onAppended();
    }
  }

  /** Looks for events that no round has seen, such as the last ones before a crash. */
  async #look(): Promise<void> {
    const { sources, store } = this.options;
    if (!sources.leads) return;
    const askedAt = store.tree.size;
    for (const [id, sequence] of await sources.unseenSequences(store.collections))
      if (this.#isBehind(id, sequence, askedAt)) this.#unlogged.set(id, sequence);
  }

  #deletions(erased: readonly number[]): Uint8Array[] {
    const { store, clock } = this.options;
    return erased.flatMap((id) => {
      const logged = store.collections.get(id);
      if (logged === undefined || logged.isDeleted) return [];
      return [deletionEntry(id, logged.configHash, Math.max(clock.nowMs(), logged.timeMs))];
    });
  }

  /** Removes the marks of erased collections that the log records as deleted, or never had. */
  async #forgetErased(erased: readonly number[]): Promise<void> {
    const { store, sources } = this.options;
    for (const id of erased) {
      this.#unlogged.delete(id);
      if (store.collections.get(id)?.isDeleted !== false) await sources.forgetErased(id);
    }
  }

  async #checkpoints(erased: readonly number[]): Promise<Uint8Array[]> {
    const { sources } = this.options;
    const askedAt = this.options.store.tree.size;
    const open = await sources.openSequences();
    const changed = new Set<number>();
    for (const [id, sequence] of open) if (this.#isBehind(id, sequence, askedAt)) changed.add(id);
    for (const [id, sequence] of this.#unlogged)
      if (open.has(id) || !this.#isToOpen(id, sequence)) this.#unlogged.delete(id);
    for (const [id, sequence] of [...this.#unlogged].slice(0, OPENED_PER_ROUND)) {
      changed.add(id);
      // Move it to the end: a collection that cannot be opened must not keep the others waiting.
      this.#unlogged.delete(id);
      this.#unlogged.set(id, sequence);
    }
    for (const id of erased) changed.delete(id);
    const entries = await mapConcurrent([...changed], CHECKPOINTS_AT_ONCE, (id) => this.#checkpoint(id));
    return entries.filter((entry) => entry !== undefined);
  }

  /** Entries about the access logs in memory that have grown. */
  async #accesses(erased: readonly number[]): Promise<Uint8Array[]> {
    const { sources, store, clock, logger } = this.options;
    const heads = await sources.accessHeads();
    return heads.flatMap((head) => {
      const { collectionId, size } = head;
      const logged = store.accesses.get(collectionId);
      if (logged !== undefined && size < logged.size && !this.#shorter.has(-collectionId)) {
        this.#shorter.add(-collectionId);
        const facts = { collectionId, entries: size, loggedEntries: logged.size };
        logger.error(facts, 'an access log has fewer entries than the service log says: it was rolled back');
      }
      const isDeleted = erased.includes(collectionId) || store.collections.get(collectionId)?.isDeleted === true;
      if (isDeleted || size <= (logged?.size ?? 0)) return [];
      return [accessEntry({ ...head, timeMs: Math.max(clock.nowMs(), logged?.timeMs ?? 0) })];
    });
  }

  /** Whether to open the collection so that event `sequence` gets into the log. */
  #isToOpen(id: number, sequence: number): boolean {
    const { store, firstId } = this.options;
    const logged = store.collections.get(id);
    // A collection without entries that is older than the log may have had all its events before the log.
    return logged === undefined ? id >= firstId() : !logged.isDeleted && logged.size <= sequence;
  }

  /** Whether the log lacks event `sequence` of the collection. `askedAt`: entries of the log when the sequence was asked for. */
  #isBehind(id: number, sequence: number, askedAt: number): boolean {
    const { store, logger } = this.options;
    const logged = store.collections.get(id);
    if (logged === undefined) return sequence > 0;
    // Entries read since then, appended by another coordinator, may cover later events.
    const isOlder = logged.indexes.at(-1)! < askedAt;
    if (isOlder && sequence + 1 < logged.size && !this.#shorter.has(id)) {
      this.#shorter.add(id);
      const facts = { collectionId: id, events: sequence + 1, loggedEvents: logged.size };
      logger.error(facts, 'a collection has fewer events than the service log says: it was rolled back');
    }
    return !logged.isDeleted && logged.size <= sequence;
  }

  /** The entry of the collection's checkpoint; undefined if it cannot be logged now: a later round tries again. */
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
      // Times in the log must not decrease, but another shard's clock may be behind.
      return size <= logged.size || timeMs < logged.timeMs ? undefined : entry;
    } catch (error) {
      logger.debug({ collectionId: id, error: messageOf(error) }, 'a checkpoint waits for the next round');
      return undefined;
    }
  }
}
