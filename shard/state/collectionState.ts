/**
 * The state of a collection, a pure function of its log. `apply` receives every event once, in order, both in operation
 * and in recovery. It uses neither clock nor randomness.
 */
import { unreachable } from '../../shared/errors/errors.js';
import { EMPTY_HASH, toHex } from '../../shared/hashing/hash.js';
import { Damaged } from '../../shared/log/damaged.js';
import type { AddNode, Event, GraphEvent, Insert, InsertEncrypted, Replace, ShredKey } from '../../shared/log/event.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { READ_AUDITS, type ReadAudit } from '../../shared/model/readAudit.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import { leafHash, leafOfContent, RECORD_STATE } from '../audit/leaf.js';
import { type StateSummary, stateHash } from '../audit/stateHash.js';
import { StateTree } from '../audit/stateTree.js';
import { Graph } from '../graph/graph.js';
import { NO_SLOT } from '../index/rows.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { MetadataIndex } from '../metadata/metadataIndex.js';
import { analyserOf } from '../text/analyser.js';
import { SLICING } from '../text/openTextQuery.js';
import { TextIndex } from '../text/textIndex.js';
import { byteKey } from './byteKey.js';
import { DedupWindow, NO_RECORD } from './dedupWindow.js';
import type { RecordImage } from './keptFields.js';
import { indexedBytesOf, LargeChange } from './largeChange.js';
import { RecordTable } from './recordTable.js';
import { VersionVisibility } from './versionVisibility.js';

/** Metadata and texts of this size are indexed in steps: at once they would take a millisecond. */
const LARGE_BYTES = 8_192;
/** The stems of a text of this size take a millisecond at worst. */
const LARGE_STEMMED_BYTES = 1_024;

export class CollectionState extends RecordTable {
  readonly tree: StateTree;
  readonly graph = new Graph();
  /** Indexes of the live records. */
  readonly metadata: MetadataIndex;
  readonly texts: TextIndex;
  readonly versions = new VersionVisibility();
  /** Called with the slot of a record that dies or gets another slot, before the slot can be reused. */
  onDeath: (slot: number, isReplaced: boolean) => void = () => undefined;
  readonly requests: DedupWindow;
  /** Whether its reads are entries of its access log. */
  readAudit: ReadAudit = 'off';
  /** Days for which entries of the access log are kept; 0: forever. */
  accessRetentionDays = 0;
  readonly #largeBytes: number;
  /** Number of consecutive deletions right before the next event. */
  #deletions = 0;
  /** Index work of the current event; undefined if it happens at once. */
  #large: LargeChange | undefined;

