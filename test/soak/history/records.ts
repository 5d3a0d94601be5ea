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
  readonly text: string | null;
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

/** A write of one record on a condition. */
interface Conditional {
  readonly id: number;
  /** Refused if the record has changed since this event; null: carried out in any case. */
  readonly since: number | null;
}

export interface RemoveCall extends Asked<'softDelete' | 'delete', { readonly sequence: number }>, Conditional {}

export interface UpdateCall extends Asked<'updateMetadata', { readonly sequence: number }>, Conditional {
  readonly metadata: Metadata;
}

/** A change of a part of the metadata; without a colour the record keeps its own. */
export interface Merge {
  readonly mark: number;
  readonly color?: number;
}

export interface MergeCall extends Asked<'mergeMetadata', { readonly sequence: number }>, Conditional {
  readonly merge: Merge;
}

/** One change of the metadata of many records: those with the ids, or all of a colour. */
export interface MergeManyCall
  extends Asked<'mergeMany', { readonly updated: number; readonly missing: readonly number[] }> {
  readonly of: { readonly ids: readonly number[] } | { readonly color: number };
  readonly merge: Merge;
}

export interface GetCall extends Asked<'get', { readonly vector: readonly number[]; readonly metadata: unknown }> {
  readonly id: number;
}
