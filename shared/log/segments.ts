/**
 * Event logs in local files, for a node that stands alone: `<folder>/<collection id>/log/<base>.seg`. The public face of
 * the segment files. One process has the folder; several openers of a log share it, and are fenced against each other.
 */
import { join } from 'node:path';
import { type Clock, systemClock } from '../clock.js';
import { deleteTree, makeDirectory } from '../durable.js';
import { unavailable, VouchError } from '../errors.js';
import type { EventLog, EventLogs, Position, StoredFrame } from './eventLog.js';
import { SegmentedLog } from './segmentedLog.js';
import { SegmentFiles } from './segmentFiles.js';
import { FRAME_BYTES_MAX } from './segmentFormat.js';

const SEGMENT_BYTES = 64 * 1024 * 1024;
const OPEN_FILES_MAX = 64;
/** Where removed logs go on their way out; no collection has this name. */
const REMOVED = 'removed';

export interface LocalLogsOptions {
  readonly folder: string;
  readonly clock?: Clock;
  readonly segmentBytes?: number;
  readonly openFilesMax?: number;
}

interface Shared {
  readonly log: SegmentedLog;
  readonly handles: Set<Handle>;
}

export class LocalLogs implements EventLogs {
  readonly #options: Required<LocalLogsOptions>;
  readonly #files: SegmentFiles;
  readonly #shared = new Map<number, Shared>();
  readonly #removing = new Map<number, Promise<void>>();
  #removed = 0;
  #closed = false;

  private constructor(options: Required<LocalLogsOptions>) {
    this.#options = options;
    this.#files = new SegmentFiles(options.openFilesMax);
  }

  /** Makes the folder where it is missing, and finishes removals that a crash has cut short. */
  static async open(options: LocalLogsOptions): Promise<LocalLogs> {
    const removed = join(options.folder, REMOVED);
    await makeDirectory(options.folder);
    await deleteTree(removed);
    await makeDirectory(removed);
    return new LocalLogs({
      clock: systemClock,
      segmentBytes: SEGMENT_BYTES,
      openFilesMax: OPEN_FILES_MAX,
      ...options,
    });
  }

  /** Throws LogDamaged where the headers or the tail do not verify. Makes no file. */
  async open(collectionId: number): Promise<EventLog> {
    await this.#removing.get(collectionId);
    if (this.#closed) throw closed();
    const shared = this.#shared.get(collectionId) ?? { log: this.#logOf(collectionId), handles: new Set<Handle>() };
    this.#shared.set(collectionId, shared);
    const handle = new Handle(shared.log, () => this.#release(collectionId, shared, handle));
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
    const removing = (this.#removing.get(collectionId) ?? Promise.resolve()).then(() => this.#remove(collectionId));
    const settled = removing.catch(() => undefined);
    this.#removing.set(collectionId, settled);
    try {
      await removing;
    } finally {
      if (this.#removing.get(collectionId) === settled) this.#removing.delete(collectionId);
    }
  }

  /** Resolves when every append is finished and every file closed. */
  async close(): Promise<void> {
    this.#closed = true;
    const handles = [...this.#shared.values()].flatMap((shared) => [...shared.handles]);
    await Promise.all([...handles.map((handle) => handle.close()), ...this.#removing.values()]);
    await this.#files.close();
  }

  async #remove(collectionId: number): Promise<void> {
    const shared = this.#shared.get(collectionId);
    for (const handle of shared?.handles ?? []) await handle.close();
    const log = shared?.log ?? this.#logOf(collectionId);
    await log.remove(join(this.#options.folder, REMOVED, `${collectionId}.${++this.#removed}`));
  }

  #logOf(collectionId: number): SegmentedLog {
    const { folder, clock, segmentBytes } = this.#options;
    const files = this.#files;
    return new SegmentedLog({
      collectionId,
      folder: join(folder, String(collectionId), 'log'),
      files,
      clock,
      segmentBytes,
    });
  }

  #release(collectionId: number, shared: Shared, handle: Handle): void {
    shared.handles.delete(handle);
    if (shared.handles.size === 0 && this.#shared.get(collectionId) === shared) this.#shared.delete(collectionId);
  }
}

/** One opener's way into a log. */
class Handle implements EventLog {
  readonly maxFrameBytes = FRAME_BYTES_MAX;
  readonly staleMs = 0;
  #closing: Promise<void> | undefined;

  constructor(
    private readonly log: SegmentedLog,
    private readonly release: () => void,
  ) {}

  async append(frame: Uint8Array, after: Position, deadlineMs: number): Promise<Position> {
    this.#expectOpen();
    if (frame.length > FRAME_BYTES_MAX)
      throw new VouchError('payload_too_large', `a commit of ${frame.length} bytes; the log takes ${FRAME_BYTES_MAX}`);
    return this.log.append(frame, after, deadlineMs);
  }

  async *read(after: Position): AsyncGenerator<StoredFrame> {
    this.#expectOpen();
    for await (const frame of this.log.read(after)) {
      yield frame;
      this.#expectOpen();
    }
  }

  async readAt(position: Position): Promise<Uint8Array> {
    this.#expectOpen();
    return this.log.readAt(position);
  }

  async head(): Promise<StoredFrame | undefined> {
    this.#expectOpen();
    return this.log.head();
  }

  close(): Promise<void> {
    this.#closing ??= this.log.idle().then(this.release);
    return this.#closing;
  }

  #expectOpen(): void {
    if (this.#closing !== undefined) throw closed();
  }
}

const closed = (): VouchError => unavailable('the log is closed');
