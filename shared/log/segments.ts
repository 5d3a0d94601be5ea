/**
 * Event logs in local files, for a standalone node: `<folder>/<collection id>/log/<base>.seg`. The public interface of the
 * segment files. One process uses the folder; several openings of a log share it, and fence each other.
 */
import { join } from 'node:path';
import { type Clock, systemClock } from '../clock.js';
import { refusal, unavailable, type VouchError } from '../errors/errors.js';
import { deleteTree, isThere, makeDirectory } from '../files/durable.js';
import { ownerOfLog } from '../model/logId.js';
import { KeyedMutex } from '../scheduling/mutex.js';
import type { DoubtedLog, EventLog, EventLogs, LogLosses, Position, StoredFrame, WatchedLog } from './eventLog.js';
import { SegmentedLog } from './segmentedLog.js';
import { SegmentFiles } from './segmentFiles.js';
import { FRAME_BYTES_MAX } from './segmentFormat.js';

const SEGMENT_BYTES = 64 * 1024 * 1024;
const OPEN_FILES_MAX = 64;
const LOOKED_AT_MAX = 200;
/** The folder of logs that are being removed; no collection has this name. */
const REMOVED = 'removed';

export interface LocalLogsOptions {
  readonly folder: string;
  readonly clock?: Clock;
  readonly segmentBytes?: number;
  readonly openFilesMax?: number;
}

interface OpenLog {
  readonly log: SegmentedLog;
  readonly handles: Set<LogHandle>;
}

export class LocalLogs implements EventLogs, LogLosses {
  readonly lateMs = 0;
  readonly #options: Required<LocalLogsOptions>;
  readonly #files: SegmentFiles;
  readonly #shared = new Map<number, OpenLog>();
  #lookedAt = 0;
  readonly #removals = new KeyedMutex<number>();
  #removed = 0;
  #closed = false;

  private constructor(options: Required<LocalLogsOptions>) {
    this.#options = options;
    this.#files = new SegmentFiles(options.openFilesMax);
  }

  /** Makes a missing folder, and finishes removals that a crash has interrupted. */
  static async open(options: LocalLogsOptions): Promise<LocalLogs> {
    const removed = join(options.folder, REMOVED);
    await makeDirectory(options.folder);
    await deleteTree(removed);
    await makeDirectory(removed);
    const defaults = { clock: systemClock, segmentBytes: SEGMENT_BYTES, openFilesMax: OPEN_FILES_MAX };
    return new LocalLogs({ ...defaults, ...options });
  }

  /** Opens a log without making a file. Throws LogDamaged if the headers or the tail do not verify. */
  async open(collectionId: number): Promise<EventLog> {
    await this.#removals.idle(collectionId);
    if (this.#closed) throw closed();
    const shared = this.#shared.get(collectionId) ?? { log: this.#logOf(collectionId), handles: new Set<LogHandle>() };
    this.#shared.set(collectionId, shared);
    const handle = new LogHandle(shared.log, () => this.#release(collectionId, shared, handle));
    shared.handles.add(handle);
    try {
      await shared.log.ready();
    } catch (error) {
      await handle.close();
      throw error;
    }
    return handle;
  }

  async remove(collectionId: number): Promise<void> {
    if (this.#closed) throw closed();
    await this.#removals.run(collectionId, async () => {
      const shared = this.#shared.get(collectionId);
      for (const handle of shared?.handles ?? []) await handle.close();
      const log = shared?.log ?? this.#logOf(collectionId);
      await this.#keepFolder();
      await log.remove(join(this.#options.folder, REMOVED, `${collectionId}.${++this.#removed}`));
    });
  }

  /**
   * Checks `LOOKED_AT_MAX` logs, and the next ones in the next call: the files of an open log, the folder of another. Makes the
   * folder of all logs again if it was removed.
   */
  async look(watched: readonly WatchedLog[]): Promise<DoubtedLog[]> {
    await this.#keepFolder();
    const from = this.#lookedAt < watched.length ? this.#lookedAt : 0;
    const some = watched.slice(from, from + LOOKED_AT_MAX);
    this.#lookedAt = from + some.length;
    const doubts: DoubtedLog[] = [];
    for (const { collectionId } of some) {
      const open = this.#shared.get(collectionId)?.log;
      const loss = await open?.loss();
      const isMissing = open === undefined && !(await isThere(this.#folderOf(collectionId)));
      if (loss !== undefined || isMissing) doubts.push({ collectionId, loss });
    }
    return doubts;
  }

  /** Resolves when every append has ended and every file is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    const handles = [...this.#shared.values()].flatMap((shared) => [...shared.handles]);
    await Promise.all([...handles.map((handle) => handle.close()), this.#removals.allIdle()]);
    await this.#files.close();
  }

  /** Makes the folder of removed logs, and the one above it, if they are missing. */
  async #keepFolder(): Promise<void> {
    const removed = join(this.#options.folder, REMOVED);
    if (!(await isThere(removed))) await makeDirectory(removed);
  }

  #logOf(collectionId: number): SegmentedLog {
    const { clock, segmentBytes } = this.#options;
    const folder = this.#folderOf(collectionId);
    return new SegmentedLog({ collectionId, folder, files: this.#files, clock, segmentBytes });
  }

  #folderOf(logId: number): string {
    const { collectionId, isOfAccess } = ownerOfLog(logId);
    return join(this.#options.folder, String(collectionId), isOfAccess ? 'access' : 'log');
  }

  #release(collectionId: number, shared: OpenLog, handle: LogHandle): void {
    shared.handles.delete(handle);
    if (shared.handles.size === 0 && this.#shared.get(collectionId) === shared) this.#shared.delete(collectionId);
  }
}

class LogHandle implements EventLog {
  readonly maxFrameBytes = FRAME_BYTES_MAX;
  readonly staleMs = 0;
  /** Unused: losses are found in the files. */
  readonly added = 0;
  #closing: Promise<void> | undefined;

  constructor(
    private readonly log: SegmentedLog,
    private readonly release: () => void,
  ) {}

  async append(frame: Uint8Array, after: Position, deadlineMs: number): Promise<Position> {
    const log = this.#open;
    if (frame.length > FRAME_BYTES_MAX)
      throw refusal('payload_too_large', 'commit', { bytes: frame.length, max: FRAME_BYTES_MAX });
    return log.append(frame, after, deadlineMs);
  }

  /** Not needed: a read of a file is complete. */
  async barrier(): Promise<void> {}

  async *read(after: Position): AsyncGenerator<StoredFrame> {
    for await (const frame of this.#open.read(after)) {
      yield frame;
      if (this.#closing !== undefined) throw closed();
    }
  }

  async readAt(position: Position): Promise<Uint8Array> {
    return this.#open.readAt(position);
  }

  async head(): Promise<StoredFrame | undefined> {
    return this.#open.head();
  }

  async endSegment(): Promise<void> {
    return this.#open.endSegment();
  }

  async trim(position: Position): Promise<void> {
    return this.#open.trim(position);
  }

  close(): Promise<void> {
    this.#closing ??= this.log.idle().then(this.release);
    return this.#closing;
  }

  get #open(): SegmentedLog {
    if (this.#closing !== undefined) throw closed();
    return this.log;
  }
}

const closed = (): VouchError => unavailable('the log is closed');
