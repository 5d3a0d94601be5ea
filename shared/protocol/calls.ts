/**
 * The calls of a coordinator to a collection and to a shard. A vector is the little-endian bytes of its Q16.16 components,
 * quantised and of the right length; metadata are the bytes that will be stored.
 */
import type { tags } from 'typia';
import type { BATCH_MAX, BATCHED_SEARCHES_MAX, GROUP_SIZE_MAX, K_MAX } from '../limits.js';
import type { LogCount } from '../log/logCount.js';
import type { MetricText } from '../metrics/metricsText.js';
import type { Filter } from '../model/filter.js';
import type { Direction, GraphRead, GraphResults, GraphWrite } from '../model/graph.js';
import type { DesiredKind, IndexKind, IndexSpec, IndexState } from '../model/indexSpec.js';
import type { HeldBytes } from '../model/quotas.js';
import type { Receipt } from '../model/receipt.js';
import type { DurationMs, Finite, Whole, WholeBetween } from '../model/whole.js';
import type { ProofCall, ProofResults } from './proofs.js';
import type { Field, RecordFields, RecordsCall, RecordsResults } from './records.js';

/** A bounded count: anyone who reaches the NATS server can send any number. */
type ResultCount = number & WholeBetween<1, typeof K_MAX>;

/**
 * Ranks older records lower, by score / factor, factor = 2 ** -min(age / half-life, 900), with the age in whole seconds;
 * then by score, then by id.
 */
export interface Decay {
  readonly halfLifeSecs: number & tags.ExclusiveMinimum<0> & tags.Maximum<1.7976931348623157e308>;
  /** The end of the ages, unix milliseconds. */
  readonly nowMs: Finite;
}

/** BM25 of `query`, blended half and half with the distance; see `shard/search/blend.ts`. */
export interface TextQuery {
  readonly query: string;
  /** Whether the best matches of the text are candidates too. */
  readonly hybrid: boolean;
}

/** Ranks records by their distance in the graph too. The edge has checked the bounds. */
export interface GraphRerank {
  readonly weight: number & tags.Minimum<0> & tags.Maximum<1>;
  readonly seedCount: Whole;
  readonly maxDepth: Whole;
  readonly direction: Direction;
}

/** A past state: after that many committed events, or after the last event at or before a time. */
export type AsOf = { readonly logIndex: Whole } | { readonly timeMs: Finite };

/** Finds the best hits of each value of a metadata key; `k` then counts the values. See `shard/search/grouped.ts`. */
export interface Grouping {
  readonly key: string;
  /** The hits of a group. */
  readonly size: number & WholeBetween<1, typeof GROUP_SIZE_MAX>;
}

export interface SearchCall {
  readonly op: 'search';
  /** Absent: the vector of the record `like`. */
  readonly query?: Uint8Array;
  /** A record that is left out. */
  readonly like?: Whole;
  readonly k: ResultCount;
  /** Records that are farther are left out. */
  readonly scoreMost?: number & tags.Minimum<0> & tags.Maximum<1.7976931348623157e308>;
  readonly group?: Grouping;
  /** Fields of the hits. */
  readonly fields?: readonly Field[];
  /** With fields or groups: the bytes that they may take, beyond which the call throws `validation_error`. */
  readonly maxBytes?: Whole;
  readonly filter?: Filter;
  readonly decay?: Decay;
  readonly text?: TextQuery;
  readonly graph?: GraphRerank;
  /** Ages then end at the given time, or at that of the event. */
  readonly asOf?: AsOf;
  /** Returns the sequence of the searched state, since a follower may answer. */
  readonly tellSequence?: true;
}

/** Searches that see one state. */
export interface SearchBatchCall {
  readonly op: 'searchBatch';
  readonly searches: readonly Omit<SearchCall, 'asOf' | 'tellSequence' | 'maxBytes'>[] &
    tags.MaxItems<typeof BATCHED_SEARCHES_MAX>;
  readonly asOf?: AsOf;
  /** A follower may answer. */
  readonly eventual?: true;
  /** The bytes that the fields and groups of all hits may take. */
  readonly maxBytes: Whole;
}

export type ReadCall =
  | { readonly op: 'get'; readonly id: Whole }
  | SearchCall
  | SearchBatchCall
  | RecordsCall
  | { readonly op: 'describe' }
  | { readonly op: 'indexState' }
  /** Returns the plaintext of an encrypted record. Throws `record_not_found`, `record_shredded`. */
  | { readonly op: 'getEncrypted'; readonly id: Whole }
  /** Returns stored frames in order, from the frame with event `from` on: as many as fit `maxBytes`, and at least one. */
  | { readonly op: 'readLog'; readonly from: Whole; readonly maxBytes: Whole }
  | ProofCall
  | GraphRead;

