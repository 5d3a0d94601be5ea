/** What a coordinator asks of a collection's log to prove, and what it is told. Hashes are 32 bytes. */
import type { Receipt } from './calls.js';
import type { Event } from './log/event.js';
import type { Whole } from './whole.js';

export type ProofCall =
  /** Throws nothing: of an empty log, the empty state. */
  | { readonly op: 'proofState' }
  /** Of the write that committed event `sequence`. Throws `validation_error` where that changed no record, or is not there. */
  | { readonly op: 'proofReceipt'; readonly sequence: Whole }
  /** That event `sequence` is in the log of the first `size` events (the genesis counted); null: as it is now. */
  | { readonly op: 'proofInclusion'; readonly sequence: Whole; readonly size: Whole | null }
  /** That the log after event `to` extends the one after event `from`. */
  | { readonly op: 'proofConsistency'; readonly from: Whole; readonly to: Whole }
  /** What the log is now, signed. */
  | { readonly op: 'checkpoint' }
  | TimelineCall;

/** Events with `fromMs` ≤ time ≤ `toMs`, in order, beginning after event `after`. */
export interface TimelineCall {
  readonly op: 'timeline';
  readonly fromMs: number;
  readonly toMs: number;
  readonly after: Whole;
  readonly limit: Whole;
}

/** The log after event `sequence`: `size` counts the genesis too, and is 0 where nothing was ever written. */
export interface LogHead {
  readonly sequence: number;
  readonly size: number;
  /** Of the log tree. */
  readonly root: Uint8Array;
}

/** The genesis is in no timeline. */
export type TimelineEventType = Exclude<Event['type'], 'genesis'>;

export interface TimelineEvent {
  readonly sequence: number;
  readonly timeMs: number;
  readonly type: TimelineEventType;
  readonly recordId?: number;
  readonly nodeId?: number;
  readonly edgeId?: number;
  /** 32 lowercase hex. */
  readonly keyId?: string;
}

export interface ProofResults {
  proofState: {
    readonly stateHash: Uint8Array;
    readonly stateRoot: Uint8Array;
    /** Of a log of size 0: after the genesis that it will begin with, as the state hash has it. */
    readonly chainHead: Uint8Array;
    readonly log: LogHead;
  };
  proofReceipt: Receipt;
  proofInclusion: {
    readonly sequence: number;
    readonly log: LogHead;
    /** As `shard/proof/proofBytes.ts` lays it out. */
    readonly proof: Uint8Array;
  };
  proofConsistency: {
    readonly from: LogHead;
    readonly to: LogHead;
    /** The same. */
    readonly proof: Uint8Array;
  };
  checkpoint: {
    /** The text that is signed; see `shard/proof/checkpoint.ts`. */
    readonly text: string;
    /** Ed25519, 64 bytes. */
    readonly signature: Uint8Array;
    /** 32 bytes. */
    readonly publicKey: Uint8Array;
  };
  timeline: {
    readonly events: readonly TimelineEvent[];
    /** Within the times, those before `after` and beyond `limit` included. */
    readonly total: number;
  };
}
