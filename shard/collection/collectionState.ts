/**
 * What a collection holds, as a pure function of its log: `apply` is given every event once, in order, in normal
 * operation and in recovery alike, and calls neither clock nor randomness.
 */
import type { CollectionConfig } from '../../shared/calls.js';
import { unreachable } from '../../shared/errors.js';
import { EMPTY_HASH, toHex } from '../../shared/hash.js';
import type { AddNode, Event, GraphEvent, Insert, InsertEncrypted, ShredKey } from '../../shared/log/event.js';
import { leafHash, RECORD_STATE } from '../audit/leaf.js';
import { type StateSummary, stateHash } from '../audit/stateHash.js';
import { StateTree } from '../audit/stateTree.js';
import { EncryptedRecords } from '../encrypted/encryptedRecords.js';
import { Graph } from '../graph/graph.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { MetadataIndex } from '../metadata/metadataIndex.js';
import { InsertionTimes } from '../search/decayTimes.js';
import { TextIndex } from '../text/textIndex.js';
import { Damaged } from './damaged.js';
import type { StateView } from './framePlan.js';
import { Lifetimes } from './lifetimes.js';
import { type AppliedRequest, RequestWindow, requestKey } from './requestWindow.js';

/** A slot that no record has. */
const NO_SLOT = -1;

export interface StoredRecord {
  readonly id: number;
  /** Little-endian Q16.16 components. */
  readonly vector: Uint8Array;
  readonly tag: number;
  readonly metadata: Uint8Array | null;
}

/** A record that has a vector, as a snapshot holds it: the vector is at its slot. */
export interface RecordImage {
  readonly slot: number;
  readonly isTombstoned: boolean;
  readonly tag: number;
  readonly insertedMs: number;
  readonly metadata: Uint8Array | null;
  readonly text: Uint8Array | null;
}

const isSame = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

/** Bytes kept as a string of as many characters: a third of the memory of a Uint8Array where they are few. */
const keep = (bytes: Uint8Array | null): string | undefined =>
  bytes === null ? undefined : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
const kept = (bytes: string | undefined): Uint8Array | null =>
  bytes === undefined ? null : Buffer.from(bytes, 'latin1');

export class CollectionState implements StateView {
  readonly tree = new StateTree();
  readonly graph = new Graph();
  readonly encrypted = new EncryptedRecords();
  /** Of the live records, as `texts`. */
  readonly metadata: MetadataIndex;
  readonly texts: TextIndex;
  /** Of all records that are not deleted for good. */
  readonly insertions: InsertionTimes;
  readonly lifetimes = new Lifetimes();
  /** Called with a slot whose record dies, before another record can have it. */
  onDeath: (slot: number) => void = () => undefined;
  readonly requests: RequestWindow;
  /** By record id − 1; none for records that are encrypted or deleted for good. */
  readonly #slots: number[] = [];
  // By slot; a slot is reused once its record is deleted for good.
  readonly #tags: number[] = [];
  readonly #tombstoned = new Set<number>();
  readonly #metadata = new Map<number, string>();
  readonly #texts = new Map<number, string>();

