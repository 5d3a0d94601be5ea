/**
 * The encrypted records of a collection, without their ciphertexts, which stay in the log. They have no slot among the
 * vectors, so no search finds them.
 *
 *   live ──soft delete──▶ tombstoned          both ──delete──▶ gone
 *
 * A live record whose key is shredded is not counted and cannot be read any more. Its leaf stays, and it can be deleted.
 */
import { toHex } from '../../shared/hashing/hash.js';
import type { InsertEncrypted } from '../../shared/log/event.js';
import { encryptedContentHash, encryptedLeafHash, RECORD_STATE } from '../audit/leaf.js';
import { PagedList } from '../kernel/pagedList.js';

export interface EncryptedRecord {
  readonly id: number;
  readonly tag: number;
  readonly insertedMs: number;
  /** 32 lowercase hex. */
  readonly keyId: string;
  /** Hash of nonce and ciphertext, as latin1: a third of the memory of a Uint8Array. */
  readonly contentHash: string;
  /** Sequence of the event that holds the ciphertext. */
  readonly sequence: number;
  /** The length of the ciphertext. */
  readonly payloadBytes: number;
  readonly isTombstoned: boolean;
}

export class EncryptedRecords {
  /** Keyed by record id, without records that are deleted for good. */
  readonly #records = new PagedList<EncryptedRecord>();
  /** Key id → records under it that are not tombstoned. */
  readonly #standing = new Map<string, number>();
  /** Key id → bytes of the records under it, tombstoned ones included, while the key is not shredded. */
  readonly #payloads = new Map<string, number>();
  readonly #shredded = new Set<string>();
  #live = 0;
  #payloadBytes = 0;

  /** Records that are neither tombstoned nor under a shredded key. */
  get liveCount(): number {
    return this.#live;
  }

  /** The ciphertexts of the records that are neither deleted for good nor under a shredded key. */
  get payloadBytes(): number {
    return this.#payloadBytes;
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

  /** The number of records under the key that are live, or were when it was shredded. */
  standingUnder(keyId: string): number {
    return this.#standing.get(keyId) ?? 0;
  }

  /** The keys of live records; may be iterated during changes. */
  *liveKeys(): Generator<string, void, undefined> {
    for (const keyId of this.#standing.keys()) if (!this.#shredded.has(keyId)) yield keyId;
  }

  /** Every record that is not deleted for good, in the order of their ids. */
  *all(): Generator<EncryptedRecord, void, undefined> {
    for (const [, record] of this.#records.entries()) yield record;
  }

  shreddedKeys(): IterableIterator<string> {
    return this.#shredded.values();
  }

  insert(event: InsertEncrypted): void {
    const { recordId: id, tag, timeMs: insertedMs, sequence } = event;
    this.restore({
      id,
      tag,
      insertedMs,
      keyId: toHex(event.keyId),
      contentHash: contentHashOf(event),
      sequence,
      payloadBytes: event.ciphertext.length,
      isTombstoned: false,
    });
  }

  /** Adds a record as `all` returned it. Ids ascend; keys are shredded afterwards. */
  restore(record: EncryptedRecord): void {
    this.#records.set(record.id, record);
    this.#countPayload(record.keyId, record.payloadBytes);
    if (!record.isTombstoned) this.#count(record.keyId, 1);
  }

  tombstone(recordId: number): void {
    const record = this.#records.get(recordId)!;
    this.#records.set(recordId, { ...record, isTombstoned: true });
    this.#count(record.keyId, -1);
  }

  delete(recordId: number): void {
    const { keyId, isTombstoned, payloadBytes } = this.#records.get(recordId)!;
    this.#records.delete(recordId);
    this.#countPayload(keyId, -payloadBytes);
    if (!isTombstoned) this.#count(keyId, -1);
  }

  shred(keyId: string): void {
    this.#live -= this.standingUnder(keyId);
    this.#countPayload(keyId, -(this.#payloads.get(keyId) ?? 0));
    this.#shredded.add(keyId);
  }

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

  #countPayload(keyId: string, by: number): void {
    if (this.#shredded.has(keyId)) return;
    const bytes = (this.#payloads.get(keyId) ?? 0) + by;
    if (bytes === 0) this.#payloads.delete(keyId);
    else this.#payloads.set(keyId, bytes);
    this.#payloadBytes += by;
  }

  #count(keyId: string, by: number): void {
    const standing = this.standingUnder(keyId) + by;
    if (standing === 0) this.#standing.delete(keyId);
    else this.#standing.set(keyId, standing);
    if (!this.#shredded.has(keyId)) this.#live += by;
  }
}

/** Returns `EncryptedRecord.contentHash` for the event of the record. */
export const contentHashOf = ({ nonce, ciphertext }: Pick<InsertEncrypted, 'nonce' | 'ciphertext'>): string =>
  Buffer.from(encryptedContentHash(nonce, ciphertext)).toString('latin1');
