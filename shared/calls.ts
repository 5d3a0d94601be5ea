/**
 * What a coordinator asks of a collection. Vectors travel as the little-endian bytes of their Q16.16 components,
 * already quantised and of the right length; metadata as the bytes that will be stored.
 */
import type { tags } from 'typia';
import type { Filter } from './filter.js';
import type { Direction, GraphRead, GraphResults, GraphWrite } from './graph.js';
import type { DesiredKind, IndexKind, IndexSpec, IndexState } from './indexSpec.js';
import type { K_MAX } from './limits.js';
import type { ProofCall, ProofResults } from './proofs.js';
import type { Whole } from './whole.js';

/** Whoever reaches the NATS server can send anything: what the engine counts with is within its bounds, or refused. */
type ResultCount = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof K_MAX>;

/**
 * Older records rank lower: by score / factor, where factor = 2 ** -min(age / half-life, 900) and the age is in whole
 * seconds. Equal ones by score, then by id.
 */
export interface Decay {
  readonly halfLifeSecs: number & tags.ExclusiveMinimum<0>;
  /** The moment that ages are counted to, unix milliseconds. */
  readonly nowMs: number;
}

/** BM25 of `query`, blended half and half with the distance; see `shard/search/blend.ts`. */
export interface TextQuery {
  readonly query: string;
  /** Candidates come from the best matches of the text too. */
  readonly hybrid: boolean;
}

/** Within their bounds already. */
export interface GraphRerank {
  readonly weight: number;
  readonly seedCount: number;
  readonly maxDepth: number;
  readonly direction: Direction;
}

/** The state after exactly so many committed events, or after the last one at or before an instant. */
export type AsOf = { readonly logIndex: number } | { readonly timeMs: number };

/** What is absent costs nothing. */
export interface SearchCall {
  readonly op: 'search';
  readonly query: Uint8Array;
  readonly k: ResultCount;
  readonly filter?: Filter;
  readonly decay?: Decay;
  readonly text?: TextQuery;
  readonly graph?: GraphRerank;
  /** Ages are counted to the instant that was asked for, or to the time of the event. */
  readonly asOf?: AsOf;
  /** The answer says which state was searched: of a search that a follower may answer. */
  readonly tellSequence?: true;
}

export type ReadCall =
  | { readonly op: 'get'; readonly id: Whole }
  | SearchCall
  | { readonly op: 'describe' }
  | { readonly op: 'indexState' }
  /** The plaintext of an encrypted record. Throws `record_not_found`, `record_shredded`. */
  | { readonly op: 'getEncrypted'; readonly id: Whole }
  /**
   * Whole stored frames, in order, from the one that holds event `from` on (0: from the first): as many as fit
   * `maxBytes`, and one at least.
   */
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
  readonly metadata: readonly (Uint8Array | null)[] | null;
  readonly texts: readonly (string | null)[] | null;
  readonly requestIds: readonly (Uint8Array | null)[] | null;
}

/** Of a vault key; written in one way only, since it is compared as it stands. */
export type KeyId = string & tags.Pattern<'^[0-9a-f]{32}$'>;

/** The vault of the shard makes the key where there is none, and encrypts; the plaintext goes no further. */
export interface InsertEncryptedCall {
  readonly op: 'insertEncrypted';
  readonly payload: Uint8Array;
  /** Null: a fresh one. */
  readonly keyId: KeyId | null;
  readonly tag: Whole;
  /** 16 bytes, or null. */
  readonly requestId: Uint8Array | null;
}

export type WriteCall =
  | InsertCall
  | InsertBatchCall
  | InsertEncryptedCall
  /** The data key is gone from the vault: its records here are lost, and leave the count. Repeated, it changes nothing. */
  | { readonly op: 'shredKey'; readonly keyId: KeyId }
  | { readonly op: 'softDelete'; readonly id: Whole }
  | { readonly op: 'delete'; readonly id: Whole }
  | { readonly op: 'updateMetadata'; readonly id: Whole; readonly metadata: Uint8Array }
  | GraphWrite;

/** What changes how a collection is served, and nothing in its log. Each travels in a message of its own. */
export type ControlCall =
  /**
   * Wants another index, or none. Once answered it is in the catalog, and the build has begun. Throws `conflict` where a
   * build that was asked for is under way.
   */
  | { readonly op: 'configureIndex'; readonly spec: IndexSpec }
  /** Takes no write until `release`, or until nobody has held it for `holdMs`: writes wait. Answered when none is under way. */
  | { readonly op: 'hold'; readonly token: string; readonly holdMs: number }
  | { readonly op: 'release'; readonly token: string }
  /** Builds the index anew, as another kind where one is given; answered when the new one serves. */
  | { readonly op: 'rebuild'; readonly kind: DesiredKind | null }
  /**
   * Frames of another log of this collection, stored and applied as they are: each must continue what is there. Those
   * that are there already are passed over. Only while the collection is being imported, and no event after `upTo`.
   * Throws `validation_error` at the first frame that does not verify; those before it stay.
   */
  | { readonly op: 'importFrames'; readonly frames: readonly Uint8Array[]; readonly upTo: Whole };

/** Hashes are 64 lowercase hex; the proof is base64url. */
export interface Receipt {
  readonly record_id: number;
  readonly old_root: string;
  readonly new_root: string;
  readonly proof: string;
  readonly sequence: number;
  readonly timestamp: number;
  readonly state_hash: string;
}

