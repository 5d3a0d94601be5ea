/** The records of a collection: the slot of each, and what is kept by slot. */
import type { RecordContent } from '../../shared/log/event.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { HeldBytes } from '../../shared/model/quotas.js';
import { NO_SLOT } from '../index/rows.js';
import { Column } from '../kernel/column.js';
import { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { InsertionTimes } from './decayTimes.js';
import { EncryptedRecords } from './encryptedRecords.js';
import { Expiries } from './expiries.js';
import type { ExternalIds } from './externalIds.js';
import { KeptFields, type RecordImage, type StoredRecord } from './keptFields.js';

const BYTES_PER_COMPONENT = 4;

export class RecordTable {
  readonly encrypted = new EncryptedRecords();
  /** Insertion times of all records that are not permanently deleted. */
  readonly insertions: InsertionTimes;
  /** Expiries by record id, of records that are not permanently deleted: also of tombstoned and encrypted ones. */
  readonly expiries = new Expiries();
  /** Slot by record id − 1; NO_SLOT for records that have a payload, lost their content, or are permanently deleted. */
  protected readonly slots = new Column(NO_SLOT);
  // Keyed by slot. A slot is reused once its record is permanently deleted, or has another slot.
  protected readonly tombstoned: SlotSet;
  protected readonly fields = new KeptFields();

  constructor(
    protected readonly config: CollectionConfig,
    readonly vectors: VectorBlocks,
  ) {
    this.tombstoned = new SlotSet(vectors.shape);
    this.insertions = new InsertionTimes(vectors.shape);
  }

  get dimension(): number {
    return this.config.dimension;
  }

  get nextRecordId(): number {
    return this.slots.length + 1;
  }

  get liveRecords(): number {
    return this.vectors.liveCount + this.encrypted.liveCount;
  }

  /** Bytes in memory by kind, besides the log. */
  get heldBytes(): HeldBytes {
    return {
      vectors: (this.vectors.liveCount + this.tombstoned.count) * BYTES_PER_COMPONENT * this.config.dimension,
      metadata: this.fields.metadata.sizeBytes + this.externalIds.sizeBytes,
      texts: this.fields.texts.sizeBytes,
      payloads: this.encrypted.payloadBytes,
    };
  }

  /** Bytes of a live record's metadata; 0 for any other record. */
  metadataBytesOf(recordId: number): number {
    const slot = this.liveSlotOf(recordId);
    return slot === undefined ? 0 : this.fields.metadata.sizeAt(slot);
  }

  /** Whether the record is live, and has its content or payload. */
  isReadable(recordId: number): boolean {
    return this.liveSlotOf(recordId) !== undefined || this.encrypted.isLivePayload(recordId);
  }

  isLive(recordId: number): boolean {
    return this.liveSlotOf(recordId) !== undefined || this.encrypted.isLive(recordId);
  }

  /** Returns undefined if the record is not live, or has no vector. */
  liveSlotOf(recordId: number): number | undefined {
    const slot = this.slotOf(recordId);
    return slot === NO_SLOT || this.tombstoned.has(slot) ? undefined : slot;
  }

  /** Returns the slot of a live or tombstoned record with a vector; undefined for any other record. */
  keptSlotOf(recordId: number): number | undefined {
    const slot = this.slotOf(recordId);
    return slot === NO_SLOT ? undefined : slot;
  }

  metadataAt(slot: number): Uint8Array | null {
    return this.fields.metadata.get(slot);
  }

  textAt(slot: number): Uint8Array | null {
    return this.fields.texts.get(slot);
  }

  get externalIds(): ExternalIds {
    return this.fields.externalIds;
  }

  /** Returns the external id of a live or tombstoned record; null if it has none. */
  externalIdOf(recordId: number): string | null {
    const slot = this.slotOf(recordId);
    const utf8 = slot === NO_SLOT ? null : this.externalIds.get(slot);
    return utf8 === null ? null : Buffer.from(utf8.buffer, utf8.byteOffset, utf8.length).toString();
  }

  tagAt(slot: number): number {
    return this.fields.tag(slot);
  }

  exists(recordId: number): boolean {
    return this.slotOf(recordId) !== NO_SLOT || this.encrypted.get(recordId) !== undefined;
  }

  /** Returns undefined if the record is not live. An encrypted record has zeros for a vector. */
  record(recordId: number): StoredRecord | undefined {
    const slot = this.liveSlotOf(recordId);
    if (slot === undefined) return this.#encryptedRecord(recordId);
    const { tag, metadata, externalId } = this.fields.of(slot);
    const expiresAtMs = this.expiries.of(recordId) ?? null;
    return { id: recordId, vector: this.vectors.vectorBytes(slot), tag, metadata, externalId, expiresAtMs };
  }

  /** Returns the content in a slot. */
  contentAt(slot: number): RecordContent {
    return { ...this.fields.of(slot), vector: this.vectors.vectorBytes(slot) };
  }

  /** Returns undefined if the record is encrypted, under a key or permanently deleted. */
  image(recordId: number): RecordImage | undefined {
    const slot = this.slotOf(recordId);
    if (slot === NO_SLOT || this.encrypted.get(recordId) !== undefined) return undefined;
    const isTombstoned = this.tombstoned.has(slot);
    const expiresAtMs = this.expiries.of(recordId);
    return { slot, isTombstoned, insertedMs: this.insertions.of(slot), expiresAtMs, ...this.fields.of(slot) };
  }

  #encryptedRecord(recordId: number): StoredRecord | undefined {
    if (!this.encrypted.isLivePayload(recordId)) return undefined;
    const { tag } = this.encrypted.get(recordId)!;
    const vector = new Uint8Array(4 * this.config.dimension);
    const expiresAtMs = this.expiries.of(recordId) ?? null;
    return { id: recordId, vector, tag, metadata: null, externalId: null, expiresAtMs };
  }

  /** Bytes of the metadata and the text of a record; 0 without a vector. */
  protected describedBytesOf(recordId: number): number {
    const slot = this.slotOf(recordId);
    return slot === NO_SLOT ? 0 : this.fields.metadata.sizeAt(slot) + this.fields.texts.sizeAt(slot);
  }

  protected slotOf(recordId: number): number {
    return this.slots.get(recordId - 1);
  }
}
