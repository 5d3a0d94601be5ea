/**
 * The state of a collection, a pure function of its log. `apply` receives every event once, in order, both in operation
 * and in recovery. It uses neither clock nor randomness.
 */
import { unreachable } from '../../shared/errors/errors.js';
import { EMPTY_HASH, toHex } from '../../shared/hashing/hash.js';
import { Damaged } from '../../shared/log/damaged.js';
import type { AddNode, Event, GraphEvent, Insert, InsertEncrypted, Replace, ShredKey } from '../../shared/log/event.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { HeldBytes } from '../../shared/model/quotas.js';
import { leafHash, leafOfContent, RECORD_STATE } from '../audit/leaf.js';
import { type StateSummary, stateHash } from '../audit/stateHash.js';
import { StateTree } from '../audit/stateTree.js';
import { Graph } from '../graph/graph.js';
import { NO_SLOT } from '../index/rows.js';
import { Column } from '../kernel/column.js';
import { SlotSet } from '../kernel/slotSet.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { MetadataIndex } from '../metadata/metadataIndex.js';
import { TextIndex } from '../text/textIndex.js';
import { byteKey } from './byteKey.js';
import { InsertionTimes } from './decayTimes.js';
import { DedupWindow, NO_RECORD } from './dedupWindow.js';
import { EncryptedRecords } from './encryptedRecords.js';
import type { ExternalIds } from './externalIds.js';
import { KeptFields, type RecordImage, type StoredRecord } from './keptFields.js';
import { VersionVisibility } from './versionVisibility.js';

const BYTES_PER_COMPONENT = 4;

export class CollectionState {
  readonly tree: StateTree;
  readonly graph = new Graph();
  readonly encrypted = new EncryptedRecords();
  /** Indexes of the live records. */
  readonly metadata: MetadataIndex;
  readonly texts: TextIndex;
  /** Insertion times of all records that are not permanently deleted. */
  readonly insertions: InsertionTimes;
  readonly versions = new VersionVisibility();
  /** Called with the slot of a record that dies or gets another slot, before the slot can be reused. */
  onDeath: (slot: number, isReplaced: boolean) => void = () => undefined;
  readonly requests: DedupWindow;
  /** Slot by record id − 1; NO_SLOT for records that are encrypted or permanently deleted. */
  readonly #slots = new Column(NO_SLOT);
  // Keyed by slot. A slot is reused once its record is permanently deleted, or has another slot.
  readonly #tombstoned: SlotSet;
  readonly #fields = new KeptFields();
  /** Number of consecutive deletions right before the next event. */
  #deletions = 0;

