/**
 * What the thread of past states asks of snapshots, and what of them passes between threads. `shard/snapshot/` answers:
 * it implements `Snapshots`, which runs in that thread (`pastWorker.ts` is given it), never in the one that answers
 * requests.
 *
 * The owner's thread orders one by `PastThread.snapshot(opening, upTo)`. The worker then goes on from the newest snapshot
 * that verifies, or from the empty state, reads the log up to the newest frame end at or before `upTo`, and calls `write`.
 * A state has its `lifetimes` too, which `Lifetimes.save` and `restore` pass on.
 */
import type { CollectionConfig } from '../../shared/calls.js';
import type { CollectionState } from '../collection/collectionState.js';
import type { LogHistory } from '../collection/history.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';

/** A collection's snapshots: given when it is opened (`PastThread.open`), passed to the worker as it is. */
export interface SnapshotPlace {
  readonly folder: string;
  /** Request ids that a state made for a snapshot remembers: as many as the collection that goes on from it will. */
  readonly dedupWindow: number;
}

/** A state at a frame end, and the history that led to it: to be written, or read and to be gone on from. */
export interface SnapshotState {
  readonly state: CollectionState;
  readonly history: LogHistory;
  /** What the state takes beside its vectors, as `describedBytes` counts it. Kept with the snapshot. */
  readonly describedBytes: number;
}

export interface SnapshotSource {
  readonly config: CollectionConfig;
  readonly place: SnapshotPlace;
}

/** Passes between threads. */
export interface SavedSnapshot {
  /** Of its last event, which ends a frame. */
  readonly sequence: number;
  readonly sizeBytes: number;
}

/** A snapshot that did not verify and was set aside. Passes between threads; the owner tells of it. */
export interface SetAside {
  readonly name: string;
  readonly reason: string;
}

export interface Restore {
  /** No event after it is in the state. */
  readonly upTo: number;
  /** Larger than this, an earlier one would not help: there is a kept state that is as near. */
  readonly after: number;
  /** Request ids to remember; 0: none are asked for. */
  readonly dedupWindow: number;
  readonly memory: VectorMemory;
  /** Told of each snapshot that did not verify and was passed over. */
  readonly onSetAside: (snapshot: SetAside) => void;
  /** Called after each slice of work; ends it by throwing. */
  readonly rest: () => Promise<void>;
}

export interface Snapshots {
  /**
   * The newest snapshot with `after` < sequence <= `upTo`, verified by its state hash; undefined where there is none. Its
   * vectors are the caller's to destroy; where it throws it has destroyed them.
   */
  restore(source: SnapshotSource, wanted: Restore): Promise<SnapshotState | undefined>;
  /** Durable when it resolves. Throws where it cannot be written; nothing of it is then left. */
  write(source: SnapshotSource, made: SnapshotState, rest: () => Promise<void>): Promise<SavedSnapshot>;
}
