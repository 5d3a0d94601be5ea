/** Sources of the opening of one collection: its log, its snapshots and the keys of its contents. */
import { setMaxListeners } from 'node:events';
import { systemClock } from '../../shared/clock.js';
import { genesisOf } from '../../shared/log/event.js';
import type { Position, StoredFrame } from '../../shared/log/eventLog.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { ContentKeys, type KeySource } from '../vault/contentKeys.js';
import type { SnapshotPlace } from './savedSnapshots.js';

export interface FrameSource {
  /**
   * Yields the frames after `after` in order, up to the one with event `upTo`, or a few more. From another thread,
   * about `inFlightBytes` of them may be in flight.
   */
  read(after: Position, upTo: number, inFlightBytes?: number): AsyncIterable<StoredFrame>;
}

/** The place of a collection's snapshots and the keys of its contents, if it has any. */
export interface OpeningSources {
  readonly place?: SnapshotPlace | undefined;
  readonly keys?: KeySource | undefined;
}

/**
 * A collection from its opening to its close. Each opening is a new one, since the log may be another. The owner's
 * thread and the thread of past states each have an object, with one number.
 */
export class Opening {
  /** The keys of the contents that the thread of past states has opened; without a source none. */
  readonly contents: ContentKeys | undefined;
  readonly place: SnapshotPlace | undefined;
  readonly keys: KeySource | undefined;
  readonly #closing = new AbortController();

  constructor(
    /** Unique in this process. */
    readonly number: number,
    readonly config: CollectionConfig,
    readonly log: FrameSource,
    { place, keys }: OpeningSources = {},
  ) {
    this.place = place;
    this.keys = keys;
    this.contents = keys && new ContentKeys(genesisOf(config).collectionId, keys, systemClock);
    // Each waiting rebuild listens; `historicalStateCache.ts` bounds them.
    setMaxListeners(0, this.closing);
  }

  /** Aborted when the collection is about to be closed, with the error for callers. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  close(reason: Error): void {
    this.#closing.abort(reason);
  }
}