  constructor(
    private readonly config: CollectionConfig,
    readonly vectors: VectorBlocks,
    dedupWindow: number,
  ) {
    this.tree = StateTree.over(config.dimension, (index) => this.#leafOf(index + 1));
    this.requests = new DedupWindow(dedupWindow);
    this.#tombstoned = new SlotSet(vectors.shape);
    this.insertions = new InsertionTimes(vectors.shape);
    this.metadata = new MetadataIndex(vectors.shape, (slot) => this.#fields.metadata.get(slot));
    this.texts = new TextIndex((slot) => vectors.idOf(slot));
  }

  get dimension(): number {
    return this.config.dimension;
  }

  get nextRecordId(): number {
    return this.#slots.length + 1;
  }

  get liveRecords(): number {
    return this.vectors.liveCount + this.encrypted.liveCount;
  }

  /** Bytes in memory by kind, besides the log. */
  get heldBytes(): HeldBytes {
    return {
      vectors: (this.vectors.liveCount + this.#tombstoned.count) * BYTES_PER_COMPONENT * this.config.dimension,
      metadata: this.#fields.metadata.sizeBytes + this.externalIds.sizeBytes,
      texts: this.#fields.texts.sizeBytes,
      payloads: this.encrypted.payloadBytes,
    };
  }

  /** Bytes of a live record's metadata; 0 for any other record. */
  metadataBytesOf(recordId: number): number {
    const slot = this.liveSlotOf(recordId);
    return slot === undefined ? 0 : this.#fields.metadata.sizeAt(slot);
  }

  isLive(recordId: number): boolean {
    return this.liveSlotOf(recordId) !== undefined || this.encrypted.isLive(recordId);
  }

  /** Returns undefined if the record is not live, or has no vector. */
  liveSlotOf(recordId: number): number | undefined {
    const slot = this.#slotOf(recordId);
    return slot === NO_SLOT || this.#tombstoned.has(slot) ? undefined : slot;
  }

  /** Returns the slot of a live or tombstoned record with a vector; undefined for any other record. */
  keptSlotOf(recordId: number): number | undefined {
    const slot = this.#slotOf(recordId);
    return slot === NO_SLOT ? undefined : slot;
  }

  metadataAt(slot: number): Uint8Array | null {
    return this.#fields.metadata.get(slot);
  }

  textAt(slot: number): Uint8Array | null {
    return this.#fields.texts.get(slot);
  }

  get externalIds(): ExternalIds {
    return this.#fields.externalIds;
  }

  /** Returns the external id of a live or tombstoned record; null if it has none. */
  externalIdOf(recordId: number): string | null {
    const slot = this.#slotOf(recordId);
    const utf8 = slot === NO_SLOT ? null : this.externalIds.get(slot);
    return utf8 === null ? null : Buffer.from(utf8.buffer, utf8.byteOffset, utf8.length).toString();
  }

  tagAt(slot: number): number {
    return this.#fields.tag(slot);
  }

  exists(recordId: number): boolean {
    return this.#slotOf(recordId) !== NO_SLOT || this.encrypted.get(recordId) !== undefined;
  }

  /** Whether the record in memory still has the hash of its leaf in the tree. */
  isAsHashed(recordId: number): boolean {
    return this.tree.isIntact(recordId - 1, () => this.#leafOf(recordId));
  }

  /** Returns the state hash over content and history. After a write it costs log2(records) + log2(nodes) hashes. */
  hash(history: Omit<StateSummary, 'stateRoot' | 'graphRoot'>): Uint8Array {
    return stateHash({ ...history, stateRoot: this.tree.root(), graphRoot: this.graph.root() });
  }

  /** Returns undefined if the record is not live. An encrypted record has zeros for a vector. */
  record(recordId: number): StoredRecord | undefined {
    const slot = this.liveSlotOf(recordId);
    if (slot === undefined) return this.#encryptedRecord(recordId);
    const { tag, metadata, externalId } = this.#fields.of(slot);
    return { id: recordId, vector: this.vectors.vectorBytes(slot), tag, metadata, externalId };
  }

  /** Returns undefined if the record is encrypted or permanently deleted. */
  image(recordId: number): RecordImage | undefined {
    const slot = this.#slotOf(recordId);
    if (slot === NO_SLOT) return undefined;
    const isTombstoned = this.#tombstoned.has(slot);
    return { slot, isTombstoned, insertedMs: this.insertions.of(slot), ...this.#fields.of(slot) };
  }

  /** Adds the record with the next id, whose row is written; undefined: without an image. The tree comes separately. */
  restore(image: RecordImage | undefined): void {
    this.#slots.push(image?.slot ?? NO_SLOT);
    if (image === undefined) return;
    const { slot, isTombstoned, insertedMs, metadata, text } = image;
    this.insertions.set(slot, insertedMs);
    this.#fields.put(slot, this.#slots.length, image, !isTombstoned);
    if (isTombstoned) {
      this.#tombstoned.add(slot);
      return;
    }
    if (metadata !== null) this.metadata.set(slot, metadata);
    if (text !== null) this.texts.add(slot, text);
    this.vectors.publish(slot);
  }

  /** Applies an event. Throws Damaged if it cannot follow the earlier ones: then the log was tampered with. */
  apply(event: Event): void {
    this.versions.happened(event.sequence, event.timeMs);
    if (event.type !== 'deleteMany') this.#deletions = event.type === 'delete' ? this.#deletions + 1 : 0;
    switch (event.type) {
      case 'genesis':
        return;
      case 'insert':
        this.#insert(event);
        return;
      case 'replace':
        this.#replace(event);
        return;
      case 'insertEncrypted':
        this.#insertEncrypted(event);
        return;
      case 'shredKey':
        this.#shred(event);
        return;
      case 'softDelete':
        this.#softDelete(event.recordId, event.sequence);
        return;
      case 'delete':
        this.#delete(event.recordId, event.sequence);
        return;
      case 'deleteMany':
        if (event.deleted > this.#deletions)
          throw new Damaged(`event ${event.sequence} ends deletions that do not precede it`);
        this.#deletions = 0;
        this.#remember({ ...event, recordId: NO_RECORD });
        return;
      case 'updateMetadata': {
        const slot = this.#liveSlot(event.recordId);
        this.tree.beforeChange(event.recordId - 1);
        this.metadata.set(slot, event.metadata);
        this.#fields.metadata.set(slot, event.metadata);
        this.versions.metadataReplaced(event.recordId, event.sequence);
        this.#rehash(event.recordId, event.sequence);
        return;
      }
      case 'addNode':
        this.#assertLinkable(event);
        this.#applyToGraph(event);
        return;
      case 'deleteNode':
      case 'addEdge':
      case 'deleteEdge':
        this.#applyToGraph(event);
        return;
      default:
        unreachable(event);
    }
  }

  #insert(event: Insert): void {
    const { sequence, externalId } = event;
    this.#assertNext(event);
    if (externalId !== null && this.externalIds.find(externalId) !== undefined)
      throw new Damaged(`event ${sequence} inserts under an external id that a live record has`);
    const slot = this.#put(event);
    this.#slots.push(slot);
    this.versions.born(sequence);
    this.tree.append(leafOfContent(event));
    this.vectors.publish(slot);
    this.#remember(event);
  }

  /** Writes the content to a new slot, so that a search that found the old one does not take the new content for it. */
  #replace(event: Replace): void {
    const { recordId, sequence, externalId } = event;
    const before = this.#liveSlot(recordId);
    if (this.externalIds.find(externalId) !== recordId)
      throw new Damaged(`event ${sequence} replaces record ${recordId} under an external id that is not its own`);
    this.tree.beforeChange(recordId - 1);
    this.#dies(before, sequence, true);
    this.versions.replaced(recordId, sequence);
    const slot = this.#put(event);
    this.#slots.set(recordId - 1, slot);
    this.#release(before);
    this.tree.change(recordId - 1, leafOfContent(event), sequence);
    this.vectors.publish(slot);
    this.#remember(event);
  }

  /** Writes the content to a slot that searches do not find yet. */
  #put(event: Insert | Replace): number {
    const { sequence, recordId, timeMs, vector, metadata, text } = event;
    if (vector.length !== 4 * this.config.dimension)
      throw new Damaged(`event ${sequence} has a vector of another dimension`);
    const slot = this.vectors.acquire();
    this.vectors.write(slot, recordId, vector);
    this.insertions.set(slot, timeMs);
    this.#fields.put(slot, recordId, event, true);
    if (metadata !== null) this.metadata.set(slot, metadata);
    if (text !== null) {
      this.texts.add(slot, text);
      this.versions.textsChanged(sequence);
    }
    return slot;
  }

  #insertEncrypted(event: InsertEncrypted): void {
    this.#assertNext(event);
    if (this.encrypted.isShredded(toHex(event.keyId)))
      throw new Damaged(`event ${event.sequence} inserts under a key that is shredded`);
    this.#slots.push(NO_SLOT);
    this.versions.born(event.sequence);
    this.encrypted.insert(event);
    this.tree.append(this.encrypted.leafOf(event.recordId));
    this.#remember(event);
  }

  #shred({ sequence, keyId: bytes }: ShredKey): void {
    const keyId = toHex(bytes);
    if (this.encrypted.isShredded(keyId)) throw new Damaged(`event ${sequence} shreds key ${keyId} once more`);
    this.encrypted.shred(keyId);
  }

  #softDelete(recordId: number, sequence: number): void {
    if (this.encrypted.isLive(recordId)) {
      this.tree.beforeChange(recordId - 1);
      this.encrypted.tombstone(recordId);
      this.#rehash(recordId, sequence);
      return;
    }
    const slot = this.#liveSlot(recordId);
    this.tree.beforeChange(recordId - 1);
    this.#dies(slot, sequence);
    this.vectors.retire(slot);
    this.#tombstoned.add(slot);
    this.versions.tombstoned(recordId, sequence);
    this.#rehash(recordId, sequence);
  }

