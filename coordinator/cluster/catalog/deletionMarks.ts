/**
 * Deletion marks: entries of BUCKETS.counters that distinguish a deleted collection from one whose catalog entry was lost. If
 * the mark is lost too, the collection is kept.
 *
 * ```text
 * deleted ──log, watermark and reservation erased──▶ erased ──▶ removed
 * ```
 *
 * "Deleted" is written before the catalog entry is removed. "Erased" stays until the service log records the deletion, and no
 * append to the collection's log can still be in flight.
 */
import type { Bucket, Entry, Watch } from '../../../shared/bucket/bucket.js';
import type { Clock } from '../../../shared/clock.js';
import type { CollectionConfig } from '../../../shared/model/collectionConfig.js';

export type Deleted = Pick<CollectionConfig, 'id' | 'project' | 'name'>;

const KEY = /^deleted-([1-9]\d{0,15})$/;
const ERASED_KEY = /^erased-([1-9]\d{0,15})$/;
const keyOf = (id: number): string => `deleted-${id}`;
const erasedKeyOf = (id: number): string => `erased-${id}`;

/** `bucket`: BUCKETS.counters. */
export async function markDeleted(bucket: Bucket, { id, project, name }: Deleted): Promise<void> {
  await bucket.put(keyOf(id), { project, name });
}

export async function clearDeleted(bucket: Bucket, id: number): Promise<void> {
  await bucket.delete(keyOf(id));
}

/** Marks a collection as erased, and no longer as deleted. */
export async function markErased(bucket: Bucket, { id, project, name }: Deleted): Promise<void> {
  await bucket.put(erasedKeyOf(id), { project, name });
  await clearDeleted(bucket, id);
}

export async function clearErased(bucket: Bucket, id: number): Promise<void> {
  await bucket.delete(erasedKeyOf(id));
}

export interface Erased {
  readonly collection: Deleted;
  /** When this process received the mark, in monotonic milliseconds. */
  readonly sinceMs: number;
  /** Whether its content cannot come back any more. */
  readonly isSettled: boolean;
}

/** Deletion marks by collection id. */
export interface Marks {
  readonly marked: Map<number, Deleted>;
  readonly erased: Map<number, Erased>;
}

/** Keeps the marks up to date. */
export const watchDeleted = (bucket: Bucket, { marked, erased }: Marks, clock: Clock): Promise<Watch> =>
  bucket.watch(({ key, entry }) => {
    const erasedId = Number(ERASED_KEY.exec(key)?.[1]);
    if (entry === undefined) erased.delete(erasedId);
    else if (!Number.isNaN(erasedId) && !erased.has(erasedId))
      erased.set(erasedId, {
        collection: deletedOf(erasedId, entry),
        sinceMs: clock.monotonicMs(),
        isSettled: false,
      });
    const id = Number(KEY.exec(key)?.[1]);
    if (Number.isNaN(id)) return;
    if (entry === undefined) marked.delete(id);
    else marked.set(id, deletedOf(id, entry));
  });

const deletedOf = (id: number, { value }: Entry): Deleted => ({ id, ...(value as Omit<Deleted, 'id'>) });
