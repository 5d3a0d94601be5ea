/**
 * How a project's collections, on however many shards, share one record capacity without ever exceeding it. The
 * project's entry says how many records each collection may hold; the sum never exceeds the capacity, and a
 * collection commits nothing beyond its part. What is reserved and not used can be taken back (`trim`).
 */
import type { Bucket, Json } from './bucket/bucket.js';

type Ledger = { readonly [collectionId: string]: number };

/** Reserving a little more than asked saves a round trip on most commits. */
const SLACK_MIN = 64;
const SLACK_MAX = 16_384;
/** Close to the capacity slack would starve the other collections. */
const SLACK_OF_FREE = 8;

export class Reservations {
  constructor(
    private readonly bucket: Bucket,
    private readonly capacity: number,
  ) {}

  /** Raises the collection's part to `wanted` records or more; less, down to what it had, where the capacity is short. */
  raise(project: string, collectionId: number, wanted: number): Promise<number> {
    return this.#change(project, collectionId, (had, others) => {
      const free = this.capacity - others;
      const slack = Math.min(
        Math.max(wanted >> 3, SLACK_MIN),
        SLACK_MAX,
        Math.floor(Math.max(free - wanted, 0) / SLACK_OF_FREE),
      );
      return Math.max(had, Math.min(wanted + slack, free));
    });
  }

  /** Lowers the collection's part to `used` records. */
  async lower(project: string, collectionId: number, used: number): Promise<void> {
    await this.#change(project, collectionId, (had) => Math.min(had, used));
  }

  async remove(project: string, collectionId: number): Promise<void> {
    await this.#change(project, collectionId, () => 0);
  }

  async #change(project: string, collectionId: number, next: (had: number, others: number) => number): Promise<number> {
    for (;;) {
      const entry = await this.bucket.get(project);
      const ledger = (entry?.value ?? {}) as Ledger;
      const had = ledger[collectionId] ?? 0;
      let total = 0;
      for (const part of Object.values(ledger)) total += part;
      const part = next(had, total - had);
      if (part === had) return part;
      const { [String(collectionId)]: _, ...rest } = ledger;
      const changed: Json = part === 0 ? rest : { ...rest, [collectionId]: part };
      const revision =
        entry === undefined
          ? await this.bucket.create(project, changed)
          : await this.bucket.update(project, changed, entry.revision);
      if (revision !== undefined) return part;
    }
  }
}
