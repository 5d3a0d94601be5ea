/**
 * The calls of a coordinator to a collection and to a shard. A vector is the little-endian bytes of its Q16.16 components,
 * quantised and of the right length; metadata are the bytes that will be stored.
 */
import type { tags } from 'typia';
import type { BATCHED_SEARCHES_MAX, GROUP_SIZE_MAX, K_MAX } from '../limits.js';
import type { LogCount } from '../log/logCount.js';
import type { MetricText } from '../metrics/metricsText.js';
import type { Filter } from '../model/filter.js';
import type { Direction, GraphRead, GraphResults } from '../model/graph.js';
import type { DesiredKind, IndexKind, IndexSpec, IndexState } from '../model/indexSpec.js';
import type { HeldBytes } from '../model/quotas.js';
import type { AccessSettings } from '../model/readAudit.js';
import type { RecordName } from '../model/recordName.js';
import type { DurationMs, Finite, Whole, WholeBetween } from '../model/whole.js';
import type {
  AccessFramesCall,
  AccessPageCall,
  AccessResults,
  CollectionAccessHead,
  LogAccessCall,
  TrimAccessCall,
} from './access.js';
import type { ErasureCall, KeysOfCall, SignedText } from './erasures.js';
import type { ProofCall, ProofResults } from './proofs.js';
import type { Field, RecordFields, RecordsCall, RecordsResults } from './records.js';
import type { KeyId, WriteCall, WriteResults } from './writes.js';

/** A bounded count: any program with access to the NATS server can send any number. */
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

/** How the orders by distance and by text become one; see `shard/search/fuse.ts`. */
export interface Fusion {
  readonly by: 'blend' | 'rrf';
  /** The weight of the text; that of the distance is 1 − `textWeight`. */
  readonly textWeight: number & tags.Minimum<0> & tags.Maximum<1>;
}

