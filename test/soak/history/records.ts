/** Calls about records with a vector. */
import type { Asked } from './asked.js';

/** Told apart by `mark`, which no other row and no other change of the run has. */
export interface Metadata {
  readonly color: number;
  readonly mark: number;
}

export interface Row {
  /** Whole numbers, so that every distance is exact. */
  readonly vector: readonly number[];
  readonly metadata: Metadata;
  /** 32 hex digits; null: never sent twice. */
  readonly requestId: string | null;
}

/** A receipt as it was told, without its proof: that was checked when it came. */
export interface ReceiptClaim {
  readonly recordId: number;
  readonly sequence: number;
  readonly oldRoot: string;
  readonly newRoot: string;
  readonly stateHash: string;
  /** Why the receipt does not hold by itself; empty where it does. */
  readonly problems: readonly string[];
}

export interface InsertCall
  extends Asked<'insert', { readonly id: number; readonly deduplicated: boolean; readonly receipt: ReceiptClaim }> {
  readonly row: Row;
}

export interface BatchCall extends Asked<'insertBatch', { readonly ids: readonly number[] }> {
  /** Some of them may have been sent before, in another call. */
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
