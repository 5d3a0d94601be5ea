/**
 * What a collection holds, as a pure function of its log: `apply` is given every event once, in order, in normal
 * operation and in recovery alike, and calls neither clock nor randomness.
 */
import type { CollectionConfig } from '../../shared/calls.js';
import { unreachable } from '../../shared/errors.js';
import { EMPTY_HASH } from '../../shared/hash.js';
import type { AddNode, Event, Insert } from '../../shared/log/event.js';
import { leafHash, RECORD_STATE } from '../audit/leaf.js';
import { type StateSummary, stateHash } from '../audit/stateHash.js';
import { StateTree } from '../audit/stateTree.js';
import { Graph } from '../graph/graph.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { MetadataIndex } from '../metadata/metadataIndex.js';
import { InsertionTimes } from '../search/decayTimes.js';
import { TextIndex } from '../text/textIndex.js';
import { Damaged } from './damaged.js';
import type { StateView } from './framePlan.js';
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

/** Bytes kept as a string of as many characters: a third of the memory of a Uint8Array where they are few. */
const keep = (bytes: Uint8Array | null): string | undefined =>
  bytes === null ? undefined : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
const kept = (bytes: string | undefined): Uint8Array | null =>
  bytes === undefined ? null : Buffer.from(bytes, 'latin1');

export class CollectionState implements StateView {
  readonly tree = new StateTree();
  readonly graph = new Graph();
  /** Of the live records, as `texts`. */
  readonly metadata: MetadataIndex;
  readonly texts: TextIndex;
  /** Of all records that are not deleted for good. */
  readonly insertions: InsertionTimes;
  /** Called with a slot whose record dies, before another record can have it. */
  onDeath: (slot: number) => void = () => undefined;
  readonly #requests: RequestWindow;
  /** By record id − 1. */
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
    this.#requests = new RequestWindow(dedupWindow);
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
    return this.vectors.liveCount;
  }

  isLive(recordId: number): boolean {
    const slot = this.#slotOf(recordId);
    return slot !== NO_SLOT && !this.#tombstoned.has(slot);
  }

  /** Undefined where the record is not live. */
  liveSlotOf(recordId: number): number | undefined {
    return this.isLive(recordId) ? this.#slotOf(recordId) : undefined;
  }

  exists(recordId: number): boolean {
    return this.#slotOf(recordId) !== NO_SLOT;
  }

  findRequest(key: string): AppliedRequest | undefined {
    return this.#requests.find(key);
  }

  /** What it is and how it came about, in 32 bytes. Costs log2 of records and of nodes in hashes after a write. */
  hash(history: Omit<StateSummary, 'stateRoot' | 'graphRoot'>): Uint8Array {
    return stateHash({ ...history, stateRoot: this.tree.root(), graphRoot: this.graph.root() });
  }

  /** Undefined where the record is not live. */
  record(recordId: number): StoredRecord | undefined {
    if (!this.isLive(recordId)) return undefined;
    const slot = this.#slotOf(recordId);
    return {
      id: recordId,
      vector: this.vectors.vectorBytes(slot),
      tag: this.#tags[slot] as number,
      metadata: kept(this.#metadata.get(slot)),
    };
  }

  /** Throws Damaged where the event cannot follow the ones before it: only a log that was tampered with holds such. */
  apply(event: Event): void {
    switch (event.type) {
      case 'genesis':
        return;
      case 'insert':
        this.#insert(event);
        return;
      case 'softDelete': {
        const slot = this.#liveSlot(event.recordId);
        this.#dies(slot);
        this.vectors.retire(slot);
        this.#tombstoned.add(slot);
        this.#rehash(event.recordId, slot, event.sequence);
        return;
      }
      case 'delete':
        this.#delete(event.recordId, event.sequence);
        return;
      case 'updateMetadata': {
        const slot = this.#liveSlot(event.recordId);
        this.metadata.set(slot, event.metadata);
        this.#metadata.set(slot, keep(event.metadata) as string);
        this.#rehash(event.recordId, slot, event.sequence);
        return;
      }
      case 'addNode':
        this.#assertLinkable(event);
        this.graph.apply(event);
        return;
      case 'deleteNode':
      case 'addEdge':
      case 'deleteEdge':
        this.graph.apply(event);
        return;
      default:
        unreachable(event);
    }
  }

  #insert(event: Insert): void {
    if (event.recordId !== this.nextRecordId)
      throw new Damaged(`event ${event.sequence} inserts record ${event.recordId} where ${this.nextRecordId} is next`);
    if (event.vector.length !== 4 * this.config.dimension)
      throw new Damaged(`event ${event.sequence} has a vector of another dimension`);
    const slot = this.vectors.acquire();
    this.vectors.write(slot, event.recordId, event.vector);
    this.#slots.push(slot);
    this.#tags[slot] = event.tag;
    this.insertions.set(slot, event.timeMs);
    this.#describe(slot, event);
    const { recordId: id, timeMs: insertedMs, tag, vector, metadata, text } = event;
    // Field by field: a spread of the event costs as much as the hash.
    this.tree.append(leafHash({ state: RECORD_STATE.live, id, tag, insertedMs, vector, metadata, text }));
    this.vectors.publish(slot);
    if (event.requestId !== null)
      this.#requests.add(requestKey(event.requestId), { recordId: event.recordId, sequence: event.sequence });
  }

  #delete(recordId: number, sequence: number): void {
    const slot = this.#slotOf(recordId);
    if (slot === NO_SLOT) throw new Damaged(`event ${sequence} deletes record ${recordId}, which is not there`);
    if (!this.#tombstoned.has(slot)) this.#dies(slot);
    this.#slots[recordId - 1] = NO_SLOT;
    this.#tombstoned.delete(slot);
    this.#metadata.delete(slot);
    this.#texts.delete(slot);
    this.vectors.release(slot);
    this.tree.change(recordId - 1, EMPTY_HASH, sequence);
    this.graph.recordDeleted(recordId, sequence);
  }

  #describe(slot: number, { metadata, text }: Insert): void {
    if (metadata !== null) {
      this.metadata.set(slot, metadata);
      this.#metadata.set(slot, keep(metadata) as string);
    }
    if (text !== null) {
      this.texts.add(slot, text);
      this.#texts.set(slot, keep(text) as string);
    }
  }

  /** No search finds it any more. Before its slot can be another record's. */
  #dies(slot: number): void {
    this.onDeath(slot);
    this.metadata.remove(slot);
    this.texts.remove(slot);
  }

  #rehash(recordId: number, slot: number, sequence: number): void {
    const leaf = leafHash({
      id: recordId,
      state: this.#tombstoned.has(slot) ? RECORD_STATE.tombstoned : RECORD_STATE.live,
      vector: this.vectors.vectorBytes(slot),
      tag: this.#tags[slot] as number,
      insertedMs: this.insertions.of(slot),
      metadata: kept(this.#metadata.get(slot)),
      text: kept(this.#texts.get(slot)),
    });
    this.tree.change(recordId - 1, leaf, sequence);
  }

  #assertLinkable({ sequence, recordId }: AddNode): void {
    if (recordId !== null && !this.isLive(recordId))
      throw new Damaged(`event ${sequence} links a node to record ${recordId}, which is not live`);
  }

  #slotOf(recordId: number): number {
    return this.#slots[recordId - 1] ?? NO_SLOT;
  }

  #liveSlot(recordId: number): number {
    if (!this.isLive(recordId)) throw new Damaged(`an event changes record ${recordId}, which is not live`);
    return this.#slotOf(recordId);
  }
}
