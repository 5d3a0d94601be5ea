/** Pages of records in the order of a metadata value. */
import type { Asked } from './asked.js';

/** A listed record and the value by which it is ordered; null: it has none. */
export interface OrderedRecord {
  readonly id: number;
  readonly value: number | null;
}

export interface ListCall
  extends Asked<'list', { readonly records: readonly OrderedRecord[]; readonly next: string | null }> {
  readonly orderBy: 'color' | 'mark';
  readonly isDescending: boolean;
  readonly limit: number;
  /** Only records of this colour; null: all. */
  readonly color: number | null;
  /** The `next` of the page before, and its last record; null: the first page. */
  readonly after: { readonly next: string; readonly last: OrderedRecord } | null;
}
