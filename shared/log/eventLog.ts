/**
 * The durable log of one collection: frames (see `frame.ts`) in order. An append succeeds only after the frame that its
 * writer names as the last.
 */
import { VouchError } from '../errors/errors.js';

/** The place of a frame: opaque, growing, below 2^53. `LOG_START` is before the first frame. */
export type Position = number;
export const LOG_START: Position = 0;

export interface StoredFrame {
  readonly position: Position;
  readonly bytes: Uint8Array;
}

export interface EventLog {
  readonly maxFrameBytes: number;
  /** For this time `head` and `read` may miss the newest frames; a frame that is still missing after that is lost. */
  readonly staleMs: number;
  /** How many messages were stored through this opening, frames or not. */
  readonly added: number;
  /**
   * Appends `frame` directly after the frame at `after`, and resolves with its position when it is durable. Throws `Fenced`
   * where `after` is not the last frame: another process has written. Throws VouchError `unavailable` where the outcome is
   * not known in time: the frame may be there, now or a little later; the caller reads from `after` before it appends.
   */
  append(frame: Uint8Array, after: Position, deadlineMs: number): Promise<Position>;
  /**
   * Makes the next `read` find everything that was durable at this call, whichever server answers: `staleMs` is nothing to it.
   * For whoever becomes the owner. Throws VouchError `unavailable`.
   */
  barrier(): Promise<void>;
  /** All frames after `after` that were durable at the call, or at that of `barrier` before it, in order. */
  read(after: Position): AsyncIterable<StoredFrame>;
  /** The frame at a position from `append` or `read`. */
  readAt(position: Position): Promise<Uint8Array>;
  /** The last frame, or undefined where the log is empty. */
  head(): Promise<StoredFrame | undefined>;
  close(): Promise<void>;
}

/** Stands for the service log, where a log is named by its collection: no collection has this id. */
export const SERVICE_LOG_ID = 0;

const nameOf = (collectionId: number): string =>
  collectionId === SERVICE_LOG_ID ? 'the service log' : `the log of collection ${collectionId}`;

export interface EventLogs {
  /** An append may be stored so long after its writer has ended, or has lost the log to another. */
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

/** Stored bytes that do not verify. The collection is quarantined: nothing is deleted, nothing is skipped. */
export class LogDamaged extends VouchError {
  constructor(collectionId: number, reason: string) {
    super('internal_error', `${nameOf(collectionId)} is damaged: ${reason}`);
    this.name = 'LogDamaged';
  }
}

/** A server has no message there. For `EventLog.staleMs` that may be one that does not know it. */
export class FrameUnknown extends LogDamaged {
  constructor(collectionId: number, position: Position) {
    super(collectionId, `it has no frame at ${position}`);
    this.name = 'FrameUnknown';
  }
}

export interface WatchedLog {
  readonly collectionId: number;
  /** Frames that it is known to hold; 0 where that is not known. */
  readonly frames: number;
  /** As of `EventLog`, now; 0 where it is not open. */
  added(): number;
}

export interface DoubtedLog {
  readonly collectionId: number;
  /** A certain loss, in words; undefined where reading the log has to show it. */
  readonly loss: string | undefined;
}

/** Detects frames that were taken from the logs by other programs. A look is cheap and reads no frame. */
export interface LogLosses {
  /** Those of `watched` that may have lost frames since the last look. Throws `unavailable`. */
  look(watched: readonly WatchedLog[]): Promise<readonly DoubtedLog[]>;
}
