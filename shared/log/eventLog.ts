/**
 * The durable order of one collection: frames (see `frame.ts`), one after another, each appended only onto the frame
 * its writer believes to be the last.
 */
import { VouchError } from '../errors.js';

/** Where a frame stands. Opaque, growing, below 2^53; `LOG_START` stands before the first frame. */
export type Position = number;
export const LOG_START: Position = 0;

export interface StoredFrame {
  readonly position: Position;
  readonly bytes: Uint8Array;
}

export interface EventLog {
  /** The largest frame that `append` takes. */
  readonly maxFrameBytes: number;
  /**
   * For how long, in milliseconds, `head` and `read` may be answered by a server that does not know the newest frames: what
   * is still not there after that is gone.
   */
  readonly staleMs: number;
  /**
   * Appends `frame` directly after the frame at `after`, and resolves with its position when it is durable.
   * Throws `Fenced` when `after` is not the last frame: somebody else has written. Throws VouchError `unavailable` when
   * the outcome could not be learned in time: the frame may or may not be there, now or a little later; read from
   * `after` before anything else is appended.
   */
  append(frame: Uint8Array, after: Position, deadlineMs: number): Promise<Position>;
  /** All frames after `after`, in order, up to those that were durable when the call was made. */
  read(after: Position): AsyncIterable<StoredFrame>;
  /** The frame at a position that `append` or `read` has given. */
  readAt(position: Position): Promise<Uint8Array>;
  /** The last frame, or undefined where the log is empty. */
  head(): Promise<StoredFrame | undefined>;
  close(): Promise<void>;
}

export interface EventLogs {
  open(collectionId: number): Promise<EventLog>;
  /** Erases the log of a deleted collection. Nothing happens where there is none. */
  remove(collectionId: number): Promise<void>;
}

export class Fenced extends VouchError {
  constructor(collectionId: number) {
    super('unavailable', `another process has written to collection ${collectionId}; retry shortly`);
    this.name = 'Fenced';
  }
}

/** Stored bytes that do not verify. The collection is quarantined: nothing is deleted, nothing is skipped. */
export class LogDamaged extends VouchError {
  constructor(collectionId: number, reason: string) {
    super('internal_error', `the log of collection ${collectionId} is damaged: ${reason}`);
    this.name = 'LogDamaged';
  }
}