  constructor(
    private readonly config: CollectionConfig,
    readonly vectors: VectorBlocks,
    dedupWindow: number,
  ) {
    this.requests = new RequestWindow(dedupWindow);
    this.insertions = new InsertionTimes(vectors.shape);
    this.metadata = new MetadataIndex(vectors.shape, (slot) => kept(this.#metadata.get(slot)));
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

  isLive(recordId: number): boolean {
    return this.liveSlotOf(recordId) !== undefined || this.encrypted.isLive(recordId);
  }

  /** Undefined where the record is not live, or has no vector. */
  liveSlotOf(recordId: number): number | undefined {
    const slot = this.#slotOf(recordId);
    return slot === NO_SLOT || this.#tombstoned.has(slot) ? undefined : slot;
  }

  /** Of a record whose vector is kept, live or tombstoned; undefined of any other. */
  keptSlotOf(recordId: number): number | undefined {
    const slot = this.#slotOf(recordId);
    return slot === NO_SLOT ? undefined : slot;
  }

  /** What is stored for the record that has the slot. */
  metadataAt(slot: number): Uint8Array | null {
    return kept(this.#metadata.get(slot));
  }

  exists(recordId: number): boolean {
    return this.#slotOf(recordId) !== NO_SLOT || this.encrypted.get(recordId) !== undefined;
  }

  findRequest(key: string): AppliedRequest | undefined {
    return this.requests.find(key);
  }

  /** Whether what is in memory of the record, its vector too, is what its leaf was made of. */
  isAsHashed(recordId: number): boolean {
    const slot = this.#slotOf(recordId);
    if (slot !== NO_SLOT) return isSame(this.#leafOf(recordId, slot), this.tree.leaf(recordId - 1));
    const isEncrypted = this.encrypted.get(recordId) !== undefined;
    const leaf = isEncrypted ? this.encrypted.leafOf(recordId) : EMPTY_HASH;
    return isSame(leaf, this.tree.leaf(recordId - 1));
  }

  /** What it is and how it came about, in 32 bytes. Costs log2 of records and of nodes in hashes after a write. */
  hash(history: Omit<StateSummary, 'stateRoot' | 'graphRoot'>): Uint8Array {
    return stateHash({ ...history, stateRoot: this.tree.root(), graphRoot: this.graph.root() });
  }

  /** Undefined where the record is not live. An encrypted one is shown with zeroes for a vector. */
  record(recordId: number): StoredRecord | undefined {
    const slot = this.liveSlotOf(recordId);
    if (slot === undefined) return this.#encryptedRecord(recordId);
    return {
      id: recordId,
      vector: this.vectors.vectorBytes(slot),
      tag: this.#tags[slot] as number,
      metadata: kept(this.#metadata.get(slot)),
    };
  }

  /** Undefined where the record is encrypted or deleted for good. */
  image(recordId: number): RecordImage | undefined {
    const slot = this.#slotOf(recordId);
    if (slot === NO_SLOT) return undefined;
    return {
      slot,
      isTombstoned: this.#tombstoned.has(slot),
      tag: this.#tags[slot] as number,
      insertedMs: this.insertions.of(slot),
      metadata: kept(this.#metadata.get(slot)),
      text: kept(this.#texts.get(slot)),
    };
  }

  /**
   * The record with the next id is this one, whose row is written; undefined: `image` has none of it. It has no leaf
   * thereby: the tree comes on its own.
   */
  restore(image: RecordImage | undefined): void {
    this.#slots.push(image?.slot ?? NO_SLOT);
    if (image === undefined) return;
    const { slot, isTombstoned, tag, insertedMs, metadata, text } = image;
    this.#tags[slot] = tag;
    this.insertions.set(slot, insertedMs);
    if (metadata !== null) this.#metadata.set(slot, keep(metadata) as string);
    if (text !== null) this.#texts.set(slot, keep(text) as string);
    if (isTombstoned) {
      this.#tombstoned.add(slot);
      return;
    }
    if (metadata !== null) this.metadata.set(slot, metadata);
    if (text !== null) this.texts.add(slot, text);
    this.vectors.publish(slot);
  }

  /** Throws Damaged where the event cannot follow the ones before it: only a log that was tampered with holds such. */
  apply(event: Event): void {
    this.lifetimes.happened(event.sequence, event.timeMs);
    switch (event.type) {
      case 'genesis':
        return;
      case 'insert':
        this.#insert(event);
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
      case 'updateMetadata': {
        const slot = this.#liveSlot(event.recordId);
        this.metadata.set(slot, event.metadata);
        this.#metadata.set(slot, keep(event.metadata) as string);
        this.lifetimes.metadataReplaced(event.recordId, event.sequence);
        this.#rehash(event.recordId, slot, event.sequence);
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
    this.#assertNext(event);
    if (event.vector.length !== 4 * this.config.dimension)
      throw new Damaged(`event ${event.sequence} has a vector of another dimension`);
    const slot = this.vectors.acquire();
    this.vectors.write(slot, event.recordId, event.vector);
    this.#slots.push(slot);
    this.lifetimes.born(event.sequence);
    this.#tags[slot] = event.tag;
    this.insertions.set(slot, event.timeMs);
    this.#describe(slot, event);
    const { recordId: id, timeMs: insertedMs, tag, vector, metadata, text } = event;
    // Field by field: a spread of the event costs as much as the hash.
    this.tree.append(leafHash({ state: RECORD_STATE.live, id, tag, insertedMs, vector, metadata, text }));
    this.vectors.publish(slot);
    this.#remember(event);
  }

  #insertEncrypted(event: InsertEncrypted): void {
    this.#assertNext(event);
    if (this.encrypted.isShredded(toHex(event.keyId)))
      throw new Damaged(`event ${event.sequence} inserts under a key that is shredded`);
    this.#slots.push(NO_SLOT);
    this.lifetimes.born(event.sequence);
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
      this.encrypted.tombstone(recordId);
      this.tree.change(recordId - 1, this.encrypted.leafOf(recordId), sequence);
      return;
    }
    const slot = this.#liveSlot(recordId);
    this.#dies(slot, sequence);
    this.vectors.retire(slot);
    this.#tombstoned.add(slot);
    this.lifetimes.tombstoned(recordId, sequence);
    this.#rehash(recordId, slot, sequence);
  }

  #delete(recordId: number, sequence: number): void {
    if (!this.exists(recordId)) throw new Damaged(`event ${sequence} deletes record ${recordId}, which is not there`);
    const slot = this.#slotOf(recordId);
    if (slot === NO_SLOT) this.encrypted.delete(recordId);
    else this.#free(recordId, slot, sequence);
    this.tree.change(recordId - 1, EMPTY_HASH, sequence);
    this.graph.recordDeleted(recordId, sequence);
    if (this.graph.changedAt === sequence) this.lifetimes.graphChanged(sequence, true);
  }

  #free(recordId: number, slot: number, sequence: number): void {
    if (!this.#tombstoned.has(slot)) this.#dies(slot, sequence);
    this.lifetimes.freed(recordId, sequence);
    this.#slots[recordId - 1] = NO_SLOT;
    this.#tombstoned.delete(slot);
    this.#metadata.delete(slot);
    this.#texts.delete(slot);
    this.vectors.release(slot);
  }

  #remember({ requestId, recordId, sequence }: Insert | InsertEncrypted): void {
    if (requestId !== null) this.requests.add(requestKey(requestId), { recordId, sequence });
  }

  #encryptedRecord(recordId: number): StoredRecord | undefined {
    if (!this.encrypted.isLive(recordId)) return undefined;
    const { tag } = this.encrypted.get(recordId)!;
    return { id: recordId, vector: new Uint8Array(4 * this.config.dimension), tag, metadata: null };
  }

  #applyToGraph(event: GraphEvent): void {
    this.graph.apply(event);
    this.lifetimes.graphChanged(event.sequence, false);
  }

  #describe(slot: number, { sequence, metadata, text }: Insert): void {
    if (metadata !== null) {
      this.metadata.set(slot, metadata);
      this.#metadata.set(slot, keep(metadata) as string);
    }
    if (text !== null) {
      this.texts.add(slot, text);
      this.#texts.set(slot, keep(text) as string);
      this.lifetimes.textsChanged(sequence);
    }
  }

  /** No search finds it any more. Before its slot can be another record's. */
  #dies(slot: number, sequence: number): void {
    this.onDeath(slot);
    this.metadata.remove(slot);
    this.texts.remove(slot);
    if (this.#texts.has(slot)) this.lifetimes.textsChanged(sequence);
  }

  #rehash(recordId: number, slot: number, sequence: number): void {
    this.tree.change(recordId - 1, this.#leafOf(recordId, slot), sequence);
  }

  #leafOf(recordId: number, slot: number): Uint8Array {
    return leafHash({
      id: recordId,
      state: this.#tombstoned.has(slot) ? RECORD_STATE.tombstoned : RECORD_STATE.live,
      vector: this.vectors.vectorBytes(slot),
      tag: this.#tags[slot] as number,
      insertedMs: this.insertions.of(slot),
      metadata: kept(this.#metadata.get(slot)),
      text: kept(this.#texts.get(slot)),
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
    return this.#slots[recordId - 1] ?? NO_SLOT;
  }

  #liveSlot(recordId: number): number {
    const slot = this.liveSlotOf(recordId);
    if (slot === undefined) throw new Damaged(`an event changes record ${recordId}, which is not live`);
    return slot;
  }
}
