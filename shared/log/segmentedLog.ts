/**
 * One collection's log as a list of segments, whose order it owns:
 *
 * ```text
 * unscanned ──scan──▶ ready ──append──▶ ready
 *     ▲                 │ failed append
 *     └───cut, rescan── suspect
 * ```
 */
import { dirname, join } from 'node:path';
import type { Clock } from '../clock.js';
import { unavailable } from '../errors/errors.js';
import { asUnavailable } from '../files/asUnavailable.js';
import {
  createFile,
  deleteEmptyDirectory,
  deleteFile,
  deleteTree,
  fileBytes,
  isThere,
  makeDirectory,
  move,
  syncDirectory,
} from '../files/durable.js';
import { ownerOfLog } from '../model/logId.js';
import { Mutex } from '../scheduling/mutex.js';
import { Fenced, LOG_START, type Position, type StoredFrame } from './eventLog.js';
import type { SegmentFiles } from './segmentFiles.js';
import {
  encodeReach,
  encodeSegmentHeader,
  FRAME_PREFIX_BYTES,
  REACH_OFFSET,
  SEGMENT_HEADER_BYTES,
  segmentName,
  writeFramePrefix,
} from './segmentFormat.js';
import { damagedAt, readFrames, type Segment, SINGLE_FRAME_BYTES } from './segmentReader.js';
import { closeSegment, type Extent, scanLog } from './segmentScan.js';

/** Smaller frames are copied into the page cache within the call; larger ones are written by the thread pool. */
const WRITE_NOW_MAX_BYTES = 64 << 10;
/**
 * Largest number of zeros that are written behind a frame of an access log. A later frame that fits there does
 * not change the size of the file, so its sync takes half the time (measured: 0.10 instead of 0.21 ms).
 */
const RESERVED_MAX_BYTES = 128 << 10;
const RESERVED_MIN_BYTES = 4 << 10;

interface SegmentedLogOptions {
  readonly collectionId: number;
  /** The log's own folder; made, with its parents, at the first append. */
  readonly folder: string;
  readonly files: SegmentFiles;
  readonly clock: Clock;
  /** Size from which on a new segment is begun. */
  readonly segmentBytes: number;
}

/** A small frame behind its prefix, while it is copied into the page cache. */
const small = Buffer.allocUnsafeSlow(FRAME_PREFIX_BYTES + WRITE_NOW_MAX_BYTES);

/** The folder in which a log is made. The remains of an interrupted process there do not count as a log. */
const stagingOf = (folder: string): string => `${folder}.new`;

export class SegmentedLog {
  /** The segments and the end of the log, once its folder was scanned. */
  #extent: Extent | undefined;
  /** Whether an append has failed: bytes after the end were never answered. */
  #suspect = false;
  /** Whether the next frame begins a segment. */
  #isEnded = false;
  /** End of the zeros that are written behind the last frame of the last segment. */
  #reservedEnd = 0;
  readonly #turns = new Mutex();

  constructor(private readonly options: SegmentedLogOptions) {}

  /** The extent of the log; the first call scans for it. Throws LogDamaged. */
  ready(): Promise<Extent> {
    return this.#inTurn(() => this.#settle());
  }

