/**
 * Which collections were deleted and may not be erased yet: an entry of BUCKETS.counters each, made before the catalog's goes
 * and taken away when nothing is left of the collection.
 *
 * It tells a collection that somebody deleted from one whose catalog entry was lost. What is lost together with the catalog is
 * the mark, so that the collection is kept.
 */
import type { Bucket, Entry, Watch } from '../../shared/bucket/bucket.js';
import type { CollectionConfig } from '../../shared/calls.js';

export type Deleted = Pick<CollectionConfig, 'id' | 'project' | 'name'>;

const KEY = /^deleted-([1-9]\d{0,15})$/;
const keyOf = (id: number): string => `deleted-${id}`;

/** `bucket`: BUCKETS.counters. */
export async function markDeleted(bucket: Bucket, { id, project, name }: Deleted): Promise<void> {
  await bucket.put(keyOf(id), { project, name });
}

export class DeletionMarks {
  readonly #marked = new Map<number, Deleted>();
  #watch: Watch | undefined;

  /** `bucket`: BUCKETS.counters. */
  constructor(private readonly bucket: Bucket) {}

  async start(): Promise<void> {
    this.#watch = await this.bucket.watch(({ key, entry }) => this.#told(key, entry));
  }

  stop(): void {
    this.#watch?.stop();
  }

  /** As far as this process was told. */
  all(): Deleted[] {
    return [...this.#marked.values()];
  }

  has(id: number): boolean {
    return this.#marked.has(id);
  }

  async clear(id: number): Promise<void> {
    await this.bucket.delete(keyOf(id));
  }

  #told(key: string, entry: Entry | undefined): void {
    const id = Number(KEY.exec(key)?.[1]);
    if (Number.isNaN(id)) return;
    if (entry === undefined) this.#marked.delete(id);
    else this.#marked.set(id, { id, ...(entry.value as { readonly project: string; readonly name: string }) });
  }
}
