/**
 * The state of a collection, a pure function of its log. `apply` receives every event once, in order, both in operation
 * and in recovery. It uses neither clock nor randomness.
 */
import { unreachable } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { Damaged } from '../../shared/log/damaged.js';
import {
  type AddNode,
  type Event,
  type GraphEvent,
  type Insert,
  type InsertEncrypted,
  isUnderKey,
  type RecordContent,
  type Replace,
} from '../../shared/log/event.js';
import { READ_AUDITS, type ReadAudit } from '../../shared/model/readAudit.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import { leafOfContent, leafUnderKey } from '../audit/leaf.js';
import { type StateSummary, stateHash } from '../audit/stateHash.js';
import { Graph } from '../graph/graph.js';
import { NO_SLOT } from '../index/rows.js';
import { analyserOf } from '../text/analyser.js';
import { NO_RECORD } from './dedupWindow.js';
import type { EncryptedRecord } from './encryptedRecords.js';
import type { RecordImage } from './keptFields.js';
import { indexedBytesOf, LargeChange } from './largeChange.js';
import { RecordsUnderKeys, updatedBy, writtenBy } from './recordsUnderKeys.js';

/** Metadata and texts of this size are indexed in steps: at once they would take a millisecond. */
const LARGE_BYTES = 8_192;
/** The stems of a text of this size take a millisecond at worst. */
const LARGE_STEMMED_BYTES = 1_024;

export class CollectionState extends RecordsUnderKeys {
  readonly graph = new Graph();
  /** Whether its reads are entries of its access log. */
  readAudit: ReadAudit = 'off';
  /** Days for which entries of the access log are kept; 0: forever. */
  accessRetentionDays = 0;
  readonly #largeBytes = analyserOf(this.config.text).isStemming ? LARGE_STEMMED_BYTES : LARGE_BYTES;
  /** Number of consecutive deletions right before the next event. */
  #deletions = 0;

  /** Whether the record in memory still has the hash of its leaf in the tree. */
  isAsHashed(recordId: number): boolean {
    return this.tree.isIntact(recordId - 1, () => this.leafOf(recordId));
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
    this.expiries.set(this.slots.length, image.expiresAtMs);
    this.#restoreAt(image.slot, this.slots.length, image, terms);
  }

  /** Adds the content of a record under a key. `restore` and `encrypted.restore` have added the record before. */
  restoreContent(record: EncryptedRecord, content: RecordContent, terms?: readonly string[]): void {
    const slot = this.vectors.acquire();
    this.vectors.write(slot, record.id, content.vector);
    this.slots.set(record.id - 1, slot);
    const { isTombstoned, insertedMs } = record;
    const { tag, metadata, text, externalId } = content;
    this.#restoreAt(slot, record.id, { isTombstoned, insertedMs, tag, metadata, text, externalId }, terms);
  }

