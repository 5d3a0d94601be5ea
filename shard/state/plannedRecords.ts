/** The records of a commit in progress: those of the state, as the plan changes them. */
import type { RecordName } from '../../shared/model/recordName.js';
import { byteKey } from './byteKey.js';
import type { CollectionState } from './collectionState.js';
import { utf8ExternalId } from './externalIds.js';
import { missing, missingNamed, shredded } from './refusals.js';

export class PlannedRecords {
  /** Deleted records; true if a tombstone stays. */
  readonly #deleted = new Map<number, boolean>();
  /** Record → the key that the plan puts it under. */
  readonly #keys = new Map<number, string>();
  /** New records with encrypted payloads. */
  readonly #payloads = new Set<number>();
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

  addPayload(keyId: string): number {
    const recordId = this.addUnderKey(keyId);
    this.#payloads.add(recordId);
    return recordId;
  }

  addUnderKey(keyId: string, externalId: Uint8Array | null = null): number {
    const recordId = this.add(externalId);
    this.#keys.set(recordId, keyId);
    this.#countKey(keyId, 1);
    return recordId;
  }

  /** Puts a live record under a key, instead of the one that it is under. */
  move(recordId: number, keyId: string): void {
    const before = this.keyOf(recordId);
    if (before !== undefined) this.#countKey(before, -1);
    this.#keys.set(recordId, keyId);
    this.#countKey(keyId, 1);
  }

  /** Whether the record has an encrypted payload. */
  isPayload(recordId: number): boolean {
    const record = this.state.encrypted.get(recordId);
    return this.#payloads.has(recordId) || (record !== undefined && record.content === undefined);
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

  /** Returns the key that the record is under, even that of a deleted one; undefined for a record under none. */
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
