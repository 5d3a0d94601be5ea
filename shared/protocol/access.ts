/** Calls about the access log of a collection, to its owner. */
import type { tags } from 'typia';
import type { Finite, Whole } from '../model/whole.js';

/** Most characters of an entry without its number and time, and of all entries of a call together. */
export const ACCESS_ENTRY_CHARS_MAX = 512 * 1024;
/** Largest number of entries in a call. */
export const ACCESS_ENTRIES_MAX = 1_024;

/** Adds entries: JSON objects without number and time. Answered when all of them are durable. */
export interface LogAccessCall {
  readonly op: 'logAccess';
  readonly entries: readonly (string & tags.MaxLength<typeof ACCESS_ENTRY_CHARS_MAX>)[] &
    tags.MinItems<1> &
    tags.MaxItems<typeof ACCESS_ENTRIES_MAX>;
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

/** Reads stored frames in order, from the frame with entry `from` on, by default the first: as many as fit, and at least one. */
export interface AccessFramesCall {
  readonly op: 'accessFrames';
  readonly from?: Whole;
  readonly maxBytes: Whole;
}

/**
 * Removes the entries that are older than the retention. `covered`: the log as a published checkpoint of the service log states it;
 * later entries stay.
 */
export interface TrimAccessCall {
  readonly op: 'trimAccess';
  readonly covered: AccessHead;
}

export type AccessCall = LogAccessCall | AccessPageCall | AccessFramesCall | TrimAccessCall;

/** A log after its first `size` entries. Hashes are 64 lowercase hex. */
export interface AccessHead {
  readonly size: Whole;
  readonly chainHead: string;
  readonly root: string;
}

export interface AccessResults {
  logAccess: null;
  /** `entries`: JSON texts. `next`: the last entry that was looked at, if later ones may be wanted. */
  accessPage: {
    readonly entries: readonly string[];
    readonly head: AccessHead;
    /** The entries before the first one that is kept. */
    readonly removed?: AccessHead;
    readonly next?: number;
  };
  /** `last`: the last entry in `frames`; `end`: the last entry of the log. */
  accessFrames: { readonly frames: readonly Uint8Array[]; readonly last: number; readonly end: number };
  /** The number of entries that were removed. */
  trimAccess: { readonly removed: number };
}

/** The access log of one collection. */
export interface CollectionAccessHead extends AccessHead {
  readonly collectionId: number;
  /** The hash of the genesis: 64 lowercase hex. */
  readonly configHash: string;
}
