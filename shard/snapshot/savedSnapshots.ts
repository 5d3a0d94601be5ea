/** What the thread of historical states and its owner exchange about snapshots. */
import type { CollectionState } from '../state/collectionState.js';
import type { LogHistory } from '../state/logHistory.js';

/** Where a collection's snapshots are, and what they must contain. Passes between threads. */
export interface SnapshotPlace {
  readonly folder: string;
  /** Request ids that a snapshot remembers: as many as the collection opened from it needs. */
  readonly dedupWindow: number;
}

/** A state at a frame end, and the history that led to it: what is written to a snapshot and read from it. */
export interface SnapshotState {
  readonly state: CollectionState;
  readonly history: LogHistory;
  /** Memory of the state beside its vectors, as `describedBytes` counts it. */
  readonly describedBytes: number;
}

/** Passes between threads. */
export interface SavedSnapshot {
  /** Of its last event, which ends a frame. */
  readonly sequence: number;
  readonly sizeBytes: number;
}

/** A snapshot that did not verify and was set aside. Passes between threads; the owner reports it. */
export interface SetAside {
  readonly name: string;
  readonly reason: string;
}
