/** Calls about the access log of a collection, to its owner. */
import type { tags } from 'typia';
import type { Finite, Whole } from '../model/whole.js';

/** Largest entry without its number and time, in characters. */
export const ACCESS_ENTRY_CHARS_MAX = 512 * 1024;

/** Adds an entry: a JSON object without its number and time. Answered when the entry is durable. */
export interface LogAccessCall {
  readonly op: 'logAccess';
  readonly entry: string & tags.MaxLength<typeof ACCESS_ENTRY_CHARS_MAX>;
}

/** Reads entries with `fromMs` ≤ time ≤ `toMs`, in order, beginning after entry `after`. */
export interface AccessPageCall {
  readonly op: 'accessPage';
  readonly fromMs: Finite;
  readonly toMs: Finite;
  readonly after: Whole;
  readonly limit: Whole;
  /** Only entries whose actor has this key id or on-behalf-of. */
  readonly actor?: string;
  readonly maxBytes: Whole;
}

/** Reads stored frames in order, from the frame with entry `from` on: as many as fit, and at least one. */
export interface AccessFramesCall {
  readonly op: 'accessFrames';
  readonly from: Whole;
  readonly maxBytes: Whole;
}

/** Hashes are 64 lowercase hex. */
export interface AccessHead {
  readonly size: number;
  readonly chainHead: string;
  readonly root: string;
}

export interface AccessResults {
  logAccess: null;
  /** `entries`: JSON texts. `next`: the last entry that was looked at, if later ones may be wanted. */
  accessPage: { readonly entries: readonly string[]; readonly head: AccessHead; readonly next?: number };
  /** `last`: the last entry in `frames`; `end`: the last entry of the log. */
  accessFrames: { readonly frames: readonly Uint8Array[]; readonly last: number; readonly end: number };
}

/** The access log of one collection. */
export interface CollectionAccessHead extends AccessHead {
  readonly collectionId: number;
  /** The hash of the genesis: 64 lowercase hex. */
  readonly configHash: string;
}
