/**
 * Interface of the durable log of one collection: frames (see `frame.ts`) in order. An append succeeds only if its writer names
 * the log's last frame.
 */
import { VouchError } from '../errors/errors.js';
import { ownerOfLog } from '../model/logId.js';

/** The place of a frame: opaque, growing, below 2^53. `LOG_START` is before the first frame. */
export type Position = number;
export const LOG_START: Position = 0;

export interface StoredFrame {
  readonly position: Position;
  readonly bytes: Uint8Array;
}

export interface EventLog {
  readonly maxFrameBytes: number;
  /** Longest time for which `head` and `read` may miss a new frame; a frame that is missing later is lost. */
  readonly staleMs: number;
  /** Number of messages, with and without frames, that this opening has stored. */
  readonly added: number;
  /**
   * Appends `frame` directly after the frame at `after`, and resolves with its position when it is durable. Throws `Fenced` if
   * `after` is not the last frame: another process has written. Throws VouchError `unavailable` if the outcome is unknown at the
   * deadline. The frame may then be stored, even a little later: the caller must read from `after` before it appends.
   */
  append(frame: Uint8Array, after: Position, deadlineMs: number): Promise<Position>;
  /**
   * Makes the next `read` complete: it finds every frame that was durable at this call, even from a stale replica. A new owner
   * needs this. Throws VouchError `unavailable`.
   */
  barrier(): Promise<void>;
  /** All frames after `after`, in order, that were durable at this call or at an earlier `barrier`. */
  read(after: Position): AsyncIterable<StoredFrame>;
  /** The frame at a position from `append` or `read`. */
  readAt(position: Position): Promise<Uint8Array>;
  /** The last frame; undefined in an empty log. */
  head(): Promise<StoredFrame | undefined>;
  /** Begins a new segment with the next frame, where the log has segments. */
  endSegment(): Promise<void>;
  /**
   * Removes frames before the one at `position` for good, oldest first. Where the log has segments it removes whole ones, so that
   * some frames may stay. Only access logs may begin later than they did. Throws VouchError `unavailable`; then some may be gone.
   */
  trim(position: Position): Promise<void>;
  close(): Promise<void>;
}

/** The service log in place of a collection id; no collection has this id. */
export const SERVICE_LOG_ID = 0;

function nameOf(logId: number): string {
  if (logId === SERVICE_LOG_ID) return 'the service log';
  const { collectionId, isOfAccess } = ownerOfLog(logId);
  return `the ${isOfAccess ? 'access ' : ''}log of collection ${collectionId}`;
}

export interface EventLogs {
  /** Longest delay of an append: it may be stored so long after its writer has ended or lost the log. */
  readonly lateMs: number;
  open(collectionId: number): Promise<EventLog>;
  /** Erases the log of a deleted collection, if there is one. */
  remove(collectionId: number): Promise<void>;
}

export class Fenced extends VouchError {
  constructor(collectionId: number) {
    super('unavailable', `another process has written to ${nameOf(collectionId)}; retry shortly`);
    this.name = 'Fenced';
  }
}

/** Error of stored bytes that do not verify. The collection is quarantined: no byte is deleted or skipped. */
export class LogDamaged extends VouchError {
  constructor(collectionId: number, reason: string) {
    super('internal_error', `${nameOf(collectionId)} is damaged: ${reason}`);
    this.name = 'LogDamaged';
  }
}

/** Error of a position without a message. For `EventLog.staleMs` a stale replica may be the cause. */
export class FrameUnknown extends LogDamaged {
  constructor(collectionId: number, position: Position) {
    super(collectionId, `it has no frame at ${position}`);
    this.name = 'FrameUnknown';
  }
}

export interface WatchedLog {
  readonly collectionId: number;
  /** Known number of its frames; 0 if unknown. */
  readonly frames: number;
  /** The current `EventLog.added`; 0 if the log is not open. */
  added(): number;
}

export interface DoubtedLog {
  readonly collectionId: number;
  /** Description of a certain loss; undefined if only reading the log can show it. */
  readonly loss: string | undefined;
}

/** Detects frames that other programs took from the logs. A look is cheap and reads no frame. */
export interface LogLosses {
  /** The logs of `watched` that may have lost frames since the last look. Throws `unavailable`. */
  look(watched: readonly WatchedLog[]): Promise<readonly DoubtedLog[]>;
}
