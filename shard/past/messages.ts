/** What passes between the owner's thread and that of past states. Everything here can be cloned. */
import type { CollectionConfig, SearchCall } from '../../shared/calls.js';
import type { Position } from '../../shared/log/eventLog.js';
import type { Found } from '../search/found.js';
import type { LogPlace } from './checkLog.js';
import type { Outcome } from './outcome.js';
import type { Measured } from './pastMetrics.js';
import type { SavedSnapshot, SetAside, SnapshotPlace } from './snapshots.js';

/** `opening` is the number of an `Opening`; `id` one that the answer carries; `feed` one that a reading of a log has. */
export type ToWorker =
  | {
      readonly op: 'open';
      readonly opening: number;
      readonly config: CollectionConfig;
      readonly place: SnapshotPlace | undefined;
    }
  | AskSearch
  | { readonly op: 'snapshot'; readonly id: number; readonly opening: number; readonly upTo: number }
  | {
      readonly op: 'check';
      readonly id: number;
      readonly opening: number;
      readonly from: LogPlace;
      readonly upTo: LogPlace;
    }
  /** Answered when nothing of it goes on. */
  | { readonly op: 'close'; readonly id: number; readonly opening: number }
  | ({ readonly op: 'frames'; readonly feed: number } & PackedFrames)
  | { readonly op: 'end'; readonly feed: number; readonly outcome: Outcome<null> };

export interface AskSearch {
  readonly op: 'search';
  readonly id: number;
  readonly opening: number;
  readonly sequence: number;
  /** How long the caller waits. */
  readonly remainingMs: number;
  /** Components. */
  readonly query: Int32Array;
  readonly options: PastOptions;
}

export interface PastOptions extends Pick<SearchCall, 'k' | 'filter' | 'decay' | 'text' | 'graph'> {
  /** The instant that ages are counted to; undefined: the time of the state's last event. */
  readonly agedToMs: number | undefined;
}

/** Frames one after another in memory of their own, which passes from thread to thread. */
export interface PackedFrames {
  readonly positions: Float64Array;
  readonly lengths: Uint32Array;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface PastAnswer {
  readonly found: Found;
  /** Of the state's last event; null before the first. */
  readonly timeMs: number | null;
  /** Hex. */
  readonly stateHash: string;
}

export type Answer = PastAnswer | SavedSnapshot | boolean | undefined;

export type FromWorker =
  | { readonly op: 'answer'; readonly id: number; readonly outcome: Outcome<Answer> }
  | {
      readonly op: 'read';
      readonly feed: number;
      readonly opening: number;
      readonly after: Position;
      readonly upTo: number;
      /** See `FrameSource`. */
      readonly inFlightBytes: number | undefined;
    }
  /** The check of a log has come so far; `id` is the one that its answer will carry. */
  | { readonly op: 'checked'; readonly id: number; readonly reached: LogPlace }
  /** Bytes of frames are dealt with: as many more may come. */
  | { readonly op: 'taken'; readonly feed: number; readonly sizeBytes: number }
  /** No more frames of it. */
  | { readonly op: 'enough'; readonly feed: number }
  | { readonly op: 'measured'; readonly measured: Measured }
  | { readonly op: 'setAside'; readonly opening: number; readonly snapshot: SetAside };