  #delete(recordId: number, sequence: number): void {
    if (!this.exists(recordId)) throw new Damaged(`event ${sequence} deletes record ${recordId}, which does not exist`);
    this.tree.beforeChange(recordId - 1);
    const slot = this.#slotOf(recordId);
    if (slot === NO_SLOT) this.encrypted.delete(recordId);
    else this.#free(recordId, slot, sequence);
    this.#rehash(recordId, sequence);
    this.graph.recordDeleted(recordId, sequence);
    if (this.graph.changedBy.sequence === sequence) this.versions.graphChanged(sequence, true);
  }

  #free(recordId: number, slot: number, sequence: number): void {
    if (!this.#tombstoned.has(slot)) this.#dies(slot, sequence);
    this.versions.freed(recordId, sequence);
    this.#slots.set(recordId - 1, NO_SLOT);
    this.#tombstoned.delete(slot);
    this.#release(slot);
  }

  #release(slot: number): void {
    this.#fields.delete(slot);
    this.vectors.release(slot);
  }

  #remember({ requestId, recordId, sequence }: Pick<Insert, 'requestId' | 'recordId' | 'sequence'>): void {
    if (requestId !== null) this.requests.add(byteKey(requestId), { recordId, sequence });
  }

  #encryptedRecord(recordId: number): StoredRecord | undefined {
    if (!this.encrypted.isLive(recordId)) return undefined;
    const { tag } = this.encrypted.get(recordId)!;
    const vector = new Uint8Array(4 * this.config.dimension);
    return { id: recordId, vector, tag, metadata: null, externalId: null };
  }

  #applyToGraph(event: GraphEvent): void {
    this.graph.apply(event);
    this.versions.graphChanged(event.sequence, false);
  }

  /** Removes the record from all searches, before its slot can be reused. */
  #dies(slot: number, sequence: number, isReplaced = false): void {
    this.onDeath(slot, isReplaced);
    this.metadata.remove(slot);
    this.texts.remove(slot);
    this.externalIds.dies(slot);
    if (this.#fields.texts.has(slot)) this.versions.textsChanged(sequence);
  }

  #rehash(recordId: number, sequence: number): void {
    this.tree.change(recordId - 1, this.#leafOf(recordId), sequence);
  }

  /** Returns the record's leaf; the empty leaf if it is permanently deleted. */
  #leafOf(recordId: number): Uint8Array {
    const slot = this.#slotOf(recordId);
    if (slot === NO_SLOT)
      return this.encrypted.get(recordId) === undefined ? EMPTY_HASH : this.encrypted.leafOf(recordId);
    return leafHash({
      id: recordId,
      state: this.#tombstoned.has(slot) ? RECORD_STATE.tombstoned : RECORD_STATE.live,
      vector: this.vectors.vectorView(slot),
      insertedMs: this.insertions.of(slot),
      ...this.#fields.of(slot),
    });
  }

  #assertNext({ sequence, recordId }: Insert | InsertEncrypted): void {
    if (recordId !== this.nextRecordId)
      throw new Damaged(`event ${sequence} inserts record ${recordId} where ${this.nextRecordId} is next`);
  }

  #assertLinkable({ sequence, recordId }: AddNode): void {
    if (recordId !== null && !this.isLive(recordId))
      throw new Damaged(`event ${sequence} links a node to record ${recordId}, which is not live`);
  }

  #slotOf(recordId: number): number {
    return this.#slots.get(recordId - 1);
  }

  #liveSlot(recordId: number): number {
    const slot = this.liveSlotOf(recordId);
    if (slot === undefined) throw new Damaged(`an event changes record ${recordId}, which is not live`);
    return slot;
  }
}
