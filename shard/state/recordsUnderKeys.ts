/** The events of records under keys, whose content a shred erases. */
import { Damaged } from '../../shared/log/damaged.js';
import {
  type Event,
  type EventUnderKey,
  type Insert,
  type InsertEncrypted,
  type InsertUnderKey,
  isUnderKey,
  type Replace,
  type ReplaceUnderKey,
  type ShredKey,
  type UpdateUnderKey,
} from '../../shared/log/event.js';
import { atOnce, type Steps } from '../../shared/scheduling/slice.js';
import { leafUnderKey } from '../audit/leaf.js';
import { NO_SLOT } from '../index/rows.js';
import { keyName } from './keyName.js';
import { LargeChange } from './largeChange.js';
import { RecordChanges } from './recordChanges.js';

export abstract class RecordsUnderKeys extends RecordChanges {
  /** The shred whose contents are erased before it is applied; undefined if none is in progress. */
  #erased: ShredKey | undefined;

  protected insertUnderKey(event: InsertUnderKey, leaf: Uint8Array): void {
    this.assertNext(event);
    const keyId = this.keyToWrite(event);
    const slot = this.#putUnderKey(event);
    this.slots.push(slot);
    this.versions.born(event.sequence);
    this.encrypted.write(event, keyId, event.timeMs);
    this.expiries.set(event.recordId, event.expiresAtMs);
    this.tree.append(leaf);
    if (slot !== NO_SLOT) this.vectors.publish(slot);
    this.remember(event);
  }

  /** Replaces a record like `#replace`. The content before or the new one may be lost. */
  protected replaceUnderKey(event: ReplaceUnderKey): void {
    const { recordId, sequence } = event;
    const before = this.#assertWritable(event);
    const keyId = this.keyToWrite(event);
    this.tree.beforeChange(recordId - 1);
    if (before !== undefined) this.dies(before, sequence, true);
    this.versions.replaced(recordId, sequence);
    const slot = this.#putUnderKey(event);
    this.slots.set(recordId - 1, slot);
    if (before !== undefined) this.retire(before);
    this.encrypted.write(event, keyId, event.timeMs);
    this.expiries.set(recordId, event.expiresAtMs);
    this.tree.change(recordId - 1, leafUnderKey(event), sequence);
    if (slot !== NO_SLOT) this.vectors.publish(slot);
    this.remember(event);
  }

  protected updateUnderKey(event: UpdateUnderKey): void {
    const { recordId, sequence, content } = event;
    const slot = this.#assertWritable(event);
    const record = this.encrypted.get(recordId);
    const keyId = keyName(event.keyId);
    if (record?.keyId !== keyId) throw new Damaged(`event ${sequence} changes record ${recordId} under another key`);
    this.tree.beforeChange(recordId - 1);
    const metadata = content?.metadata ?? null;
    if (slot !== undefined && metadata !== null) {
      if (this.large === undefined) this.metadata.set(slot, metadata);
      this.fields.metadata.set(slot, metadata);
    } else if (slot !== undefined) this.#erase(recordId, sequence);
    this.versions.metadataReplaced(recordId, sequence);
    this.encrypted.write(event, keyId, record.insertedMs);
    this.rehash(recordId, sequence);
  }

  /** Writes the content to a slot that searches do not find yet; NO_SLOT if it is lost. */
  #putUnderKey(event: EventUnderKey): number {
    this.vectors.memory.mustErase = true;
    const written = writtenBy(event);
    if (written === undefined) return NO_SLOT;
    const { sequence, recordId, externalId } = written;
    if (externalId !== null && (this.externalIds.find(externalId) ?? recordId) !== recordId)
      throw new Damaged(`event ${sequence} gives record ${recordId} an external id that another live record has`);
    return this.put(written);
  }

  protected shred(event: ShredKey): void {
    const keyId = keyName(event.keyId);
    if (this.encrypted.isShredded(keyId)) throw new Damaged(`event ${event.sequence} shreds key ${keyId} once more`);
    if (this.#erased !== event) atOnce(this.eraseAll(event));
    this.#erased = undefined;
    this.encrypted.shred(keyId);
    this.encrypted.erasures.add('shred', keyId, event.sequence);
  }

  /** Erases the contents of all records under a key, one in each step. Their leaves stay. */
  protected *eraseAll(event: ShredKey): Steps<void> {
    const { keyId, sequence } = event;
    for (const recordId of this.encrypted.idsUnder(keyName(keyId))) {
      if (this.encrypted.get(recordId)!.content !== 'lost') {
        this.large = new LargeChange(this.metadata, this.texts);
        this.#erase(recordId, sequence);
        yield* this.large.clear((slot) => this.release(slot));
        this.large = undefined;
      }
      this.versions.lost(recordId, sequence);
      yield;
    }
    this.#erased = event;
  }

  /** Erases the content of a record under a key from its slot. */
  #erase(recordId: number, sequence: number): void {
    this.free(recordId, this.slotOf(recordId), sequence);
    this.encrypted.lose(recordId);
  }

  /** Returns the id of the event's key. Throws Damaged if it is shredded. */
  protected keyToWrite({ sequence, keyId: bytes }: EventUnderKey | InsertEncrypted): string {
    const keyId = keyName(bytes);
    if (this.encrypted.isShredded(keyId)) throw new Damaged(`event ${sequence} writes under a key that is shredded`);
    return keyId;
  }

  /** Returns the slot of a live record without a payload; undefined if its content is lost. */
  #assertWritable({ sequence, recordId }: EventUnderKey): number | undefined {
    if (!this.isLive(recordId) || this.encrypted.isLivePayload(recordId))
      throw new Damaged(`event ${sequence} changes record ${recordId}, which is not live`);
    return this.liveSlotOf(recordId);
  }
}

/** Returns the record that the event writes to a new slot; undefined if it writes none, or its content is lost. */
export function writtenBy(event: Event): Insert | Replace | undefined {
  if (event.type === 'insert' || event.type === 'replace') return event;
  if (!isUnderKey(event) || event.type === 'updateUnderKey' || event.content === null) return undefined;
  const { sequence, timeMs, actor, recordId, requestId, expiresAtMs, content } = event;
  const { tag, vector, metadata, text, externalId } = content;
  // One literal: a spread would double the cost.
  return {
    type: 'insert',
    sequence,
    timeMs,
    actor,
    recordId,
    requestId,
    expiresAtMs,
    tag,
    vector,
    metadata,
    text,
    externalId,
  };
}

/** Returns the new metadata of a record with a slot; undefined if the event does not change any, or its content is lost. */
export function updatedBy(event: Event): { readonly recordId: number; readonly metadata: Uint8Array } | undefined {
  if (event.type === 'updateMetadata') return event;
  const metadata = event.type === 'updateUnderKey' ? event.content?.metadata : undefined;
  return metadata == null ? undefined : { recordId: (event as UpdateUnderKey).recordId, metadata };
}