/** BM25 of `query`, blended half and half with the distance, or as `fusion` says. */
export interface TextQuery {
  readonly query: string;
  /** The terms of the query; set by the shard, where they take long to find. */
  readonly terms?: readonly string[];
  /** Whether the best matches of the text are candidates too. */
  readonly hybrid: boolean;
  /** Returns the text scores too. */
  readonly fusion?: Fusion;
  /** Finds the best matches of the text, whatever their vectors are. The search then has neither `query` nor `like`. */
  readonly alone?: true;
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
  /** A record to exclude. */
  readonly like?: RecordName;
  readonly k: ResultCount;
  /** Largest distance of hits. */
  readonly scoreMost?: number & tags.Minimum<0> & tags.Maximum<1.7976931348623157e308>;
  readonly group?: Grouping;
  /** Fields of the hits. */
  readonly fields?: readonly Field[];
  /** With fields or groups: most bytes that they may take; beyond it the call throws `validation_error`. */
  readonly maxBytes?: Whole;
  readonly filter?: Filter;
  readonly decay?: Decay;
  readonly text?: TextQuery;
  readonly graph?: GraphRerank;
  /** Above 0: how much the distances between hits count; see `shard/search/diverse.ts`. */
  readonly diversity?: number & tags.Minimum<0> & tags.Maximum<1>;
  /** The past state to search; ages end at its time, or at that of its event. */
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
  /** `text`: returns the text too. */
  | { readonly op: 'get'; readonly id: RecordName; readonly text?: true; readonly salt?: true }
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
  | ErasureCall
  | KeysOfCall
  | AccessPageCall
  | AccessFramesCall
  | GraphRead;

/** Calls that change how a collection is served, not its log. Each has a message of its own. */
export type ControlCall =
  /** Stores the wanted index in the catalog and begins its build. Throws `conflict` while a requested build runs. */
  | { readonly op: 'configureIndex'; readonly spec: IndexSpec }
  /** Makes writes wait until `release`, or for `holdMs` after the last `hold`. Answered when no write is in flight. */
  | { readonly op: 'hold'; readonly token: string; readonly holdMs: DurationMs }
  | { readonly op: 'release'; readonly token: string }
  /** Builds the index again, of the given kind if there is one. Answered when the new index serves. */
  | { readonly op: 'rebuild'; readonly kind: DesiredKind | null }
  /**
   * Appends frames of an imported log, each of which must continue the log, with no event after `upTo`; skips frames that the log
   * has. Throws `validation_error` at the first frame that does not verify, and keeps the earlier ones.
   */
  | { readonly op: 'importFrames'; readonly frames: readonly Uint8Array[]; readonly upTo: Whole }
  | LogAccessCall
  | TrimAccessCall;

/** The hits, best first. Each field is little-endian bytes: a number for each hit. */
export interface SearchResult {
  /** float64. */
  readonly ids: Uint8Array;
  /** float64: distances, in any ranking. Empty for a search of texts alone. */
  readonly scores: Uint8Array;
  /** float64: BM25, with `fusion` or of a search of texts alone. */
  readonly textScores?: Uint8Array;
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
  readonly asOf?: {
    readonly logIndex: number;
    readonly timeMs: number | null;
    readonly stateHash: string;
    readonly erased: number;
  };
}

export interface Results extends AccessResults, GraphResults, ProofResults, RecordsResults, WriteResults {
  get: {
    readonly id: number;
    /** The key that the record is under. */
    readonly keyId?: string;
    readonly vector: Uint8Array;
    readonly tag: number;
    readonly metadata: Uint8Array | null;
    /** UTF-8. */
    readonly externalId: Uint8Array | null;
    /** Unix milliseconds; null: it does not expire. */
    readonly expiresAtMs: number | null;
    /** UTF-8; present where it was asked for. */
    readonly text?: Uint8Array | null;
    /** Salt of the commitment to the content; present where it was asked for, if the record is under a key. */
    readonly salt?: Uint8Array;
    /** Sequence of the last event that wrote it. */
    readonly changedBy: number;
  };
  search: SearchResult;
  /** In the order of the searches; `sequence`: the committed events of the state that all of them saw. */
  searchBatch: { readonly answers: readonly SearchResult[]; readonly sequence: number };
  describe: { readonly records: number; readonly sequence: number; readonly logBytes: number };
  indexState: IndexState;
  getEncrypted: { readonly id: number; readonly keyId: string; readonly payload: Uint8Array };
  /** `last`: the sequence of the last event in `frames`, or `end` without frames; `end`: the sequence of the log. */
  readLog: { readonly frames: readonly Uint8Array[]; readonly last: number; readonly end: number };
  /** The new end of the log, and the settings of its access log there; hashes are 64 lowercase hex. */
  importFrames: {
    readonly sequence: number;
    readonly chainHead: string;
    readonly stateHash: string;
    readonly access: AccessSettings;
  };
  configureIndex: IndexState;
  hold: null;
  release: null;
  rebuild: { readonly records: number };
}

export type Call = ReadCall | WriteCall | ControlCall;
export type ResultOf<C extends Call> = Results[C['op']];

/** A project of the API. The vault's own entry has a project that does not match this. */
type ProjectName = string & tags.Pattern<'^[A-Za-z0-9_-]{1,64}$'>;
type Hash = string & tags.Pattern<'^[0-9a-f]{64}$'>;

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
  /** Returns null without an entry. */
  | { readonly op: 'keyEntry'; readonly project: ProjectName; readonly keyId: KeyId }
  /**
   * Replaces the entry that `keyEntry` returned with one without a key, with `collectionIds` pending. Answered when the key is
   * gone; with `isDone: false`, and no effect, if the entry has changed.
   */
  | {
      readonly op: 'destroyKey';
      readonly project: ProjectName;
      readonly keyId: KeyId;
      /** The revision of the entry; null for a key without an entry. */
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
  /** Answered when no byte of a replaced key is left on any server. Throws `unavailable`, naming the servers that are away. */
  | { readonly op: 'settleKey'; readonly project: ProjectName; readonly keyId: KeyId }
  /**
   * Signs the certificate of a shredded key; see `shard/vault/certificate.ts`. `collections`: the hash of each one's statement, or
   * null for a deleted one. Throws `conflict` while a shred of the key is pending, and `unavailable` for other collections than
   * those of the entry.
   */
  | {
      readonly op: 'certifyErasure';
      readonly project: ProjectName;
      readonly keyId: KeyId;
      readonly collections: readonly { readonly id: Whole; readonly statement: Hash | null }[];
    };

/** The calls to one shard by its name. */
export type ShardCall =
  /** Reads the owner entries of these collections. Answered when the shard serves the subjects of its own. */
  | { readonly op: 'adopt'; readonly collectionIds: readonly Whole[] }
  /** Stops serving a deleted collection at once, and begins to drop it. */
  | { readonly op: 'silence'; readonly collectionId: Whole }
  /** Stops serving a deleted collection, and drops it. Answered when the shard has no part of it, and will append nothing. */
  | { readonly op: 'drop'; readonly collectionId: Whole }
  /** Returns live records, sequences, log bytes, snapshot bytes and the serving index (`brute`: none), in the order of the ids. */
  | { readonly op: 'count'; readonly collectionIds: readonly Whole[] }
  /** Returns the content bytes of collections, without their logs, in the order of the ids. */
  | { readonly op: 'heldBytes'; readonly collectionIds: readonly Whole[] }
  /**
   * Returns the ids of the collections in memory. In `open`: owned ones, which a new owner should warm first. In `held`: those of
   * them with a hold on their writes, which must not move now. In `following`: followed ones.
   */
  | { readonly op: 'openIds' }
  /** Returns the last sequences of the owned collections in memory. */
  | { readonly op: 'openSequences' }
  /** Returns the access logs in memory of the owned collections, those with entries. */
  | { readonly op: 'accessHeads' }
  /** Makes a follower open the collection and catch up with its log. Answered at once; repeated until it is ready. */
  | { readonly op: 'warm'; readonly collectionId: Whole }
  /**
   * Makes the owner under `epoch` finish its commit, take no more calls, and write `to` as the owner under the next epoch, with
   * these followers. Answered when the owner entry is written; waiting calls are answered as not served. Throws `conflict` if the
   * shard is not that owner or the entry has changed; the shard then follows the entry.
   */
  | {
      readonly op: 'handOver';
      readonly collectionId: Whole;
      readonly epoch: Whole;
      readonly to: string;
      readonly followers: readonly string[];
    }
  /**
   * Returns each collection's last committed sequence, at a time after the arrival of the call. Null if this shard is not the
   * owner, or has not removed expired records yet. A follower computes its lag and its age from it.
   */
  | { readonly op: 'heads'; readonly collectionIds: readonly Whole[] }
  /**
   * Returns the state that searches at the owner see, at a time after the arrival of the call, in the order of the ids. Null if
   * this shard is not the owner or does not have the collection open. A follower's copy must reach it before a strong search.
   */
  | { readonly op: 'readIndex'; readonly collectionIds: readonly Whole[] }
  /** Returns the state hash after event `sequence` of an owned collection; null if that would be costly. */
  | { readonly op: 'stateHashAt'; readonly collectionId: Whole; readonly sequence: Whole }
  /** Asks a follower whether it has applied event `sequence`, and erased what the event erases. */
  | { readonly op: 'erased'; readonly collectionId: Whole; readonly sequence: Whole }
  /** Returns counts from the ends of these logs, in the order of the ids; any shard reads any log. A damaged log counts as empty. */
  | { readonly op: 'countInLogs'; readonly collectionIds: readonly Whole[] }
  /** Erases the log of a deleted collection. */
  | { readonly op: 'eraseLog'; readonly collectionId: Whole }
  | VaultCall
  /** Returns the unused reservations of this shard's collections of the project. */
  | { readonly op: 'trim'; readonly project: string }
  /** Stops answering for good: another process of this name is about to start. */
  | { readonly op: 'yield' }
  /** Returns the state of the process for `GET /v1/cluster`. */
  | { readonly op: 'status' }
  | { readonly op: 'metrics' };

/** The state that searches at an owner see. */
export interface ShownState {
  /** The last event that a search can see. Every answered write, and every state that a search has seen, is at or before it. */
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
    /** Settings of the access logs. Null for a collection that is not open. */
    readonly access: readonly (AccessSettings | null)[];
  };
  openIds: {
    readonly open: readonly number[];
    readonly held: readonly number[];
    readonly following: readonly number[];
  };
  accessHeads: { readonly heads: readonly CollectionAccessHead[] };
  openSequences: { readonly ids: readonly number[]; readonly sequences: readonly number[] };
  /** `ready`: the follower has applied every event that was in the log when the call arrived. */
  warm: { readonly ready: boolean };
  handOver: null;
  heads: { readonly sequences: readonly (number | null)[] };
  readIndex: { readonly shown: readonly (ShownState | null)[] };
  /** `isDone`: also of a shard without a copy in memory. */
  erased: { readonly isDone: boolean };
  countInLogs: { readonly counts: readonly LogCount[] };
  eraseLog: null;
  keyEntry: { readonly entry: KeyEntry | 'damaged' | null };
  destroyKey: { readonly isDone: boolean };
  strikeOff: { readonly pendingIds: readonly number[] };
  settleKey: null;
  certifyErasure: SignedText;
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
