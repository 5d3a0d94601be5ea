/**
 * The records of a collection that are under a vault key. Their ciphertexts stay in the log. Some have an encrypted
 * payload, which no search finds. The others are searched like any record. Their content has a vector slot until a
 * shred.
 *
 * ```text
 * Live ──soft delete──▶ tombstoned; both ──delete──▶ gone.
 * ```
 *
 * A live record with a shredded key keeps its leaf and can be deleted. It is not counted and cannot be read any more.
 * If the vault had no key when the event was applied, the record has no content; it counts until the log states the
 * shred.
 */
import type { EventUnderKey, InsertEncrypted } from '../../shared/log/event.js';
import { encryptedContentHash, encryptedLeafHash, RECORD_STATE, underKeyLeafHash } from '../audit/leaf.js';
import { PagedList } from '../kernel/pagedList.js';
import { byteKey } from './byteKey.js';
import { ErasureHistory } from './erasureHistory.js';

export interface EncryptedRecord {
  readonly id: number;
  readonly tag: number;
  readonly insertedMs: number;
  /** 32 lowercase hex digits. */
  readonly keyId: string;
  /** Hash of nonce and ciphertext, or the commitment, as latin1: a third of the memory of a Uint8Array. */
  readonly contentHash: string;
  /** Sequence of the event that has the ciphertext. */
  readonly sequence: number;
  /** Length of the payload's ciphertext. */
  readonly payloadBytes: number;
  readonly isTombstoned: boolean;
  /** Whether the content of a searched record is in a slot or lost with its key. Undefined for an encrypted payload. */
  readonly content?: 'slot' | 'lost';
}

/** The records with content under one key. */
interface KeyContents {
  readonly ids: Set<number>;
  /** Number of these records without a tombstone. */
  untombstoned: number;
}

const NONE: ReadonlySet<number> = new Set();

export class EncryptedRecords {
  /** Records by id, except permanently deleted ones. */
  readonly #records = new PagedList<EncryptedRecord>();
  /** Key id → number of its records without a tombstone. */
  readonly #underKey = new Map<string, number>();
  /** Key id → bytes of its records, including tombstoned ones, until the key is shredded. */
  readonly #payloads = new Map<string, number>();
  readonly #shredded = new Set<string>();
  /** Facts that certificates of erasure state and the present records do not have. */
  readonly erasures = new ErasureHistory();
  readonly #contents = new Map<string, KeyContents>();
  /** Whether the log has records with content under a key. No file may contain such content in plain. */
  hasContents = false;
  #live = 0;
  #livePayloads = 0;
  #payloadBytes = 0;

  /** Number of records without a slot that are neither tombstoned nor under a shredded key. */
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

  /** Whether the live record has an encrypted payload. */
  isLivePayload(recordId: number): boolean {
    return this.isLive(recordId) && this.#records.get(recordId)!.content === undefined;
  }

  /** Returns the number of live records whose content is lost although the log does not state the shred yet. */
  get lostCount(): number {
    return this.#live - this.#livePayloads;
  }

