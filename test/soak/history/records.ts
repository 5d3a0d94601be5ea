/** Calls about records with a vector. */
import type { Asked } from './asked.js';

/** `mark` is unique among the rows and changes of a run. */
export interface Metadata {
  readonly color: number;
  readonly mark: number;
}

export interface Row {
  /** Integers, so that every distance is exact. */
  readonly vector: readonly number[];
  readonly metadata: Metadata;
  /** 32 hex digits; null: never sent twice. */
  readonly requestId: string | null;
}

/** An answered receipt without its proof, which was checked on arrival. */
export interface ReceiptClaim {
  readonly recordId: number;
  readonly sequence: number;
  readonly oldRoot: string;
  readonly newRoot: string;
  readonly stateHash: string;
  /** Reasons why the receipt is invalid; empty if it is valid. */
  readonly problems: readonly string[];
}

export interface InsertCall
  extends Asked<'insert', { readonly id: number; readonly deduplicated: boolean; readonly receipt: ReceiptClaim }> {
  readonly row: Row;
}

export interface BatchCall extends Asked<'insertBatch', { readonly ids: readonly number[] }> {
  /** Another call may have sent some of them before. */
  readonly rows: readonly Row[];
}

export interface RemoveCall extends Asked<'softDelete' | 'delete', { readonly sequence: number }> {
  readonly id: number;
}

export interface UpdateCall extends Asked<'updateMetadata', { readonly sequence: number }> {
  readonly id: number;
  readonly metadata: Metadata;
}

export interface GetCall extends Asked<'get', { readonly vector: readonly number[]; readonly metadata: unknown }> {
  readonly id: number;
}
