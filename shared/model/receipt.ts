import type { NamedActor } from './actor.js';

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

/** The receipt of a past write, with what its event names. */
export interface PastReceipt extends Receipt {
  /** Hex. */
  readonly request_id?: string;
  readonly actor?: NamedActor;
}