  append(frame: Uint8Array, after: Position, deadlineMs: number): Promise<Position> {
    const { clock, collectionId } = this.options;
    return this.#inTurn(async () => {
      const extent = await this.#settle();
      if (after !== extent.head) throw new Fenced(collectionId);
      // The last moment to refuse: a write cannot be taken back.
      if (clock.nowMs() > deadlineMs) throw unavailable('the deadline passed before the commit');
      this.#suspect = true;
      const { closed, last } = await this.#segmentFor(extent, frame.length);
      const written = await this.#write(frame, last);
      this.#extent = { closed, last: { ...last, sizeBytes: written.end }, head: last.base + written.head };
      this.#suspect = false;
      this.#isEnded = false;
      return this.#extent.head;
    });
  }

  /** Begins a new segment with the next frame. */
  endSegment(): Promise<void> {
    return this.#inTurn(async () => {
      this.#isEnded = true;
    });
  }

  /** Removes the segments whose frames are all before the one at `position`, oldest first. */
  trim(position: Position): Promise<void> {
    return this.#inTurn(async () => {
      let extent = await this.#settle();
      for (const { path, base, sizeBytes } of extent.closed) {
        if (base + sizeBytes > position) return;
        // A crash leaves the later segments: each removal is durable before the next one.
        await deleteFile(path);
        this.options.files.forget(path);
        extent = { ...extent, closed: extent.closed.slice(1) };
        this.#extent = extent;
      }
    });
  }

  async *read(after: Position): AsyncGenerator<StoredFrame> {
    const extent = await this.ready();
    if (after === extent.head) return;
    const { files, collectionId } = this.options;
    const from = after === LOG_START ? SEGMENT_HEADER_BYTES : after;
    try {
      for (const segment of segmentsOf(extent)) {
        if (from >= segment.base + segment.sizeBytes || this.#isTrimmed(segment)) continue;
        const offset = Math.max(from - segment.base, SEGMENT_HEADER_BYTES);
        try {
          for await (const frame of readFrames(files, collectionId, segment, { offset }))
            if (frame.position !== after) yield frame;
        } catch (error) {
          if (!this.#isTrimmed(segment)) throw error;
        }
      }
    } catch (error) {
      throw this.#toCallerError(error);
    }
  }

  /** Whether the segment was removed after the reader had learned the extent. */
  #isTrimmed({ base }: Segment): boolean {
    const [first] = this.#extent === undefined ? [] : segmentsOf(this.#extent);
    return first !== undefined && base < first.base;
  }

  async readAt(position: Position): Promise<Uint8Array> {
    return (await this.#frameAt(await this.ready(), position)).bytes;
  }

  async head(): Promise<StoredFrame | undefined> {
    const extent = await this.ready();
    return extent.head === LOG_START ? undefined : this.#frameAt(extent, extent.head);
  }

  /**
   * Description of a missing or short file; undefined if all are complete. Needed since an open file can be read and written
   * even after its deletion.
   */
  async loss(): Promise<string | undefined> {
    if ((await this.#lossOf(this.#extent)) === undefined) return undefined;
    // Checked again between two appends, and not while the log is being removed.
    return this.#inTurn(() => this.#lossOf(this.#suspect ? undefined : this.#extent));
  }

  /** Moves the folder to `aside`, where no log is opened, and deletes it there. */
  remove(aside: string): Promise<void> {
    const { folder, files, collectionId } = this.options;
    return this.#inTurn(async () => {
      this.#extent = undefined;
      this.#reservedEnd = 0;
      if (await move(folder, aside)) {
        files.forget(folder);
        await deleteTree(aside);
      } else if (await isThere(folder)) throw unavailable(`the log of collection ${collectionId} could not be removed`);
      await deleteTree(stagingOf(folder));
      await deleteEmptyDirectory(dirname(folder));
    });
  }

  /** Resolves when all work in flight has ended. */
  idle(): Promise<void> {
    return this.#turns.idle();
  }

  async #lossOf(extent: Extent | undefined): Promise<string | undefined> {
    for (const { path, base, sizeBytes } of extent === undefined ? [] : segmentsOf(extent)) {
      const foundBytes = await fileBytes(path);
      if (foundBytes === undefined) return `its segment ${segmentName(base)} is gone`;
      if (foundBytes < sizeBytes)
        return `its segment ${segmentName(base)} has ${foundBytes} bytes, and ${sizeBytes} were written`;
    }
    return undefined;
  }

  async #frameAt(extent: Extent, position: Position): Promise<StoredFrame> {
    const { files, collectionId } = this.options;
    const segment = segmentsOf(extent).findLast(({ base }) => base < position);
    const offset = position - (segment?.base ?? 0);
    try {
      if (segment !== undefined)
        for await (const frame of readFrames(files, collectionId, segment, { offset, chunkBytes: SINGLE_FRAME_BYTES }))
          return frame;
    } catch (error) {
      throw this.#toCallerError(error);
    }
    throw damagedAt(collectionId, segment?.base ?? 0, offset, 'there is no frame');
  }

  async #settle(): Promise<Extent> {
    const { folder, collectionId, files } = this.options;
    if (this.#suspect) {
      const last = this.#extent?.last;
      if (last !== undefined)
        await files.use(last.path, async (file) => {
          await file.truncate(last.sizeBytes);
          await file.sync();
        });
      this.#extent = undefined;
      this.#suspect = false;
      this.#reservedEnd = 0;
    }
    this.#extent ??= await scanLog(folder, collectionId, files);
    return this.#extent;
  }

  async #segmentFor(
    { closed, last, head }: Extent,
    frameBytes: number,
  ): Promise<{ closed: readonly Segment[]; last: Segment }> {
    if (last === undefined) return { closed, last: await this.#createFirst() };
    const { files, folder } = this.options;
    const end = last.sizeBytes + FRAME_PREFIX_BYTES + frameBytes;
    if (last.sizeBytes === SEGMENT_HEADER_BYTES) {
      // The maker of this segment may have failed or ended before the name was durable.
      for (const each of [folder, dirname(folder), dirname(dirname(folder))]) await syncDirectory(each);
      return { closed, last };
    }
    if (end <= this.options.segmentBytes && !this.#isEnded) return { closed, last };
    // A durable reach distinguishes a followed segment from one that lost its end. A followed segment ends with its last frame.
    await files.use(last.path, async (file) => {
      if (this.#reservedEnd > last.sizeBytes) await file.truncate(last.sizeBytes);
      await file.sync();
    });
    this.#reservedEnd = 0;
    const next = await this.#createSegment(folder, last.base + last.sizeBytes);
    await closeSegment(files, last, head - last.base);
    return { closed: [...closed, last], last: next };
  }

  /** Makes the folder together with its first segment: so a folder without a segment has lost it. */
  async #createFirst(): Promise<Segment> {
    const { folder } = this.options;
    const staging = stagingOf(folder);
    await makeDirectory(dirname(folder));
    if (!(await makeDirectory(staging))) {
      await deleteTree(staging);
      await makeDirectory(staging);
    }
    const segment = await this.#createSegment(staging, 0);
    await move(staging, folder);
    return { ...segment, path: join(folder, segmentName(0)) };
  }

  async #createSegment(folder: string, base: number): Promise<Segment> {
    const path = join(folder, segmentName(base));
    if (!(await createFile(path, encodeSegmentHeader({ collectionId: this.options.collectionId, base }))))
      throw unavailable(`segment ${segmentName(base)} is there already`);
    return { path, base, sizeBytes: SEGMENT_HEADER_BYTES };
  }

  /** Resolves to the offsets of the frame and of its end. */
  #write(frame: Uint8Array, { path, base, sizeBytes }: Segment): Promise<{ head: number; end: number }> {
    const reach = { head: sizeBytes, end: sizeBytes + FRAME_PREFIX_BYTES + frame.length, next: 0 };
    return this.options.files.use(path, async (file) => {
      const now = frame.length <= WRITE_NOW_MAX_BYTES;
      // A large frame is hashed while the thread pool writes it.
      const writing = now ? undefined : file.write(frame, reach.head + FRAME_PREFIX_BYTES);
      try {
        writeFramePrefix(small, frame, base + reach.head);
        if (now) small.set(frame, FRAME_PREFIX_BYTES);
        const written = small.subarray(0, FRAME_PREFIX_BYTES + (now ? frame.length : 0));
        const reserved = now ? this.#reserve(reach.end) : undefined;
        file.writeNow(reserved === undefined ? written : Buffer.concat([written, reserved]), reach.head);
      } finally {
        // Wait for this write even after a failure: it must not overwrite the log's next frame.
        await writing;
      }
      await file.sync();
      file.writeNow(encodeReach(reach), REACH_OFFSET);
      return reach;
    });
  }

  /** Zeros to write behind a frame of an access log that ends at `end`: as many as the segment has bytes, within bounds. */
  #reserve(end: number): Uint8Array | undefined {
    if (end <= this.#reservedEnd || !ownerOfLog(this.options.collectionId).isOfAccess) return undefined;
    const reserved = new Uint8Array(Math.min(Math.max(end, RESERVED_MIN_BYTES), RESERVED_MAX_BYTES));
    this.#reservedEnd = end + reserved.length;
    return reserved;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.#turns.run(work);
    } catch (error) {
      throw this.#toCallerError(error);
    }
  }

  /** Converts errors of the system to `unavailable`; returns others unchanged. */
  #toCallerError(error: unknown): unknown {
    return asUnavailable(error, `the log of collection ${this.options.collectionId} is out of reach`);
  }
}

const segmentsOf = ({ closed, last }: Extent): readonly Segment[] => (last === undefined ? closed : [...closed, last]);
