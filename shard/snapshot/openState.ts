/**
 * Opens a collection's state: from the newest snapshot that verifies and the rest of the log, else from the log alone.
 * Both ways give one state: one piece of code applies the log.
 *
 * ```text
 * Of the log? ─▶ whole? ─▶ state hash? ─▶ the rest of the log ─▶ open
 *      └───────────┴────────────┴────────────────┴─▶ set aside: use an older one, at last the log alone.
 * ```
 *
 * Until it verifies, the log may be what is damaged. So a snapshot that does not belong to the log, or that the log
 * contradicts, is set aside only after that.
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf, VouchError } from '../../shared/errors/errors.js';
import { isOfSystem } from '../../shared/files/durable.js';
import { Damaged } from '../../shared/log/damaged.js';
import type { EventLog, EventLogs } from '../../shared/log/eventLog.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { CollectionState } from '../state/collectionState.js';
import { Journal } from '../state/journal.js';
import type { ContentOpener } from '../state/replay.js';
import { type LogPlace, placeAt } from './checkLog.js';
import type { MadeSnapshot } from './collectionSnapshots.js';
import type { SnapshotName } from './folder.js';
import { DamagedSnapshot, UnusableSnapshot } from './format.js';
import { readHere } from './readJob.js';
import { restoreSnapshot, type SnapshotContents } from './restore.js';
import type { SnapshotState } from './savedSnapshots.js';
import { type OpenedSnapshot, openSnapshot } from './snapshotFile.js';
import { assertOfCollection, isOfLog } from './snapshotIdentity.js';
import type { SnapshotServices } from './snapshotServices.js';

/** Time between two log lines about an opening. */
const LOG_EVERY_MS = 1_000;

/** A snapshot up to this size is read by this thread, in a few milliseconds. Starting others takes longer. */
const SMALL_BYTES = 256 << 10;

export interface OpenState {
  readonly state: CollectionState;
  readonly journal: Journal;
  readonly snapshot: MadeSnapshot | undefined;
  /** End of the part of the log that the snapshot replaces, which was not read. */
  readonly unread: LogPlace | undefined;
}

interface OpeningOptions {
  readonly memory: VectorMemory;
  readonly dedupWindow: number;
  readonly clock: Clock;
  readonly logs: Pick<EventLogs, 'lateMs'>;
  readonly snapshots?: SnapshotServices;
  /** Opens the contents of records under keys. */
  readonly contents?: ContentOpener & SnapshotContents;
  /** Receives the steps of the opening. */
  readonly openings?: { step(collectionId: number, kind: string, number: number): void };
}

interface Suspect {
  readonly path: string;
  readonly reason: string;
}

/** Opens the state. Throws Damaged if the log does not verify, `capacity_exceeded`, and `unavailable`. */
export function openState(config: CollectionConfig, log: EventLog, options: OpeningOptions): Promise<OpenState> {
  const { snapshots } = options;
  return snapshots === undefined
    ? readLog(config, log, options)
    : new StateOpening(config, log, options, snapshots).run();
}

interface Restored {
  readonly from: SnapshotState;
  readonly made: MadeSnapshot;
}

/** Reads the log from the end of the snapshot. On an error the memory is freed. `onBegin` gets the journal first. */
async function readLog(
  config: CollectionConfig,
  log: EventLog,
  { memory, dedupWindow, clock, logs, openings, contents }: OpeningOptions,
  { restored, onBegin }: { readonly restored?: Restored; readonly onBegin?: (journal: Journal) => void } = {},
): Promise<OpenState> {
  const newState = (): CollectionState =>
    new CollectionState(config, new VectorBlocks(memory, config.dimension), dedupWindow);
  const state = restored?.from.state ?? newState();
  const services = { clock, lateMs: logs.lateMs, ...(contents && { contents }), history: restored?.from.history };
  const journal = new Journal(config, log, state, services);
  onBegin?.(journal);
  journal.onStep = openings && ((sequence) => openings.step(config.id, 'event', sequence));
  const { position, end } = journal.history;
  const unread = restored && placeAt(position, end);
  try {
    await journal.catchUp();
  } catch (error) {
    state.vectors.destroy();
    throw error;
  } finally {
    journal.onStep = undefined;
  }
  return { state, journal, snapshot: restored?.made, unread };
}

class StateOpening {
  readonly #startedMs: number;
  #records = { read: 0, of: 0 };
  #journal: Journal | undefined;
  /** Sequence of the last event in the log; undefined if it is not known. */
  #lastSequence: Promise<number | undefined> | undefined;
  /** Whether the opening took so long that it was logged. */
  #isLogged = false;
  #isEnded = false;

  constructor(
    private readonly config: CollectionConfig,
    private readonly log: EventLog,
    private readonly options: OpeningOptions,
    private readonly services: SnapshotServices,
  ) {
    this.#startedMs = services.clock.monotonicMs();
  }