  /** Returns the ids of the records with content under the key. */
  idsUnder(keyId: string): ReadonlySet<number> {
    return this.#contents.get(keyId)?.ids ?? NONE;
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

  /** Yields the keys that may have records whose content is in a slot. */
  *contentKeys(): Generator<string, void, undefined> {
    for (const [keyId, { ids }] of this.#contents) if (ids.size > 0 && !this.#shredded.has(keyId)) yield keyId;
  }

  /** Yields the records that are not permanently deleted, by id. */
  *all(): Generator<EncryptedRecord, void, undefined> {
    for (const [, record] of this.#records.entries()) yield record;
  }

  shreddedKeys(): IterableIterator<string> {
    return this.#shredded.values();
  }

  /** `keyId`: the key of the event. */
  insert(event: InsertEncrypted, keyId: string): void {
    const { recordId: id, tag, timeMs: insertedMs, sequence } = event;
    this.restore({
      id,
      tag,
      insertedMs,
      keyId,
      contentHash: contentHashOf(event),
      sequence,
      payloadBytes: event.ciphertext.length,
      isTombstoned: false,
    });
  }

  /** Adds a record that `all` yielded. Call it in the order of the ids, and before `shred`. */
  restore(record: EncryptedRecord): void {
    const { id, keyId } = record;
    this.#records.set(id, record);
    if (record.content === undefined) this.#countPayload(keyId, record.payloadBytes);
    else {
      this.hasContents = true;
      const contents = this.#contents.get(keyId);
      if (contents === undefined) this.#contents.set(keyId, { ids: new Set([id]), untombstoned: 0 });
      else contents.ids.add(id);
    }
    if (!record.isTombstoned) this.#count(record, 1);
  }

  /**
   * Adds the record, or changes it. `keyId`: the key of the event. `insertedMs`: the time of its insert, or of its last
   * replacement.
   */
  write({ recordId: id, sequence, commitment, content }: EventUnderKey, keyId: string, insertedMs: number): void {
    if (this.#records.get(id) !== undefined) this.delete(id);
    this.restore({
      id,
      tag: 0,
      insertedMs,
      keyId,
      contentHash: byteKey(commitment),
      sequence,
      payloadBytes: 0,
      isTombstoned: false,
      content: content === null ? 'lost' : 'slot',
    });
  }

  /** Notes that the content of the record is no longer in a slot. */
  lose(recordId: number): void {
    const record = this.#records.get(recordId)!;
    const lost = { ...record, content: 'lost' as const };
    if (!record.isTombstoned) this.#count(record, -1);
    if (!record.isTombstoned) this.#count(lost, 1);
    this.#records.set(recordId, lost);
  }

  tombstone(recordId: number): void {
    const record = this.#records.get(recordId)!;
    this.#records.set(recordId, { ...record, isTombstoned: true });
    this.#count(record, -1);
  }

  delete(recordId: number): void {
    const record = this.#records.get(recordId)!;
    const { keyId, isTombstoned, payloadBytes, sequence } = record;
    this.#records.delete(recordId);
    this.erasures.add('former', keyId, sequence);
    this.#contents.get(keyId)?.ids.delete(recordId);
    this.#countPayload(keyId, -payloadBytes);
    if (!isTombstoned) this.#count(record, -1);
  }

  /** Marks the records under the key as destroyed. None of them may still have a slot. */
  shred(keyId: string): void {
    const lost = this.#contents.get(keyId)?.untombstoned ?? 0;
    this.#livePayloads -= this.countUnder(keyId) - lost;
    this.#live -= this.countUnder(keyId);
    this.#countPayload(keyId, -(this.#payloads.get(keyId) ?? 0));
    this.#shredded.add(keyId);
  }

  leafOf(recordId: number, expiresAtMs: number | undefined): Uint8Array {
    const { id, tag, insertedMs, keyId, contentHash, isTombstoned, content } = this.#records.get(recordId)!;
    const leafHash = content === undefined ? encryptedLeafHash : underKeyLeafHash;
    return leafHash({
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

  #count({ keyId, content }: EncryptedRecord, by: number): void {
    const count = this.countUnder(keyId) + by;
    if (count === 0) this.#underKey.delete(keyId);
    else this.#underKey.set(keyId, count);
    if (content !== undefined) this.#contents.get(keyId)!.untombstoned += by;
    if (this.#shredded.has(keyId) || content === 'slot') return;
    this.#live += by;
    if (content === undefined) this.#livePayloads += by;
  }
}

/** Returns `EncryptedRecord.contentHash` for the event of the record. */
export const contentHashOf = ({ nonce, ciphertext }: Pick<InsertEncrypted, 'nonce' | 'ciphertext'>): string =>
  Buffer.from(encryptedContentHash(nonce, ciphertext)).toString('latin1');
