/** Calls for proofs of a collection's log, and their results. Hashes are 32 bytes. */
import type { Event } from '../log/event.js';
import type { Actor } from '../model/actor.js';
import type { AccessSettings } from '../model/readAudit.js';
import type { PastReceipt } from '../model/receipt.js';
import type { Finite, Whole } from '../model/whole.js';
import type { ErasureResults } from './erasures.js';

export type ProofCall =
  /** The state; of an empty log, the empty state. */
  | { readonly op: 'proofState' }
  /** The receipt of event `sequence`. Throws `validation_error` if the event changed no record or does not exist. */
  | { readonly op: 'proofReceipt'; readonly sequence: Whole }
  /** A proof that event `sequence` is in the log of the first `size` events, genesis included; null: the present log. */
  | { readonly op: 'proofInclusion'; readonly sequence: Whole; readonly size: Whole | null }
  /** A proof that the log after event `to` extends the one after event `from`. */
  | { readonly op: 'proofConsistency'; readonly from: Whole; readonly to: Whole }
  /** The present log, signed. */
  | { readonly op: 'checkpoint' }
  | TimelineCall;

/** Events with `fromMs` ≤ time ≤ `toMs`, in order, beginning after event `after`. */
export interface TimelineCall {
  readonly op: 'timeline';
  readonly fromMs: Finite;
  readonly toMs: Finite;
  readonly after: Whole;
  readonly limit: Whole;
  /** Only events whose actor has this key id or on-behalf-of. */
  readonly actor?: string;
}

/** The log after event `sequence`: `size` counts the genesis too, and is 0 for an empty log. */
export interface LogHead {
  readonly sequence: number;
  readonly size: number;
  /** Root of the log tree. */
  readonly root: Uint8Array;
}

/** Types of events in a timeline, which does not contain the genesis. */
export type TimelineEventType = Exclude<Event['type'], 'genesis'>;

export interface TimelineEvent {
  readonly sequence: number;
  readonly timeMs: number;
  readonly type: TimelineEventType;
  /** Null in an event of version 1. */
  readonly actor: Actor | null;
  readonly recordId?: number;
  readonly nodeId?: number;
  readonly edgeId?: number;
  /** 32 lowercase hex. */
  readonly keyId?: string;
  /** The settings that an event `auditReads` makes. */
  readonly access?: AccessSettings;
}

export interface ProofResults extends ErasureResults {
  proofState: {
    readonly stateHash: Uint8Array;
    readonly stateRoot: Uint8Array;
    /** For an empty log: the chain head after its future genesis, like in the state hash. */
    readonly chainHead: Uint8Array;
    readonly log: LogHead;
  };
  proofReceipt: PastReceipt;
  proofInclusion: {
    readonly sequence: number;
    readonly log: LogHead;
    /** Bytes in the layout of `shard/proof/collectionProofs.ts`. */
    readonly proof: Uint8Array;
  };
  proofConsistency: {
    readonly from: LogHead;
    readonly to: LogHead;
    /** Bytes in that layout too. */
    readonly proof: Uint8Array;
  };
  checkpoint: {
    /** The signed text; see `shard/proof/checkpoint.ts`. */
    readonly text: string;
    /** Ed25519, 64 bytes. */
    readonly signature: Uint8Array;
    /** 32 bytes. */
    readonly publicKey: Uint8Array;
  };
  timeline: {
    readonly events: readonly TimelineEvent[];
    /** The events within the times, including those outside of `after` and `limit`, of any actor. */
    readonly total: number;
    /** The last event that was looked at, if later ones within the times may have the wanted actor. */
    readonly next?: number;
  };
}