export interface InsertCall {
  readonly op: 'insert';
  readonly vector: Uint8Array;
  readonly tag: Whole;
  readonly requestId: Uint8Array | null;
  readonly metadata: Uint8Array | null;
  readonly text: string | null;
}

/** `metadata`, `texts` and `requestIds`: null where the request has none, else one entry a vector. */
export interface InsertBatchCall {
  readonly op: 'insertBatch';
  readonly count: Whole;
  /** `count` vectors, one after another. */
  readonly vectors: Uint8Array;
  /** One entry a vector; absent: all have tag 0. */
  readonly tags?: readonly Whole[];
  readonly metadata: readonly (Uint8Array | null)[] | null;
  readonly texts: readonly (string | null)[] | null;
  readonly requestIds: readonly (Uint8Array | null)[] | null;
  /** One entry a vector, no two the same. A live record that has one of them gets the new content; the others are inserted. */
  readonly externalIds?: readonly string[];
}

/** Deletes records for good, all in one commit. */
export interface DeleteManyCall {
  readonly op: 'deleteMany';
  readonly of:
    | { readonly ids: readonly Whole[] & tags.MaxItems<typeof BATCH_MAX> }
    | { readonly externalIds: readonly string[] & tags.MaxItems<typeof BATCH_MAX> }
    /** Throws `payload_too_large` if more match than one commit takes. */
    | { readonly filter: Filter };
  /** 16 bytes; absent: none. The same request later deletes nothing, and is answered as this one. */
  readonly requestId?: Uint8Array | null;
}

/** The id of a vault key, in the only spelling, since it is compared as text. */
export type KeyId = string & tags.Pattern<'^[0-9a-f]{32}$'>;

/** The shard encrypts, under a key that its vault makes where there is none; the plaintext goes no further. */
export interface InsertEncryptedCall {
  readonly op: 'insertEncrypted';
  readonly payload: Uint8Array;
  /** Null: a new key. */
  readonly keyId: KeyId | null;
  readonly tag: Whole;
  /** 16 bytes, or null. */
  readonly requestId: Uint8Array | null;
}

export type WriteCall =
  | InsertCall
  | InsertBatchCall
  | InsertEncryptedCall
  /** Records that the data key is gone from the vault: its records are lost and not counted. Idempotent. */
  | { readonly op: 'shredKey'; readonly keyId: KeyId }
  | { readonly op: 'softDelete'; readonly id: Whole }
  | { readonly op: 'delete'; readonly id: Whole }
  | DeleteManyCall
  | { readonly op: 'updateMetadata'; readonly id: Whole; readonly metadata: Uint8Array }
  | GraphWrite;

/** Calls that change how a collection is served, and not its log. Each has a message of its own. */
export type ControlCall =
  /** Stores the wanted index in the catalog and begins its build. Throws `conflict` while a requested build runs. */
  | { readonly op: 'configureIndex'; readonly spec: IndexSpec }
  /** Makes writes wait until `release`, or for `holdMs` after the last `hold`. Answered when no write is in flight. */
  | { readonly op: 'hold'; readonly token: string; readonly holdMs: DurationMs }
  | { readonly op: 'release'; readonly token: string }
  /** Builds the index again, of another kind where one is given. Answered when the new index serves. */
  | { readonly op: 'rebuild'; readonly kind: DesiredKind | null }
  /**
   * Appends frames of an imported log, each of which must continue the log, with no event after `upTo`; skips frames that
   * are there. Throws `validation_error` at the first frame that does not verify, and keeps those before it.
   */
  | { readonly op: 'importFrames'; readonly frames: readonly Uint8Array[]; readonly upTo: Whole };

/** The hits, best first. Each field is little-endian bytes: a number for each hit. */
export interface SearchResult {
  /** float64. */
  readonly ids: Uint8Array;
  /** float64: distances, also where the hits are ranked by something else. */
  readonly scores: Uint8Array;
  /** float64, with `decay`. */
  readonly factors?: Uint8Array;
  /** float64, whole seconds, with `decay`. */
  readonly agesSecs?: Uint8Array;
  /** int32, with `graph`; −1: out of reach. */
  readonly hops?: Uint8Array;
  /** With `group`: int32, for each hit the place of its value in `groupValues`. */
  readonly groups?: Uint8Array;
  /** Canonical JSON. */
  readonly groupValues?: readonly string[];
  readonly fields?: RecordFields;
  /** The committed events of the searched state, with `tellSequence`. */
  readonly sequence?: number;
  /** The searched state, with `asOf`. `timeMs`: the time of its last event; null before the first. */
  readonly asOf?: { readonly logIndex: number; readonly timeMs: number | null; readonly stateHash: string };
}