  async run(): Promise<OpenState> {
    const logging = setInterval(() => this.#logProgress(), LOG_EVERY_MS).unref();
    try {
      const opened = await this.#open();
      const from = opened.snapshot === undefined ? 'log' : 'snapshot';
      this.services.metrics.observe('vouch_open_seconds', { from }, this.#seconds);
      this.#logEnd('opened a collection');
      return opened;
    } catch (error) {
      this.#logEnd('opening a collection: failed');
      throw error;
    } finally {
      clearInterval(logging);
      this.#isEnded = true;
      this.services.progress.delete(this.config.id);
    }
  }

  async #open(): Promise<OpenState> {
    const suspects: Suspect[] = [];
    const opened = (await this.#fromSnapshot(suspects)) ?? (await this.#readLog());
    // The log verifies by itself, so the snapshots are wrong.
    for (const { path, reason } of suspects) await this.#setAside(path, reason);
    return opened;
  }

  /** Returns undefined if no snapshot can be used. Adds those that contradict the log to `suspects`. */
  async #fromSnapshot(suspects: Suspect[]): Promise<OpenState | undefined> {
    for (const snapshot of await this.#usable(suspects)) {
      const from = await this.#restored(snapshot);
      if (from === undefined) continue;
      const { sizeBytes, facts, path } = snapshot;
      try {
        return await this.#readLog({ from, made: { sizeBytes, logBytes: facts.logBytes, madeAtMs: facts.madeAtMs } });
      } catch (error) {
        if (!(error instanceof Damaged)) throw error;
        suspects.push({ path, reason: messageOf(error) });
        return undefined;
      }
    }
    return undefined;
  }

  /**
   * Returns the usable snapshots, newest first. All are checked, since past states too begin from those of this log
   * only.
   */
  async #usable(suspects: Suspect[]): Promise<OpenedSnapshot[]> {
    const usable: OpenedSnapshot[] = [];
    for (const { path } of await this.#newestFirst()) {
      const checked = await this.#orUndefined(path, async () => {
        const snapshot = await openSnapshot(path);
        assertOfCollection(snapshot, this.config, this.options.dedupWindow);
        return { snapshot, fits: await isOfLog(snapshot.facts, this.log, this.services.clock) };
      });
      if (checked?.fits) usable.push(checked.snapshot);
      else if (checked !== undefined) suspects.push({ path, reason: 'it does not belong to the log' });
    }
    return usable;
  }

  /** Returns no snapshot if the disk cannot be read, since the log has everything that a snapshot has. */
  async #newestFirst(): Promise<readonly SnapshotName[]> {
    try {
      return await this.services.store.newestFirst(this.config.id);
    } catch (error) {
      if (!isOfSystem(error)) throw error;
      this.services.logger.warn({ collection: this.config.id, reason: messageOf(error) }, 'snapshots cannot be read');
      return [];
    }
  }

  #restored(snapshot: OpenedSnapshot): Promise<SnapshotState | undefined> {
    const { config } = this;
    const { memory, dedupWindow, openings, contents } = this.options;
    const { threads, progress } = this.services;
    const onProgress = (read: number, of: number): void => {
      this.#records = { read, of };
      progress.set(config.id, read / of);
    };
    const isSmall = snapshot.sizeBytes <= SMALL_BYTES;
    const reading = isSmall ? { read: readHere, readers: 1 } : { read: threads.read, readers: threads.count };
    return this.#orUndefined(snapshot.path, () =>
      restoreSnapshot(snapshot, {
        ...{ config, memory, dedupWindow, contents, ...reading, onProgress },
        onStep: (kind, number) => openings?.step(config.id, kind, number),
      }),
    );
  }

  /** Returns undefined if the snapshot cannot be used; a log line says why. Throws Damaged if the log is damaged. */
  async #orUndefined<T>(path: string, work: () => Promise<T>): Promise<T | undefined> {
    const { metrics, logger } = this.services;
    try {
      return await work();
    } catch (error) {
      if (error instanceof VouchError || error instanceof Damaged) throw error;
      if (error instanceof DamagedSnapshot) {
        await this.#setAside(path, error.message);
        return undefined;
      }
      if (error instanceof UnusableSnapshot) metrics.count('vouch_snapshots_refused_total', { reason: 'unusable' });
      logger.warn({ collection: this.config.id, path, reason: messageOf(error) }, 'a snapshot is not used');
      return undefined;
    }
  }

  async #setAside(path: string, reason: string): Promise<void> {
    const { metrics, store, logger } = this.services;
    metrics.count('vouch_snapshots_refused_total', { reason: 'damaged' });
    try {
      await store.setAside(this.config.id, path, reason);
    } catch (error) {
      if (!isOfSystem(error)) throw error;
      logger.warn({ path, reason, error: messageOf(error) }, 'a damaged snapshot cannot be set aside');
    }
  }

  #readLog(restored?: Restored): Promise<OpenState> {
    const onBegin = (journal: Journal): void => {
      this.#journal = journal;
    };
    return readLog(this.config, this.log, this.options, { restored, onBegin });
  }

  #logProgress(): void {
    const { read, of } = this.#records;
    this.#isLogged = true;
    const about = { collection: this.config.id, seconds: this.#seconds };
    if (this.#journal !== undefined) void this.#logLogSize(this.#journal.sequence);
    else this.services.logger.info({ ...about, records: read, of }, 'opening a collection: reading its snapshot');
  }

  /** Asks once how much there is to read. No step waits for the answer. */
  async #logLogSize(sequence: number): Promise<void> {
    const { logger, progress } = this.services;
    this.#lastSequence ??= this.log
      .head()
      .then((head) => head && readFrameHeader(head.bytes).lastSequence)
      .catch(() => undefined);
    const of = await this.#lastSequence;
    const about = { collection: this.config.id, seconds: this.#seconds, sequence };
    if (this.#isEnded) return;
    if (of !== undefined && of > 0) progress.set(this.config.id, Math.min(1, sequence / of));
    logger.info({ ...about, of }, 'opening a collection: reading its log');
  }

  /** Logs the end. The reason of a failure is not logged here, since the caller receives it. */
  #logEnd(text: string): void {
    const about = { collection: this.config.id, seconds: this.#seconds, sequence: this.#journal?.sequence };
    if (this.#isLogged) this.services.logger.info(about, text);
  }

  get #seconds(): number {
    return (this.services.clock.monotonicMs() - this.#startedMs) / 1000;
  }
}
