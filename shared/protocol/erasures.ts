/** Calls for certificates of erasure, and their results. Hashes are 32 bytes. */
import type { tags } from 'typia';
import type { ERASED_KEYS_MAX, ERASED_PAGE } from '../limits.js';
import type { Actor } from '../model/actor.js';
import type { Filter } from '../model/filter.js';
import type { Whole, WholeBetween } from '../model/whole.js';

/** 32 lowercase hex digits. */
type KeyIds = readonly (string & tags.Pattern<'^[0-9a-f]{32}$'>)[] & tags.MaxItems<typeof ERASED_KEYS_MAX>;

/** Finds the keys of the live records that match. Throws `validation_error` if there are more than `keysMax`. */
export interface KeysOfCall {
  readonly op: 'keysOf';
  readonly filter: Filter;
  readonly keysMax: Whole;
}

export type ErasureCall =
  /** Counts the events of the log whose content is under one of the keys. */
  | { readonly op: 'countUnderKeys'; readonly keyIds: KeyIds }
  /**
   * Signs a statement of the erased contents of each key, which must be shredded in the log. Its proofs lead to the log of
   * `size` events, with the genesis. With null that is the present log, and the answer has a checkpoint of it. Throws
   * `validation_error` if the keys have more contents than ERASED_CONTENTS_MAX. Throws `unavailable` if the log of that size
   * does not have a shred yet.
   */
  | { readonly op: 'erasures'; readonly keyIds: KeyIds; readonly size: Whole | null }
  /** Proves contents: that their events are in the log of `size` events, and the records in its state. */
  | {
      readonly op: 'erasureProofs';
      readonly size: Whole;
      readonly sequences: readonly Whole[] & tags.MaxItems<typeof ERASED_PAGE>;
      readonly recordIds: readonly (number & WholeBetween<1, 9007199254740991>)[] & tags.MaxItems<typeof ERASED_PAGE>;
    };

export interface SignedText {
  readonly text: string;
  readonly signature: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** The erasures of a key in one collection. */
export interface KeyErasure {
  readonly keyId: string;
  readonly statement: SignedText;
  /** Events in their order; see `shared/log/erasedContents.ts`. */
  readonly contents: Uint8Array;
  readonly shred: {
    readonly sequence: number;
    readonly timeMs: number;
    /** Null in an event of version 1. */
    readonly actor: Actor | null;
    readonly chainHeadBefore: Uint8Array;
    /** Like that of `proofInclusion`. */
    readonly proof: Uint8Array;
  };
}

/** The record of a content in the state of the proofs, under the key that is shredded. */
export interface ErasedRecord {
  readonly isTombstoned: boolean;
  readonly tag: number;
  readonly insertedMs: number;
  /** Null: it does not expire. */
  readonly expiresAtMs: number | null;
  /** Its siblings in the state tree, bottom first. */
  readonly path: Uint8Array;
}

export interface ErasureResults {
  /** `withoutKey`: the number of matching records that are under no key. */
  keysOf: { readonly keyIds: readonly string[]; readonly withoutKey: number };
  countUnderKeys: { readonly count: number };
  erasures: {
    readonly size: number;
    /** Present without `size` in the call. */
    readonly checkpoint?: SignedText;
    /** The parts of the state hash at that size; null if they are not known any more. */
    readonly state: { readonly records: number; readonly graphRoot: Uint8Array; readonly timeMs: number } | null;
    /** In the order of the keys. */
    readonly erasures: readonly KeyErasure[];
  };
  /** In the order of the call. `records`: null for a record with other content, or one that was changed later. */
  erasureProofs: {
    readonly proofs: readonly Uint8Array[];
    readonly records: readonly (ErasedRecord | null)[];
  };
}
