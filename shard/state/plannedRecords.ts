/** The records of a commit in progress: those of the state, as the plan changes them. */
import type { RecordName } from '../../shared/model/recordName.js';
import { byteKey } from './byteKey.js';
import type { CollectionState } from './collectionState.js';
import { utf8ExternalId } from './externalIds.js';
import { missing, missingNamed, shredded } from './refusals.js';

export class PlannedRecords {
  /** Deleted records; true if a tombstone stays. */
  readonly #deleted = new Map<number, boolean>();
  /** New encrypted record → its key id. */
  readonly #keys = new Map<number, string>();
  readonly #shredded = new Set<string>();
  /** Key id → change in the number of its records without a tombstone. */
  readonly #underKey = new Map<string, number>();
  /** External id → new record. */
  readonly #external = new Map<string, number>();
  #nextId: number;
  #liveCount: number;

  constructor(private readonly state: CollectionState) {
    this.#nextId = state.nextRecordId;
    this.#liveCount = state.liveRecords;
  }

  /** Number of live records after the plan. */
  get liveCount(): number {
    return this.#liveCount;
  }

  /** Adds a record and returns its id. */
  add(externalId: Uint8Array | null = null): number {
    const recordId = this.#nextId++;
    this.#liveCount++;
    if (externalId !== null) this.#external.set(byteKey(externalId), recordId);
    return recordId;
  }

  addEncrypted(keyId: string): number {
    const recordId = this.add();
    this.#keys.set(recordId, keyId);
    this.#countKey(keyId, 1);
    return recordId;
  }

  delete(recordId: number, leavesTombstone: boolean): void {
    if (this.isLive(recordId)) this.#liveCount--;
    const keyId = this.keyOf(recordId);
    const isTombstoned = this.#deleted.has(recordId) || this.state.encrypted.get(recordId)?.isTombstoned === true;
    if (keyId !== undefined && !isTombstoned) this.#countKey(keyId, -1);
    this.#deleted.set(recordId, leavesTombstone);
  }

  /** Returns false if the key is shredded already. */
  shred(keyId: string): boolean {
    if (this.#isShredded(keyId)) return false;
    this.#shredded.add(keyId);
    this.#liveCount -= this.state.encrypted.countUnder(keyId) + (this.#underKey.get(keyId) ?? 0);
    return true;
  }

  isLive(recordId: number): boolean {
    if (this.#deleted.has(recordId)) return false;
    const keyId = this.keyOf(recordId);
    if (keyId !== undefined && this.#isShredded(keyId)) return false;
    return this.#isNew(recordId) || this.state.isLive(recordId);
  }

  exists(recordId: number): boolean {
    return this.#deleted.get(recordId) ?? (this.#isNew(recordId) || this.state.exists(recordId));
  }

  isFreed(recordId: number): boolean {
    return this.#deleted.get(recordId) === false;
  }

  /** Returns the key of an encrypted record, even of a deleted one; undefined for a record with a vector. */
  keyOf(recordId: number): string | undefined {
    return this.#keys.get(recordId) ?? this.state.encrypted.get(recordId)?.keyId;
  }

  /** Returns the live record with the external id. */
  liveUnder(externalId: Uint8Array): number | undefined {
    const added = this.#external.get(byteKey(externalId));
    if (added !== undefined && this.isLive(added)) return added;
    const recordId = this.state.externalIds.find(externalId);
    return recordId !== undefined && this.isLive(recordId) ? recordId : undefined;
  }

  /** Returns the id of the named record. Throws `record_not_found` if no live record has the external id. */
  named(name: RecordName): number {
    if (typeof name === 'number') return name;
    const recordId = this.liveUnder(utf8ExternalId(name));
    if (recordId === undefined) throw missingNamed(name);
    return recordId;
  }

  /** Returns the id of the named record. Throws `record_not_found` if it is not live. */
  liveNamed(name: RecordName): number {
    const recordId = this.named(name);
    if (!this.isLive(recordId)) throw missing(recordId);
    return recordId;
  }

  assertNotShredded(keyId: string): void {
    if (this.#isShredded(keyId)) throw shredded(keyId);
  }

  #isShredded(keyId: string): boolean {
    return this.#shredded.has(keyId) || this.state.encrypted.isShredded(keyId);
  }

  #isNew(recordId: number): boolean {
    return recordId >= this.state.nextRecordId && recordId < this.#nextId;
  }

  #countKey(keyId: string, by: number): void {
    this.#underKey.set(keyId, (this.#underKey.get(keyId) ?? 0) + by);
  }
}
