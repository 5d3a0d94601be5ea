/**
 * A collection's state as its log has it: from the newest snapshot that verifies and what the log holds beyond it, else
 * from the log alone. Either way it is the same state, and the same code applies what is read from the log.
 *
 *   of the log? ─▶ whole? ─▶ state hash? ─▶ the rest of the log ─▶ open
 *        └───────────┴────────────┴────────────────┴─▶ set aside: an older one, and after all of them the log
 *
 * One that is not of the log, or leads to something that the log does not bear out, is set aside once the log is seen to be
 * whole: until then it may be the log that is damaged.
 */
import type { CollectionConfig } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf, VouchError } from '../../shared/errors.js';
import type { EventLog, StoredFrame } from '../../shared/log/eventLog.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import { CollectionState } from '../collection/collectionState.js';
import { Damaged } from '../collection/damaged.js';
import { LogHistory } from '../collection/history.js';
import { Journal } from '../collection/journal.js';
import { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { type LogPlace, placeAt } from '../past/checkLog.js';
import { assertOfCollection, isOfLog } from './belonging.js';
import type { SnapshotMark } from './collectionSnapshots.js';
import { DamagedSnapshot, UnusableSnapshot } from './damagedSnapshot.js';
import { readHere } from './readJob.js';
import { type Restored, restoreSnapshot } from './restore.js';
import { type OpenedSnapshot, openSnapshot } from './snapshotFile.js';
import type { SnapshotServices } from './snapshotServices.js';

/** A line of the log, while a collection is being opened. */
const TELL_EVERY_MS = 1_000;

/** Read by this thread, in a few milliseconds: to start others takes longer. */
const SMALL_BYTES = 256 << 10;

export interface OpenState {
  readonly state: CollectionState;
  readonly journal: Journal;
  /** The snapshot that it was begun from. */
  readonly snapshot: SnapshotMark | undefined;
  /** The log up to there was not read: the snapshot stands for it. */
  readonly unread: LogPlace | undefined;
}

export interface OpeningOptions {
  readonly memory: VectorMemory;
  readonly dedupWindow: number;
  readonly clock: Clock;
  /** Undefined: the log alone is read. */
  readonly snapshots?: SnapshotServices;
}

/** Throws Damaged where the log does not verify, `capacity_exceeded`, `unavailable`. */
export async function openState(
  config: CollectionConfig,
  log: EventLog,
  { memory, dedupWindow, clock, snapshots }: OpeningOptions,
): Promise<OpenState> {
  const empty = (): CollectionState =>
    new CollectionState(config, new VectorBlocks(memory, config.dimension), dedupWindow);
  if (snapshots !== undefined) return new StateOpening(config, log, memory, dedupWindow, empty, snapshots).run();
  const state = empty();
  const journal = new Journal(config, log, state, clock);
  await caughtUp(journal, state);
  return { state, journal, snapshot: undefined, unread: undefined };
}

/** Where it throws, the memory is given back. */
async function caughtUp(journal: Journal, { vectors }: CollectionState): Promise<void> {
  try {
    await journal.catchUp();
  } catch (error) {
    vectors.destroy();
    throw error;
  }
}

/** A snapshot that the log does not bear out. */
interface Suspect {
  readonly path: string;
  readonly reason: string;
}

class StateOpening {
  readonly #startedMs: number;
  #records = { read: 0, of: 0 };
  #journal: Journal | undefined;
  /** Of the last event in the log; undefined where that is not known. */
  #lastSequence: Promise<number | undefined> | undefined;
  /** It takes long enough for somebody to wonder. */
  #isTold = false;
  #isEnded = false;

  constructor(
    private readonly config: CollectionConfig,
    private readonly log: EventLog,
    private readonly memory: VectorMemory,
    private readonly dedupWindow: number,
    private readonly empty: () => CollectionState,
    private readonly services: SnapshotServices,
  ) {
    this.#startedMs = services.clock.monotonicMs();
  }

  async run(): Promise<OpenState> {
    const telling = setInterval(() => this.#tell(), TELL_EVERY_MS).unref();
    try {
      const opened = await this.#open();
      this.services.metrics.opened(opened.snapshot === undefined ? 'log' : 'snapshot', this.#seconds);
      this.#tellEnd('opened a collection');
      return opened;
    } catch (error) {
      this.#tellEnd('opening a collection: given up');
      throw error;
    } finally {
      clearInterval(telling);
      this.#isEnded = true;
      this.services.progress.delete(this.config.id);
    }
  }

  async #open(): Promise<OpenState> {
    const suspects: Suspect[] = [];
    const opened =
      (await this.#fromSnapshot(suspects)) ??
      (await this.#caughtUp({ state: this.empty(), history: new LogHistory() }, undefined));
    // Of the two, the log is what counts: it verifies by itself, so it was the snapshots that were wrong.
    for (const { path, reason } of suspects) await this.#setAside(path, reason);
    return opened;
  }

  /** Undefined where there is none to begin from. What does not fit the log is added to `suspects`: either may be wrong. */
  async #fromSnapshot(suspects: Suspect[]): Promise<OpenState | undefined> {
    for (const snapshot of await this.#usable(suspects)) {
      const restored = await this.#restored(snapshot);
      if (restored === undefined) continue;
      try {
        return await this.#caughtUp(restored, markOf(snapshot));
      } catch (error) {
        if (!(error instanceof Damaged)) throw error;
        suspects.push({ path: snapshot.path, reason: messageOf(error) });
        return undefined;
      }
    }
    return undefined;
  }

  /** Newest first. All are looked at, so that past states too begin from those only that belong to the log. */
  async #usable(suspects: Suspect[]): Promise<OpenedSnapshot[]> {
    const usable: OpenedSnapshot[] = [];
    for (const { path } of await this.services.store.newestFirst(this.config.id)) {
      const judged = await this.#judged(path, async () => {
        const snapshot = await openSnapshot(path);
        assertOfCollection(snapshot, this.config, this.dedupWindow);
        return { snapshot, fits: await isOfLog(snapshot.facts, this.log, this.services.clock) };
      });
      if (judged?.fits) usable.push(judged.snapshot);
      else if (judged !== undefined) suspects.push({ path, reason: 'it does not belong to the log' });
    }
    return usable;
  }

  #restored(snapshot: OpenedSnapshot): Promise<Restored | undefined> {
    const { config, memory, dedupWindow } = this;
    const { threads, clock, progress } = this.services;
    const onProgress = (read: number, of: number): void => {
      this.#records = { read, of };
      progress.set(config.id, read / of);
    };
    const isSmall = snapshot.sizeBytes <= SMALL_BYTES;
    const read = isSmall ? readHere : threads.read;
    const readers = isSmall ? 1 : threads.count;
    return this.#judged(snapshot.path, () =>
      restoreSnapshot(snapshot, { config, memory, dedupWindow, read, readers, clock, onProgress }),
    );
  }

  /** Undefined where there is nothing to begin from: why, the log says. Throws Damaged where it is the log that is. */
  async #judged<T>(path: string, work: () => Promise<T>): Promise<T | undefined> {
    const { metrics, logger } = this.services;
    try {
      return await work();
    } catch (error) {
      if (error instanceof VouchError || error instanceof Damaged) throw error;
      if (error instanceof DamagedSnapshot) {
        await this.#setAside(path, error.message);
        return undefined;
      }
      if (error instanceof UnusableSnapshot) metrics.refused('unusable');
      logger.warn({ collection: this.config.id, path, reason: messageOf(error) }, 'a snapshot is not begun from');
      return undefined;
    }
  }

  async #setAside(path: string, reason: string): Promise<void> {
    this.services.metrics.refused('damaged');
    await this.services.store.setAside(this.config.id, path, reason);
  }

  async #caughtUp(
    { state, history }: Pick<Restored, 'state' | 'history'>,
    snapshot: SnapshotMark | undefined,
  ): Promise<OpenState> {
    const unread = snapshot && placeAt(history.position, history.end);
    const journal = new Journal(this.config, this.log, state, this.services.clock, history);
    this.#journal = journal;
    await caughtUp(journal, state);
    return { state, journal, snapshot, unread };
  }

  #tell(): void {
    const { read, of } = this.#records;
    this.#isTold = true;
    const about = { collection: this.config.id, seconds: this.#seconds };
    if (this.#journal !== undefined) void this.#tellOfLog(this.#journal.sequence);
    else this.services.logger.info({ ...about, records: read, of }, 'opening a collection: reading its snapshot');
  }

  /** How much there is to read is asked for once, of what takes long: nothing waits for it. */
  async #tellOfLog(sequence: number): Promise<void> {
    const { logger, progress } = this.services;
    this.#lastSequence ??= this.log
      .head()
      .then(lastOf)
      .catch(() => undefined);
    const of = await this.#lastSequence;
    const about = { collection: this.config.id, seconds: this.#seconds, sequence };
    if (this.#isEnded) return;
    if (of !== undefined && of > 0) progress.set(this.config.id, Math.min(1, sequence / of));
    logger.info({ ...about, of }, 'opening a collection: reading its log');
  }

  /** Why it was given up, whoever asked for it is told. */
  #tellEnd(text: string): void {
    const about = { collection: this.config.id, seconds: this.#seconds, sequence: this.#journal?.sequence };
    if (this.#isTold) this.services.logger.info(about, text);
  }

  get #seconds(): number {
    return (this.services.clock.monotonicMs() - this.#startedMs) / 1000;
  }
}

const markOf = ({ sizeBytes, facts: { logBytes, madeAtMs } }: OpenedSnapshot): SnapshotMark => ({
  sizeBytes,
  logBytes,
  madeAtMs,
});

/** Throws Malformed. */
function lastOf(frame: StoredFrame | undefined): number | undefined {
  if (frame === undefined) return undefined;
  const { firstSequence, events } = readFrameHeader(frame.bytes);
  return firstSequence + events - 1;
}