  #restoreAt(
    slot: number,
    recordId: number,
    image: Omit<RecordImage, 'slot' | 'expiresAtMs'>,
    terms: readonly string[] | undefined,
  ): void {
    const { isTombstoned, insertedMs, metadata, text } = image;
    this.insertions.set(slot, insertedMs);
    this.fields.put(slot, recordId, image, !isTombstoned);
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

  /**
   * Applies an event. Throws Damaged if it cannot follow the earlier ones: then the log was tampered with. `leaf`: that of an
   * insert, if it is known.
   */
  apply(event: Event, leaf?: Uint8Array): void {
    this.versions.happened(event.sequence, event.timeMs);
    if (event.type !== 'deleteMany') this.#deletions = event.type === 'delete' ? this.#deletions + 1 : 0;
    switch (event.type) {
      case 'genesis':
        return;
      case 'insert':
        this.#insert(event, leaf ?? leafOfContent(event));
        return;
      case 'replace':
        this.#replace(event);
        return;
      case 'insertEncrypted':
        this.#insertEncrypted(event);
        return;
      case 'insertUnderKey':
        this.insertUnderKey(event, leaf ?? leafUnderKey(event));
        return;
      case 'replaceUnderKey':
        this.replaceUnderKey(event);
        return;
      case 'updateUnderKey':
        this.updateUnderKey(event);
        return;
      case 'shredKey':
        this.shred(event);
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
        this.remember({ ...event, recordId: NO_RECORD });
        return;
      case 'updateMetadata': {
        const slot = this.plainSlot(event.recordId);
        this.tree.beforeChange(event.recordId - 1);
        if (this.large === undefined) this.metadata.set(slot, event.metadata);
        this.fields.metadata.set(slot, event.metadata);
        this.versions.metadataReplaced(event.recordId, event.sequence);
        this.rehash(event.recordId, event.sequence);
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
    if (event.type === 'shredKey') return this.encrypted.idsUnder(toHex(event.keyId)).size > 0;
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
    if (event.type === 'shredKey') {
      yield* this.eraseAll(event);
      happen();
      return;
    }
    if (isUnderKey(event)) this.vectors.memory.mustErase = true;
    const written = writtenBy(event);
    const updated = updatedBy(event);
    this.large = new LargeChange(this.metadata, this.texts, written && this.write(written));
    if (written !== undefined) yield* this.large.prepare(written);
    if (updated === undefined) happen();
    else yield* this.metadata.update(this.liveSlot(updated.recordId), updated.metadata, happen);
    yield* this.large.clear((slot) => this.release(slot));
    this.large = undefined;
  }

  #insert(event: Insert, leaf: Uint8Array): void {
    const { sequence, externalId } = event;
    this.assertNext(event);
    if (externalId !== null && this.externalIds.find(externalId) !== undefined)
      throw new Damaged(`event ${sequence} inserts under an external id that a live record has`);
    const slot = this.put(event);
    this.slots.push(slot);
    this.expiries.set(event.recordId, event.expiresAtMs);
    this.versions.born(sequence);
    this.tree.append(leaf);
    this.vectors.publish(slot);
    this.remember(event);
  }

  /** Writes the content to a new slot, so that a search that found the old one does not take the new content for it. */
  #replace(event: Replace): void {
    const { recordId, sequence, externalId } = event;
    const before = this.plainSlot(recordId);
    if (this.externalIds.find(externalId) !== recordId)
      throw new Damaged(`event ${sequence} replaces record ${recordId} under an external id that is not its own`);
    this.tree.beforeChange(recordId - 1);
    this.dies(before, sequence, true);
    this.versions.replaced(recordId, sequence);
    const slot = this.put(event);
    this.slots.set(recordId - 1, slot);
    this.expiries.set(recordId, event.expiresAtMs);
    this.retire(before);
    this.tree.change(recordId - 1, leafOfContent(event), sequence);
    this.vectors.publish(slot);
    this.remember(event);
  }

  #insertEncrypted(event: InsertEncrypted): void {
    this.assertNext(event);
    const keyId = this.keyToWrite(event);
    this.slots.push(NO_SLOT);
    this.versions.born(event.sequence);
    this.encrypted.insert(event, keyId);
    this.expiries.set(event.recordId, event.expiresAtMs);
    this.tree.append(this.encryptedLeaf(event.recordId));
    this.remember(event);
  }

  #softDelete(recordId: number, sequence: number): void {
    const isUnderKey = this.encrypted.isLive(recordId);
    const slot = isUnderKey ? this.liveSlotOf(recordId) : this.liveSlot(recordId);
    this.tree.beforeChange(recordId - 1);
    if (isUnderKey) this.encrypted.tombstone(recordId);
    if (slot === undefined) {
      this.rehash(recordId, sequence);
      return;
    }
    this.dies(slot, sequence);
    this.vectors.retire(slot);
    this.tombstoned.add(slot);
    this.versions.tombstoned(recordId, sequence);
    this.rehash(recordId, sequence);
  }

  #delete(recordId: number, sequence: number): void {
    if (!this.exists(recordId)) throw new Damaged(`event ${sequence} deletes record ${recordId}, which does not exist`);
    this.tree.beforeChange(recordId - 1);
    const slot = this.slotOf(recordId);
    if (slot !== NO_SLOT) this.free(recordId, slot, sequence);
    if (this.encrypted.get(recordId) !== undefined) this.encrypted.delete(recordId);
    this.expiries.set(recordId, undefined);
    this.rehash(recordId, sequence);
    this.graph.recordDeleted(recordId, sequence);
    if (this.graph.changedBy.sequence === sequence) this.versions.graphChanged(sequence, true);
  }

  #applyToGraph(event: GraphEvent): void {
    this.graph.apply(event);
    this.versions.graphChanged(event.sequence, false);
  }

  #assertLinkable({ sequence, recordId }: AddNode): void {
    if (recordId !== null && !this.isLive(recordId))
      throw new Damaged(`event ${sequence} links a node to record ${recordId}, which is not live`);
  }
}