  constructor(config: CollectionConfig, vectors: VectorBlocks, dedupWindow: number) {
    super(config, vectors);
    this.tree = StateTree.over(config.dimension, (index) => this.#leafOf(index + 1));
    this.requests = new DedupWindow(dedupWindow);
    const analyser = analyserOf(config.text);
    this.#largeBytes = analyser.isStemming ? LARGE_STEMMED_BYTES : LARGE_BYTES;
    this.texts = new TextIndex((slot) => vectors.idOf(slot), SLICING, analyser);
    const texts = { index: this.texts, textOf: (slot: number) => this.fields.texts.get(slot) };
    this.metadata = new MetadataIndex(vectors.shape, (slot) => this.fields.metadata.get(slot), { texts, analyser });
  }

  /** Whether the record in memory still has the hash of its leaf in the tree. */
  isAsHashed(recordId: number): boolean {
    return this.tree.isIntact(recordId - 1, () => this.#leafOf(recordId));
  }

  /** Returns the state hash over content and history. After a write it costs log2(records) + log2(nodes) hashes. */
  hash(history: Omit<StateSummary, 'stateRoot' | 'graphRoot'>): Uint8Array {
    return stateHash({ ...history, stateRoot: this.tree.root(), graphRoot: this.graph.root() });
  }

  /**
   * Adds the record with the next id, whose row is written; undefined: without an image. The tree comes separately. `terms`: those
   * of its text, if they are known.
   */
  restore(image: RecordImage | undefined, terms?: readonly string[]): void {
    this.slots.push(image?.slot ?? NO_SLOT);
    if (image === undefined) return;
    const { slot, isTombstoned, insertedMs, expiresAtMs, metadata, text } = image;
    this.expiries.set(this.slots.length, expiresAtMs);
    this.insertions.set(slot, insertedMs);
    this.fields.put(slot, this.slots.length, image, !isTombstoned);
    if (isTombstoned) {
      this.tombstoned.add(slot);
      return;
    }
    if (metadata !== null || text !== null) this.metadata.set(slot, metadata);
    if (text !== null) this.texts.add(slot, text, terms);
    this.vectors.publish(slot);
  }

  /** Returns the sequence of the last event that wrote a live record. */
  changedBy(recordId: number): number {
    return this.tree.changedBy(recordId - 1) || this.versions.bornBy(recordId);
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
        if (this.#large === undefined) this.metadata.set(slot, event.metadata);
        this.fields.metadata.set(slot, event.metadata);
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
      case 'auditReads':
        this.readAudit = READ_AUDITS[event.kind]!;
        this.accessRetentionDays = event.retentionDays;
        return;
      default:
        unreachable(event);
    }
  }

  /** Whether the event adds or removes so much metadata and text that it must be applied in steps. */
  isLarge(event: Event): boolean {
    return indexedBytesOf(event, (recordId) => this.describedBytesOf(recordId)) >= this.#largeBytes;
  }

  /**
   * Applies an event as `apply`, with index work in steps before and after it. Searches see all of it in the turn in
   * which `onSeen` is called.
   */
  *applyInSteps(event: Event, onSeen: () => void): Steps<void> {
    const happen = (): void => {
      this.apply(event);
      onSeen();
    };
    const isWritten = event.type === 'insert' || event.type === 'replace';
    this.#large = new LargeChange(this.metadata, this.texts, isWritten ? this.#write(event) : undefined);
    if (isWritten) yield* this.#large.prepare(event);
    if (event.type !== 'updateMetadata') happen();
    else yield* this.metadata.update(this.#liveSlot(event.recordId), event.metadata, happen);
    yield* this.#large.clear((slot) => this.#release(slot));
    this.#large = undefined;
  }

  #insert(event: Insert): void {
    const { sequence, externalId } = event;
    this.#assertNext(event);
    if (externalId !== null && this.externalIds.find(externalId) !== undefined)
      throw new Damaged(`event ${sequence} inserts under an external id that a live record has`);
    const slot = this.#put(event);
    this.slots.push(slot);
    this.expiries.set(event.recordId, event.expiresAtMs);
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
    this.slots.set(recordId - 1, slot);
    this.expiries.set(recordId, event.expiresAtMs);
    this.#retire(before);
    this.tree.change(recordId - 1, leafOfContent(event), sequence);
    this.vectors.publish(slot);
    this.#remember(event);
  }

  /** Writes the content to a slot that searches do not find yet. */
  #put(event: Insert | Replace): number {
    const { sequence, recordId, timeMs, metadata, text } = event;
    const large = this.#large;
    const slot = large?.slot ?? this.#write(event);
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
  #write({ sequence, recordId, vector }: Insert | Replace): number {
    if (vector.length !== 4 * this.config.dimension)
      throw new Damaged(`event ${sequence} has a vector of another dimension`);
    const slot = this.vectors.acquire();
    this.vectors.write(slot, recordId, vector);
    return slot;
  }

  #insertEncrypted(event: InsertEncrypted): void {
    this.#assertNext(event);
    if (this.encrypted.isShredded(toHex(event.keyId)))
      throw new Damaged(`event ${event.sequence} inserts under a key that is shredded`);
    this.slots.push(NO_SLOT);
    this.versions.born(event.sequence);
    this.encrypted.insert(event);
    this.expiries.set(event.recordId, event.expiresAtMs);
    this.tree.append(this.encryptedLeaf(event.recordId));
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
    this.tombstoned.add(slot);
    this.versions.tombstoned(recordId, sequence);
    this.#rehash(recordId, sequence);
  }