export interface Results extends GraphResults, ProofResults, RecordsResults {
  get: {
    readonly id: number;
    readonly vector: Uint8Array;
    readonly tag: number;
    readonly metadata: Uint8Array | null;
    /** UTF-8. */
    readonly externalId: Uint8Array | null;
  };
  search: SearchResult;
  /** In the order of the searches; `sequence`: the committed events of the state that all of them saw. */
  searchBatch: { readonly answers: readonly SearchResult[]; readonly sequence: number };
  describe: { readonly records: number; readonly sequence: number; readonly logBytes: number };
  indexState: IndexState;
  getEncrypted: { readonly id: number; readonly keyId: string; readonly payload: Uint8Array };
  /** `last`: the sequence of the last event in `frames`, or `end` where there is none; `end`: the sequence of the log. */
  readLog: { readonly frames: readonly Uint8Array[]; readonly last: number; readonly end: number };
  insertEncrypted: { readonly id: number; readonly keyId: string };
  shredKey: { readonly sequence: number };
  /** The new end of the log; hashes are 64 lowercase hex. */
  importFrames: { readonly sequence: number; readonly chainHead: string; readonly stateHash: string };
  insert: { readonly id: number; readonly deduplicated: boolean; readonly receipt: Receipt };
  /** `created`: those that are new, and not replaced. */
  insertBatch: { readonly ids: Uint8Array; readonly created: number };
  /**
   * `missing`: places in the request. `sequence`: of the last deletion; null where nothing was deleted. `deduplicated`: the
   * request was carried out before, which tells nothing of what is missing.
   */
  deleteMany: {
    readonly deleted: number;
    readonly missing: readonly number[];
    readonly sequence: number | null;
    readonly deduplicated?: true;
  };
  softDelete: { readonly sequence: number };
  delete: { readonly sequence: number };
  updateMetadata: { readonly sequence: number };
  configureIndex: IndexState;
  hold: null;
  release: null;
  rebuild: { readonly records: number };
}

export type Call = ReadCall | WriteCall | ControlCall;
export type ResultOf<C extends Call> = Results[C['op']];

/** A project of the API. The vault has an entry of its own, whose project is none. */
type ProjectName = string & tags.Pattern<'^[A-Za-z0-9_-]{1,64}$'>;

/** The vault's entry of a key, without the key. */
export interface KeyEntry {
  readonly status: 'active' | 'shredded';
  /** See `VaultEntry`. */
  readonly collectionIds: readonly number[];
  readonly pendingIds: readonly number[];
  /** For `destroyKey`; opaque. */
  readonly revision: number;
}

/** Calls about a key of the vault. Any shard answers them: coordinators cannot read the vault. */
export type VaultCall =
  /** Returns null where there is no entry. */
  | { readonly op: 'keyEntry'; readonly project: ProjectName; readonly keyId: KeyId }
  /**
   * Replaces the entry that `keyEntry` returned by one without a key, with `collectionIds` pending. Answered when the key is
   * gone, or with `isDone: false`, and nothing done, where the entry has changed.
   */
  | {
      readonly op: 'destroyKey';
      readonly project: ProjectName;
      readonly keyId: KeyId;
      /** The revision of the entry; null where there was none. */
      readonly entry: Whole | 'damaged' | null;
      readonly collectionIds: readonly Whole[];
    }
  /** Removes collections from the entry's pending ones; returns those left. */
  | {
      readonly op: 'strikeOff';
      readonly project: ProjectName;
      readonly keyId: KeyId;
      readonly collectionIds: readonly Whole[];
    }
  /** Answered when no byte of a replaced key is left anywhere. Throws `unavailable`, naming the servers that are away. */
  | { readonly op: 'settleKey'; readonly project: ProjectName; readonly keyId: KeyId };

