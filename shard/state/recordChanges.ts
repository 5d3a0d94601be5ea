/** The changes of records that events consist of: in the tables, the indexes, and the tree. */
import { EMPTY_HASH } from '../../shared/hashing/hash.js';
import { Damaged } from '../../shared/log/damaged.js';
import type { Insert, InsertEncrypted, InsertUnderKey, Replace } from '../../shared/log/event.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { leafHash, RECORD_STATE } from '../audit/leaf.js';
import { StateTree } from '../audit/stateTree.js';
import { NO_SLOT } from '../index/rows.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { MetadataIndex } from '../metadata/metadataIndex.js';
import { analyserOf } from '../text/analyser.js';
import { SLICING } from '../text/openTextQuery.js';
import { TextIndex } from '../text/textIndex.js';
import { byteKey } from './byteKey.js';
import { DedupWindow } from './dedupWindow.js';
import type { LargeChange } from './largeChange.js';
import { RecordTable } from './recordTable.js';
import { VersionVisibility } from './versionVisibility.js';

export abstract class RecordChanges extends RecordTable {
  readonly tree: StateTree;
  /** Indexes of the live records. */
  readonly metadata: MetadataIndex;
  readonly texts: TextIndex;
  readonly versions = new VersionVisibility();
  /** Called with the slot of a record that dies or gets another slot, before the slot can be reused. */
  onDeath: (slot: number, isReplaced: boolean) => void = () => undefined;
  readonly requests: DedupWindow;
  /** Index work of the current event; undefined if it happens at once. */
  protected large: LargeChange | undefined;

  constructor(config: CollectionConfig, vectors: VectorBlocks, dedupWindow: number) {
    super(config, vectors);
    this.tree = StateTree.over(config.dimension, (index) => this.leafOf(index + 1));
    this.requests = new DedupWindow(dedupWindow);
    const analyser = analyserOf(config.text);
    this.texts = new TextIndex((slot) => vectors.idOf(slot), SLICING, analyser);
    const texts = { index: this.texts, textOf: (slot: number) => this.fields.texts.get(slot) };
    this.metadata = new MetadataIndex(vectors.shape, (slot) => this.fields.metadata.get(slot), { texts, analyser });
  }

  /** Writes the content to a slot that searches do not find yet. */
  protected put(event: Insert | Replace): number {
    const { sequence, recordId, timeMs, metadata, text } = event;
    const large = this.large;
    const slot = large?.slot ?? this.write(event);
    this.insertions.set(slot, timeMs);
    this.fields.put(slot, recordId, event, true);
    if (large !== undefined) large.show(event);
    else {
      if (metadata !== null || text !== null) this.metadata.set(slot, metadata);
      if (text !== null) this.texts.add(slot, text);
    }
    if (text !== null) this.versions.textsChanged(sequence);
    return slot;
  }

  /** Writes the vector to a new slot. */
  protected write({ sequence, recordId, vector }: Insert | Replace): number {
    if (vector.length !== 4 * this.config.dimension)
      throw new Damaged(`event ${sequence} has a vector of another dimension`);
    const slot = this.vectors.acquire();
    this.vectors.write(slot, recordId, vector);
    return slot;
  }

  protected free(recordId: number, slot: number, sequence: number): void {
    if (!this.tombstoned.has(slot)) this.dies(slot, sequence);
    this.versions.freed(recordId, sequence);
    this.slots.set(recordId - 1, NO_SLOT);
    this.tombstoned.delete(slot);
    this.retire(slot);
  }

  /** Hides the row from scans, and releases its slot once the indexes are clear of it. */
  protected retire(slot: number): void {
    if (this.large === undefined) {
      this.release(slot);
      return;
    }
    this.vectors.retire(slot);
    this.large.releaseLater(slot);
  }

  protected release(slot: number): void {
    this.fields.delete(slot);
    this.vectors.release(slot);
  }

  protected remember({ requestId, recordId, sequence }: Pick<Insert, 'requestId' | 'recordId' | 'sequence'>): void {
    if (requestId !== null) this.requests.add(byteKey(requestId), { recordId, sequence });
  }

  /** Removes the record from all searches, before its slot can be reused. */
  protected dies(slot: number, sequence: number, isReplaced = false): void {
    this.onDeath(slot, isReplaced);
    if (this.large !== undefined) this.large.hide(slot);
    else {
      this.metadata.remove(slot);
      this.texts.remove(slot);
    }
    this.externalIds.dies(slot);
    if (this.fields.texts.has(slot)) this.versions.textsChanged(sequence);
  }

  protected rehash(recordId: number, sequence: number): void {
    this.tree.change(recordId - 1, this.leafOf(recordId), sequence);
  }

  /** Returns the record's leaf; the empty leaf if it is permanently deleted. */
  protected leafOf(recordId: number): Uint8Array {
    if (this.encrypted.get(recordId) !== undefined) return this.encryptedLeaf(recordId);
    const slot = this.slotOf(recordId);
    if (slot === NO_SLOT) return EMPTY_HASH;
    return leafHash({
      id: recordId,
      state: this.tombstoned.has(slot) ? RECORD_STATE.tombstoned : RECORD_STATE.live,
      vector: this.vectors.vectorView(slot),
      insertedMs: this.insertions.of(slot),
      expiresAtMs: this.expiries.of(recordId),
      ...this.fields.of(slot),
    });
  }

  /** Returns the leaf of a record under a key that is not permanently deleted. */
  encryptedLeaf(recordId: number): Uint8Array {
    return this.encrypted.leafOf(recordId, this.expiries.of(recordId));
  }

  protected assertNext({ sequence, recordId }: Insert | InsertEncrypted | InsertUnderKey): void {
    if (recordId !== this.nextRecordId)
      throw new Damaged(`event ${sequence} inserts record ${recordId}, but the next record is ${this.nextRecordId}`);
  }

  /** Returns the slot of a live record that is not under a key. */
  protected plainSlot(recordId: number): number {
    if (this.encrypted.get(recordId) !== undefined)
      throw new Damaged(`an event changes record ${recordId}, which is under a key, and not under it`);
    return this.liveSlot(recordId);
  }

  protected liveSlot(recordId: number): number {
    const slot = this.liveSlotOf(recordId);
    if (slot === undefined) throw new Damaged(`an event changes record ${recordId}, which is not live`);
    return slot;
  }
}
