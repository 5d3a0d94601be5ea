import { setMaxListeners } from 'node:events';
import type { Position, StoredFrame } from '../../shared/log/eventLog.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { SnapshotPlace } from './savedSnapshots.js';

export interface FrameSource {
  /**
   * The frames after `after` in order, up to the one that holds event `upTo`, or a few more. From another thread, about
   * `inFlightBytes` of them may be in flight.
   */
  read(after: Position, upTo: number, inFlightBytes?: number): AsyncIterable<StoredFrame>;
}

/**
 * A collection from its opening to its close. Opened again it is another one, since its log may be another. The owner's
 * thread and the thread of historical states each have one, with the same number.
 */
export class Opening {
  readonly #closing = new AbortController();

  constructor(
    /** Unique in this process. */
    readonly number: number,
    readonly config: CollectionConfig,
    readonly log: FrameSource,
    readonly place?: SnapshotPlace,
  ) {
    // Each waiting rebuild listens; `historicalStateCache.ts` bounds them.
    setMaxListeners(0, this.closing);
  }

  /** Aborted, with the error for callers, when the collection is about to be closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  close(reason: Error): void {
    this.#closing.abort(reason);
  }
}
