/** Data about snapshots that the thread of past states and its owner exchange. */
import type { CollectionState } from '../state/collectionState.js';
import type { LogHistory } from '../state/logHistory.js';

/** Place and required content of a collection's snapshots. It can be sent between threads. */
export interface SnapshotPlace {
  readonly folder: string;
  /** Largest number of request ids in a snapshot: as many as a collection opened from it needs. */
  readonly dedupWindow: number;
}

/** A state at a frame end, and its history: the content of a snapshot. */
export interface SnapshotState {
  readonly state: CollectionState;
  readonly history: LogHistory;
  /** Memory of the state besides its vectors, as computed by `describedBytes`. */
  readonly describedBytes: number;
}

/** A new snapshot. It can be sent between threads. */
export interface SavedSnapshot {
  /** Sequence of its last event, which ends a frame. */
  readonly sequence: number;
  readonly sizeBytes: number;
}

/** A snapshot that did not verify and was set aside. It can be sent between threads; the owner reports it. */
export interface SetAside {
  readonly name: string;
  readonly reason: string;
}