/** Best first; each field is the little-endian bytes of one number a hit. */
export interface SearchResult {
  /** float64. */
  readonly ids: Uint8Array;
  /** float64: true distances, whatever the order comes of. */
  readonly scores: Uint8Array;
  /** float64; where decay was asked for. */
  readonly factors?: Uint8Array;
  /** float64, whole seconds; where decay was asked for. */
  readonly agesSecs?: Uint8Array;
  /** int32, −1: none within reach; where the graph was asked for. */
  readonly hops?: Uint8Array;
  /** Committed events that the searched state has seen; where `tellSequence` was asked for. */
  readonly sequence?: number;
  /** The state that was searched; where a past one was asked for. `timeMs`: of its last event; null before the first. */
  readonly asOf?: { readonly logIndex: number; readonly timeMs: number | null; readonly stateHash: string };
}

export interface Results extends GraphResults, ProofResults {
  get: {
    readonly id: number;
    readonly vector: Uint8Array;
    readonly tag: number;
    readonly metadata: Uint8Array | null;
  };
  search: SearchResult;
  describe: { readonly records: number; readonly sequence: number; readonly logBytes: number };
  indexState: IndexState;
  getEncrypted: { readonly id: number; readonly keyId: string; readonly payload: Uint8Array };
  /** `last`: the sequence of the last event in them, or of the log where there are none; `end`: of the log. */
  readLog: { readonly frames: readonly Uint8Array[]; readonly last: number; readonly end: number };
  insertEncrypted: { readonly id: number; readonly keyId: string };
  shredKey: { readonly sequence: number };
  /** Where the log now ends; hashes are 64 lowercase hex. */
  importFrames: { readonly sequence: number; readonly chainHead: string; readonly stateHash: string };
  insert: { readonly id: number; readonly deduplicated: boolean; readonly receipt: Receipt };
  insertBatch: { readonly ids: Uint8Array };
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

/** What a coordinator asks of a shard by name. */
export type ShardCall =
  /** Look at the owner entries of these collections; answered when the subjects of those that are yours are served. */
  | { readonly op: 'adopt'; readonly collectionIds: readonly number[] }
  /** Stop serving, and forget: the collection was deleted. */
  | { readonly op: 'drop'; readonly collectionId: number }
  /** Live records, log bytes, snapshot bytes and the index that serves (`brute`: none) of each, in the order asked. */
  | { readonly op: 'count'; readonly collectionIds: readonly number[] }
  /**
   * What of its collections this shard has in memory: of those that it owns, which are worth warming elsewhere before they
   * move, and which must not move now, since their writes are held; of those that it follows, which it could own at once.
   */
  | { readonly op: 'openIds' }
  /**
   * To a follower: open the collection, and catch up with its log. Answered at once, with how far it is: asked again until
   * it is ready.
   */
  | { readonly op: 'warm'; readonly collectionId: number }
  /**
   * To the owner under `epoch`: finish the commit under way, take nothing more, and name `to` the owner under the next
   * epoch, with these followers. Answered when the owner entry says so; what still waits here is answered as by nobody.
   * Throws `conflict` where this shard does not own the collection under that epoch, or the entry has changed meanwhile;
   * it then goes on serving as the entry says.
   */
  | {
      readonly op: 'handOver';
      readonly collectionId: number;
      readonly epoch: number;
      readonly to: string;
      readonly followers: readonly string[];
    }
  /**
   * From a follower to the owner, and how the follower knows how old it is: the last committed sequence of each
   * collection, as of some moment after the question came; null where this shard does not own it now.
   */
  | { readonly op: 'heads'; readonly collectionIds: readonly number[] }
  /** The state hash after event `sequence` of a collection that this shard owns; null where it cannot be told cheaply. */
  | { readonly op: 'stateHashAt'; readonly collectionId: number; readonly sequence: number }
  /** Give back what this shard's collections of the project have reserved beyond what they hold. */
  | { readonly op: 'trim'; readonly project: string }
  /** Stop answering for good: another process of this name is about to start. */
  | { readonly op: 'yield' }
  | { readonly op: 'metrics' };

export interface ShardResults {
  adopt: null;
  drop: null;
  count: {
    readonly records: readonly number[];
    readonly logBytes: readonly number[];
    readonly snapshotBytes: readonly number[];
    readonly serving: readonly (IndexKind | 'brute')[];
  };
  openIds: {
    readonly open: readonly number[];
    readonly held: readonly number[];
    readonly following: readonly number[];
  };
  /** `ready`: all is applied that the log held when the question came. */
  warm: { readonly ready: boolean };
  handOver: null;
  heads: { readonly sequences: readonly (number | null)[] };
  /** 64 lowercase hex. */
  stateHashAt: { readonly stateHash: string | null };
  trim: null;
  yield: null;
  metrics: { readonly json: unknown };
}

/** Who a collection was when its log began. */
export interface CollectionOrigin {
  readonly project: string;
  readonly name: string;
  readonly id: number;
}

/** A collection's fixed configuration, as its catalog entry and its genesis event state it. */
export interface CollectionConfig {
  readonly id: number;
  readonly project: string;
  readonly name: string;
  readonly dimension: number;
  readonly metric: 'squared_l2';
  readonly createdAtMs: number;
  /** What its genesis states of it; absent: project, name and id as they are. Of a collection that was imported. */
  readonly origin?: CollectionOrigin;
}

export const originOf = ({ origin, project, name, id }: CollectionConfig): CollectionOrigin =>
  origin ?? { project, name, id };
