import { setMaxListeners } from 'node:events';
import type { CollectionConfig } from '../../shared/calls.js';
import type { Position, StoredFrame } from '../../shared/log/eventLog.js';
import type { SnapshotPlace } from './snapshots.js';

/** Where the frames of a collection's log come from. */
export interface FrameSource {
  /**
   * In order, those after `after`, up to the one that holds event `upTo`, or a few more. Where they come from another
   * thread, about `inFlightBytes` of them may be on their way.
   */
  read(after: Position, upTo: number, inFlightBytes?: number): AsyncIterable<StoredFrame>;
}

/**
 * A collection from when it was opened until it is closed. Opened again it is another one: its log may be another. There
 * is one in the owner's thread and one in that of past states, of the same number.
 */
export class Opening {
  readonly #closing = new AbortController();

  constructor(
    /** No other opening in this process has it. */
    readonly number: number,
    readonly config: CollectionConfig,
    readonly log: FrameSource,
    /** Undefined: it has no snapshots. */
    readonly place?: SnapshotPlace,
  ) {
    // Each rebuild that waits listens; `lanes.ts` bounds them.
    setMaxListeners(0, this.closing);
  }

  /** Aborted, with what callers are told, when the collection is about to be closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  close(reason: Error): void {
    this.#closing.abort(reason);
  }
}