/** The calls to one shard by its name. */
export type ShardCall =
  /** Reads the owner entries of these collections. Answered when the shard serves the subjects of its own. */
  | { readonly op: 'adopt'; readonly collectionIds: readonly Whole[] }
  /** Serves a deleted collection no more from now on, and begins to drop it. */
  | { readonly op: 'silence'; readonly collectionId: Whole }
  /** The same. Answered when nothing of it is left on the shard, and nothing will be appended. */
  | { readonly op: 'drop'; readonly collectionId: Whole }
  /** Returns live records, sequences, log bytes, snapshot bytes and the serving index (`brute`: none), in the order of the ids. */
  | { readonly op: 'count'; readonly collectionIds: readonly Whole[] }
  /** Returns what collections hold besides their logs, in the order of the ids. */
  | { readonly op: 'heldBytes'; readonly collectionIds: readonly Whole[] }
  /**
   * Returns the ids of the collections in memory: `open`, owned, which a new owner should warm first; `held`, owned, which
   * must not move while their writes are held; `following`, which this shard could own at once.
   */
  | { readonly op: 'openIds' }
  /** Returns the last sequences of the owned collections in memory. */
  | { readonly op: 'openSequences' }
  /** Makes a follower open the collection and catch up with its log. Answered at once; repeated until it is ready. */
  | { readonly op: 'warm'; readonly collectionId: Whole }
  /**
   * Makes the owner under `epoch` finish its commit, take no more calls, and write `to` as the owner under the next epoch,
   * with these followers. Answered when the owner entry is written; waiting calls are answered as if nobody served. Throws
   * `conflict`, and serves as the entry says, where the shard is not that owner or the entry has changed.
   */
  | {
      readonly op: 'handOver';
      readonly collectionId: Whole;
      readonly epoch: Whole;
      readonly to: string;
      readonly followers: readonly string[];
    }
  /**
   * Returns the last committed sequence of each collection at some time after the call came, by which a follower knows its
   * lag; null where this shard is not the owner.
   */
  | { readonly op: 'heads'; readonly collectionIds: readonly Whole[] }
  /**
   * Returns what the owner shows of each collection at some time after the call came, in the order of the ids; null where
   * this shard is not the owner or does not have it open. By it a follower knows when its copy may answer a strong search.
   */
  | { readonly op: 'readIndex'; readonly collectionIds: readonly Whole[] }
  /** Returns the state hash after event `sequence` of an owned collection; null where that is not cheap. */
  | { readonly op: 'stateHashAt'; readonly collectionId: Whole; readonly sequence: Whole }
  /** Returns what the ends of these logs show, in the order of the ids; any shard reads any log. A damaged log counts nothing. */
  | { readonly op: 'countInLogs'; readonly collectionIds: readonly Whole[] }
  /** Erases the log of a deleted collection. */
  | { readonly op: 'eraseLog'; readonly collectionId: Whole }
  | VaultCall
  /** Returns the unused reservations of this shard's collections of the project. */
  | { readonly op: 'trim'; readonly project: string }
  /** Stops answering for good: another process of this name is about to start. */
  | { readonly op: 'yield' }
  /** Returns what `GET /v1/cluster` shows of the process. */
  | { readonly op: 'status' }
  | { readonly op: 'metrics' };

/** The state that searches at an owner see. */
export interface ShownState {
  /** The last event that a search can see: every answered write, and whatever any search has seen, is at or before it. */
  readonly sequence: number;
  /** The index that serves. */
  readonly index: IndexSpec;
}

export interface ShardResults {
  adopt: null;
  silence: null;
  drop: null;
  count: {
    readonly records: readonly number[];
    readonly sequences: readonly number[];
    readonly logBytes: readonly number[];
    readonly snapshotBytes: readonly number[];
    readonly serving: readonly (IndexKind | 'brute')[];
  };
  openIds: {
    readonly open: readonly number[];
    readonly held: readonly number[];
    readonly following: readonly number[];
  };
  openSequences: { readonly ids: readonly number[]; readonly sequences: readonly number[] };
  /** `ready`: the follower has applied all that the log held when the call came. */
  warm: { readonly ready: boolean };
  handOver: null;
  heads: { readonly sequences: readonly (number | null)[] };
  readIndex: { readonly shown: readonly (ShownState | null)[] };
  countInLogs: { readonly counts: readonly LogCount[] };
  eraseLog: null;
  keyEntry: { readonly entry: KeyEntry | 'damaged' | null };
  destroyKey: { readonly isDone: boolean };
  strikeOff: { readonly pendingIds: readonly number[] };
  settleKey: null;
  /** 64 lowercase hex. */
  stateHashAt: { readonly stateHash: string | null };
  heldBytes: { readonly held: readonly HeldBytes[] };
  trim: null;
  yield: null;
  status: {
    readonly version: string;
    readonly host: string;
    readonly uptimeSecs: number;
    readonly memoryBytes: number;
    readonly memoryLimitBytes: number;
    /** Calls in flight. */
    readonly calls: number;
  };
  metrics: { readonly texts: readonly MetricText[] };
}
