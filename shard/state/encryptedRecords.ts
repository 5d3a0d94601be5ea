/**
 * The encrypted records of a collection. Their ciphertexts stay in the log. They have no slot among the vectors, so no
 * search finds them.
 *
 * ```text
 * Live ──soft delete──▶ tombstoned; both ──delete──▶ gone.
 * ```
 *
 * A live record whose key is shredded is not counted and cannot be read any more. Its leaf stays, and it can be
 * deleted.
 */
import { toHex } from '../../shared/hashing/hash.js';
import type { InsertEncrypted } from '../../shared/log/event.js';
import { encryptedContentHash, encryptedLeafHash, RECORD_STATE } from '../audit/leaf.js';
import { PagedList } from '../kernel/pagedList.js';

export interface EncryptedRecord {
  readonly id: number;
  readonly tag: number;
  readonly insertedMs: number;
  /** 32 lowercase hex digits. */
  readonly keyId: string;
  /** Hash of nonce and ciphertext, as latin1: a third of the memory of a Uint8Array. */
  readonly contentHash: string;
  /** Sequence of the event that has the ciphertext. */
  readonly sequence: number;
  /** Length of the ciphertext. */
  readonly payloadBytes: number;
  readonly isTombstoned: boolean;
}

export class EncryptedRecords {
  /** Records by id, except permanently deleted ones. */
  readonly #records = new PagedList<EncryptedRecord>();
  /** Key id → number of its records without a tombstone. */
  readonly #underKey = new Map<string, number>();
  /** Key id → bytes of its records, including tombstoned ones, until the key is shredded. */
  readonly #payloads = new Map<string, number>();
  readonly #shredded = new Set<string>();
  #live = 0;
  #payloadBytes = 0;

  /** Number of records that are neither tombstoned nor under a shredded key. */
  get liveCount(): number {
    return this.#live;
  }

  /** Bytes of ciphertexts of records that are neither permanently deleted nor under a shredded key. */
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

  /** Returns the number of records under the key that are live, or were live when it was shredded. */
  countUnder(keyId: string): number {
    return this.#underKey.get(keyId) ?? 0;
  }

  /** Yields the keys of live records. Changes during the iteration are allowed. */
  *liveKeys(): Generator<string, void, undefined> {
    for (const keyId of this.#underKey.keys()) if (!this.#shredded.has(keyId)) yield keyId;
  }

  /** Yields the records that are not permanently deleted, by id. */
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

  /** Adds a record that `all` yielded. Ids ascend; keys are shredded afterwards. */
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
    this.#live -= this.countUnder(keyId);
    this.#countPayload(keyId, -(this.#payloads.get(keyId) ?? 0));
    this.#shredded.add(keyId);
  }

  leafOf(recordId: number, expiresAtMs: number | undefined): Uint8Array {
    const { id, tag, insertedMs, keyId, contentHash, isTombstoned } = this.#records.get(recordId)!;
    return encryptedLeafHash({
      state: isTombstoned ? RECORD_STATE.tombstoned : RECORD_STATE.live,
      id,
      tag,
      insertedMs,
      keyId: Buffer.from(keyId, 'hex'),
      contentHash: Buffer.from(contentHash, 'latin1'),
      expiresAtMs,
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
    const count = this.countUnder(keyId) + by;
    if (count === 0) this.#underKey.delete(keyId);
    else this.#underKey.set(keyId, count);
    if (!this.#shredded.has(keyId)) this.#live += by;
  }
}

/** Returns `EncryptedRecord.contentHash` for the event of the record. */
export const contentHashOf = ({ nonce, ciphertext }: Pick<InsertEncrypted, 'nonce' | 'ciphertext'>): string =>
  Buffer.from(encryptedContentHash(nonce, ciphertext)).toString('latin1');