  #delete(recordId: number, sequence: number): void {
    if (!this.exists(recordId)) throw new Damaged(`event ${sequence} deletes record ${recordId}, which does not exist`);
    this.tree.beforeChange(recordId - 1);
    const slot = this.slotOf(recordId);
    if (slot === NO_SLOT) this.encrypted.delete(recordId);
    else this.#free(recordId, slot, sequence);
    this.expiries.set(recordId, undefined);
    this.#rehash(recordId, sequence);
    this.graph.recordDeleted(recordId, sequence);
    if (this.graph.changedBy.sequence === sequence) this.versions.graphChanged(sequence, true);
  }

  #free(recordId: number, slot: number, sequence: number): void {
    if (!this.tombstoned.has(slot)) this.#dies(slot, sequence);
    this.versions.freed(recordId, sequence);
    this.slots.set(recordId - 1, NO_SLOT);
    this.tombstoned.delete(slot);
    this.#retire(slot);
  }

  /** Hides the row from scans, and releases its slot once the indexes are clear of it. */
  #retire(slot: number): void {
    if (this.#large === undefined) {
      this.#release(slot);
      return;
    }
    this.vectors.retire(slot);
    this.#large.releaseLater(slot);
  }

  #release(slot: number): void {
    this.fields.delete(slot);
    this.vectors.release(slot);
  }

  #remember({ requestId, recordId, sequence }: Pick<Insert, 'requestId' | 'recordId' | 'sequence'>): void {
    if (requestId !== null) this.requests.add(byteKey(requestId), { recordId, sequence });
  }

  #applyToGraph(event: GraphEvent): void {
    this.graph.apply(event);
    this.versions.graphChanged(event.sequence, false);
  }

  /** Removes the record from all searches, before its slot can be reused. */
  #dies(slot: number, sequence: number, isReplaced = false): void {
    this.onDeath(slot, isReplaced);
    if (this.#large !== undefined) this.#large.hide(slot);
    else {
      this.metadata.remove(slot);
      this.texts.remove(slot);
    }
    this.externalIds.dies(slot);
    if (this.fields.texts.has(slot)) this.versions.textsChanged(sequence);
  }

  #rehash(recordId: number, sequence: number): void {
    this.tree.change(recordId - 1, this.#leafOf(recordId), sequence);
  }

  /** Returns the record's leaf; the empty leaf if it is permanently deleted. */
  #leafOf(recordId: number): Uint8Array {
    const slot = this.slotOf(recordId);
    if (slot === NO_SLOT) return this.encrypted.get(recordId) === undefined ? EMPTY_HASH : this.encryptedLeaf(recordId);
    return leafHash({
      id: recordId,
      state: this.tombstoned.has(slot) ? RECORD_STATE.tombstoned : RECORD_STATE.live,
      vector: this.vectors.vectorView(slot),
      insertedMs: this.insertions.of(slot),
      expiresAtMs: this.expiries.of(recordId),
      ...this.fields.of(slot),
    });
  }

  /** Returns the leaf of an encrypted record that is not permanently deleted. */
  encryptedLeaf(recordId: number): Uint8Array {
    return this.encrypted.leafOf(recordId, this.expiries.of(recordId));
  }

  #assertNext({ sequence, recordId }: Insert | InsertEncrypted): void {
    if (recordId !== this.nextRecordId)
      throw new Damaged(`event ${sequence} inserts record ${recordId}, but the next record is ${this.nextRecordId}`);
  }

  #assertLinkable({ sequence, recordId }: AddNode): void {
    if (recordId !== null && !this.isLive(recordId))
      throw new Damaged(`event ${sequence} links a node to record ${recordId}, which is not live`);
  }

  #liveSlot(recordId: number): number {
    const slot = this.liveSlotOf(recordId);
    if (slot === undefined) throw new Damaged(`an event changes record ${recordId}, which is not live`);
    return slot;
  }
}
