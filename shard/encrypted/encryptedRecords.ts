/**
 * The encrypted records of a collection: what is known of each without its ciphertext, which stays in the log. They have
 * no slot among the vectors, so no search ever meets one.
 *
 *   live ──soft delete──▶ tombstoned          both ──delete──▶ gone
 *
 * A live record whose key is shredded is lost: it is not counted and cannot be read any more, but its leaf stays what it
 * was, and it can still be deleted.
 */
import { toHex } from '../../shared/hash.js';
import type { InsertEncrypted } from '../../shared/log/event.js';
import { encryptedContentHash, encryptedLeafHash } from '../audit/encryptedLeaf.js';
import { RECORD_STATE } from '../audit/leaf.js';

export interface EncryptedRecord {
  readonly id: number;
  readonly tag: number;
  readonly insertedMs: number;
  /** 32 lowercase hex. */
  readonly keyId: string;
  /** Of nonce and ciphertext, as latin1: a third of the memory of a Uint8Array. */
  readonly contentHash: string;
  /** Of the event that holds the ciphertext. */
  readonly sequence: number;
  readonly isTombstoned: boolean;
}

export class EncryptedRecords {
  /** By record id; those deleted for good are not there. */
  readonly #records = new Map<number, EncryptedRecord>();
  /** Key id → records under it that are not tombstoned. */
  readonly #standing = new Map<string, number>();
  readonly #shredded = new Set<string>();
  #live = 0;

  /** Neither tombstoned nor under a shredded key. */
  get liveCount(): number {
    return this.#live;
  }

  get(recordId: number): EncryptedRecord | undefined {
    return this.#records.get(recordId);
  }

  isLive(recordId: number): boolean {
    const record = this.#records.get(recordId);
    return record !== undefined && !record.isTombstoned && !this.#shredded.has(record.keyId);
  }

  isShredded(keyId: string): boolean {
    return this.#shredded.has(keyId);
  }

  /** Records under the key that are live, or were when it was shredded. */
  standingUnder(keyId: string): number {
    return this.#standing.get(keyId) ?? 0;
  }

  /** Those that live records stand under; may be walked while it changes. */
  *liveKeys(): Generator<string, void, undefined> {
    for (const keyId of this.#standing.keys()) if (!this.#shredded.has(keyId)) yield keyId;
  }

  /** Every record that is not deleted for good, in the order of their ids. */
  all(): IterableIterator<EncryptedRecord> {
    return this.#records.values();
  }

  shreddedKeys(): IterableIterator<string> {
    return this.#shredded.values();
  }

  /** Of a record whose key is not shredded. */
  insert(event: InsertEncrypted): void {
    const { recordId: id, tag, timeMs: insertedMs, sequence } = event;
    this.restore({
      id,
      tag,
      insertedMs,
      keyId: toHex(event.keyId),
      contentHash: contentHashOf(event),
      sequence,
      isTombstoned: false,
    });
  }

  /** A record as `all` told it. Ids ascend; keys are shredded after. */
  restore(record: EncryptedRecord): void {
    this.#records.set(record.id, record);
    if (!record.isTombstoned) this.#count(record.keyId, 1);
  }

  /** Of a live record. */
  tombstone(recordId: number): void {
    const record = this.#records.get(recordId)!;
    this.#records.set(recordId, { ...record, isTombstoned: true });
    this.#count(record.keyId, -1);
  }

  /** Of one that is there. */
  delete(recordId: number): void {
    const { keyId, isTombstoned } = this.#records.get(recordId)!;
    this.#records.delete(recordId);
    if (!isTombstoned) this.#count(keyId, -1);
  }

  shred(keyId: string): void {
    this.#live -= this.standingUnder(keyId);
    this.#shredded.add(keyId);
  }

  /** Of a record that is there, as it is now. */
  leafOf(recordId: number): Uint8Array {
    const { id, tag, insertedMs, keyId, contentHash, isTombstoned } = this.#records.get(recordId)!;
    return encryptedLeafHash({
      state: isTombstoned ? RECORD_STATE.tombstoned : RECORD_STATE.live,
      id,
      tag,
      insertedMs,
      keyId: Buffer.from(keyId, 'hex'),
      contentHash: Buffer.from(contentHash, 'latin1'),
    });
  }

  #count(keyId: string, by: number): void {
    const standing = this.standingUnder(keyId) + by;
    if (standing === 0) this.#standing.delete(keyId);
    else this.#standing.set(keyId, standing);
    if (!this.#shredded.has(keyId)) this.#live += by;
  }
}

/** What `EncryptedRecord.contentHash` is of the event that holds the record. */
export const contentHashOf = ({ nonce, ciphertext }: Pick<InsertEncrypted, 'nonce' | 'ciphertext'>): string =>
  Buffer.from(encryptedContentHash(nonce, ciphertext)).toString('latin1');
