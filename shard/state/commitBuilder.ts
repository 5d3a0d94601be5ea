/**
 * Builds the events of one frame from waiting writes. Each write is judged against the state after the earlier writes,
 * including those of the same frame. A refused write adds no event.
 */
import { refusal, unreachable, VouchError } from '../../shared/errors/errors.js';
import type { Event } from '../../shared/log/event.js';
import { contentBytes, fixedSizeBytes } from '../../shared/log/eventLayout.js';
import { EVENT_PREFIX_BYTES } from '../../shared/log/frame.js';
import type { GraphWrite } from '../../shared/model/graph.js';
import type { InsertBatchCall, InsertCall } from '../../shared/protocol/writes.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import { GraphPlan } from '../graph/graphPlan.js';
import { byteKey } from './byteKey.js';
import type { CollectionState } from './collectionState.js';
import { type AppliedRequest, NO_RECORD } from './dedupWindow.js';
import { assertBatchShape, assertCiphertext, assertContent, type EventLimits } from './eventLimits.js';
import { utf8ExternalId } from './externalIds.js';
import { addedBytes, insertedBytes } from './growth.js';
import type {
  PlannedCall,
  SealedInsert,
  StatedDeletions,
  StatedInsert,
  StatedReplace,
  WriteAnswer,
} from './plannedCalls.js';
import { keyOf, PlannedRequests } from './plannedRequests.js';
import { assertRoom, missing, type Room, shredded } from './refusals.js';

export interface PlanStart {
  /** Sequence of the first event. */
  readonly sequence: number;
  readonly timeMs: number;
  readonly room: Room;
}

/** Whether to look at the clock before planning this record of a batch. */
const isLook = (record: number): boolean => record % 32 === 0;

type NewRecord = Omit<StatedInsert, 'type'>;

export class CommitBuilder {
  readonly events: Event[] = [];
  readonly #requests: PlannedRequests;
  /** Records that the plan deletes; true if a tombstone stays. */
  readonly #deleted = new Map<number, boolean>();
  readonly #graph: GraphPlan;
  /** Planned encrypted record → its key id. */
  readonly #keys = new Map<number, string>();
  readonly #shredded = new Set<string>();
  /** Key id → change in the number of its records without a tombstone. */
  readonly #underKey = new Map<string, number>();
  /** Record id → bytes of its metadata, if the plan replaces it. */
  readonly #metadataBytes = new Map<number, number>();
  /** External id → record that the plan inserts under it. */
  readonly #external = new Map<string, number>();
  readonly #timeMs: number;
  #sequence: number;
  #nextRecordId: number;
  #headroom: number;
  #roomBytes: number;
  #liveRecords: number;

  constructor(
    private readonly state: CollectionState,
    private readonly start: PlanStart,
    private readonly limits: EventLimits,
  ) {
    this.#requests = new PlannedRequests(state.requests);
    this.#sequence = start.sequence;
    this.#timeMs = start.timeMs;
    this.#headroom = start.room.records;
    this.#roomBytes = start.room.bytes;
    this.#nextRecordId = state.nextRecordId;
    this.#liveRecords = state.liveRecords;
    this.#graph = new GraphPlan(state.graph, (recordId) => this.#deleted.get(recordId) === false);
  }

  /** Number of live records after the plan. */
  get liveRecords(): number {
    return this.#liveRecords;
  }

  /** Plans a write. Throws VouchError if the write is refused. */
  add(call: PlannedCall): WriteAnswer {
    switch (call.op) {
      case 'insert':
        return this.#insert(call);
      case 'stated':
        return call.of.type === 'deleteMany' ? this.endDeletions(call.of) : this.#stated(call.of);
      case 'insertEncrypted':
        return this.#insertEncrypted(call);
      case 'shredKey':
        return this.#shred(call.keyId);
      case 'softDelete':
        this.#assertLive(call.id);
        this.#delete(call.id, true);
        return this.#push({ type: 'softDelete', ...this.#dated(), recordId: call.id });
      case 'delete':
        if (!this.exists(call.id)) throw missing(call.id);
        this.#delete(call.id, false);
        return this.#push({ type: 'delete', ...this.#dated(), recordId: call.id });
      case 'updateMetadata':
        this.#assertLive(call.id);
        if (this.#keyOf(call.id) !== undefined)
          throw new VouchError('validation_error', `record ${call.id} is encrypted, and has no metadata`);
        return this.#updateMetadata(call.id, call.metadata);
      case 'addNode':
        if (call.recordId !== null) this.#assertLive(call.recordId);
        return this.#changeGraph(call);
      case 'deleteNode':
      case 'addEdge':
      case 'deleteEdge':
        return this.#changeGraph(call);
      default:
        return unreachable(call);
    }
  }

  #insert(call: InsertCall): WriteAnswer {
    this.#assertDimension(call.vector.length);
    const key = keyOf(call.requestId);
    const before = this.#requests.write(key);
    if (before !== undefined) return { kind: 'insert', write: before, deduplicated: true };
    const { vector, tag, requestId, metadata, text } = call;
    const record = { vector, tag, requestId, metadata, text: utf8(text), externalId: null };
    assertContent(record, this.limits);
    this.#assertRoom(1, bytesOf(record));
    return { kind: 'insert', write: this.#append(record, key), deduplicated: false };
  }

  #stated(stated: StatedInsert | StatedReplace): WriteAnswer {
    const { externalId } = stated;
    this.#assertDimension(stated.vector.length);
    assertContent(stated, this.limits);
    const holder = externalId === null ? undefined : this.#liveUnder(externalId);
    if (stated.type === 'replace') {
      if (holder !== stated.recordId)
        throw new VouchError('validation_error', `record ${stated.recordId} is not stored under this external id`);
      this.#assertRoom(0, bytesOf(stated));
      return { kind: 'insert', write: this.#replace(holder, stated, undefined), deduplicated: false };
    }
    if (holder !== undefined)
      throw new VouchError('validation_error', `live record ${holder} already has this external id`);
    this.#assertRoom(1, bytesOf(stated));
    return { kind: 'insert', write: this.#append(stated, undefined), deduplicated: false };
  }

  /**
   * Returns the sequence of the event that ended an earlier request's deletions; undefined without an earlier request.
   */
  deletedBefore(requestId: Uint8Array | null): number | undefined {
    return this.#requests.deletion(keyOf(requestId));
  }

  /** Adds the event that ends preceding deletions. Throws `validation_error` if they do not directly precede it. */
  endDeletions(end: StatedDeletions): WriteAnswer {
    const before = this.events.slice(-end.deleted);
    if (before.length < end.deleted || before.some(({ type }) => type !== 'delete'))
      throw new VouchError('validation_error', `the ${end.deleted} preceding events are not all deletions`);
    this.#requests.add(byteKey(end.requestId), { recordId: NO_RECORD, sequence: this.#sequence });
    return this.#push({ ...end, ...this.#dated() });
  }

  /** Returns the live record with the external id, after the earlier writes. */
  #liveUnder(externalId: Uint8Array): number | undefined {
    const planned = this.#external.get(byteKey(externalId));
    if (planned !== undefined && this.#isLive(planned)) return planned;
    const recordId = this.state.externalIds.find(externalId);
    return recordId !== undefined && this.#isLive(recordId) ? recordId : undefined;
  }

  /** Yields the live records with these external ids, each looked up on demand. */
  *liveNamed(externalIds: Iterable<string>): Generator<number | undefined> {
    for (const externalId of externalIds) yield this.#liveUnder(utf8ExternalId(externalId));
  }

  #updateMetadata(recordId: number, metadata: Uint8Array): WriteAnswer {
    assertContent({ metadata }, this.limits);
    const event = { ...this.#dated(), type: 'updateMetadata', recordId, metadata } as const;
    const replaced = this.#metadataBytes.get(recordId) ?? this.state.metadataBytesOf(recordId);
    this.#assertRoom(0, Math.max(addedBytes(event) - replaced, 0));
    this.#metadataBytes.set(recordId, metadata.length);
    this.#roomBytes += replaced;
    return this.#push(event);
  }

  #insertEncrypted({ keyId, nonce, ciphertext, tag, requestId }: SealedInsert): WriteAnswer {
    const key = keyOf(requestId);
    const before = this.#requests.write(key);
    if (before !== undefined) return { kind: 'encrypted', write: before, keyId: null };
    if (this.#isShredded(keyId)) throw shredded(keyId);
    assertCiphertext(ciphertext, this.limits);
    const content = { tag, requestId, keyId: Buffer.from(keyId, 'hex'), nonce, ciphertext };
    const event = { type: 'insertEncrypted', ...content, ...this.#dated(), recordId: this.#nextRecordId } as const;
    this.#assertRoom(1, addedBytes(event));
    this.#keys.set(event.recordId, keyId);
    this.#countKey(keyId, 1);
    const write = this.#newRecord(key);
    this.#push(event);
    return { kind: 'encrypted', write, keyId };
  }

  /** Plans the shredding of a key. A log has one such event per key; a repeated call adds none. */
  #shred(keyId: string): WriteAnswer {
    if (this.#isShredded(keyId)) return { kind: 'sequence', sequence: this.#sequence - 1 };
    this.#shredded.add(keyId);
    this.#countLive(-(this.state.encrypted.countUnder(keyId) + (this.#underKey.get(keyId) ?? 0)));
    return this.#push({ type: 'shredKey', ...this.#dated(), keyId: Buffer.from(keyId, 'hex') });
  }

  /** Inserts or replaces all records of the batch, or none if the batch is refused. */
  async insertBatch(call: InsertBatchCall, slice: Slice): Promise<WriteAnswer> {
    assertBatchShape(call, this.limits);
    const vectorBytes = 4 * this.state.dimension;
    if (call.vectors.length !== call.count * vectorBytes) this.#assertDimension(-1);
    const keys = (call.requestIds ?? []).map(keyOf);
    const replayed = this.#replayed(keys);
    const records: NewRecord[] = [];
    let brings = 0;
    let fresh = 0;
    for (let i = 0; i < call.count; i++) {
      if (isLook(i) && slice.due) await slice.next();
      const record = {
        vector: call.vectors.subarray(i * vectorBytes, (i + 1) * vectorBytes),
        tag: call.tags?.[i] ?? 0,
        requestId: call.requestIds?.[i] ?? null,
        metadata: call.metadata?.[i] ?? null,
        text: utf8(call.texts?.[i] ?? null),
        externalId: call.externalIds === undefined ? null : utf8ExternalId(call.externalIds[i]!),
      };
      assertContent(record, this.limits, `item ${i} of the batch: `);
      records.push(record);
      if (replayed.has(i)) continue;
      brings += bytesOf(record);
      if (record.externalId === null || this.#liveUnder(record.externalId) === undefined) fresh++;
    }
    this.#assertRoom(fresh, brings);
    const ids = new Float64Array(call.count);
    let created = 0;
    for (const [i, record] of records.entries()) {
      if (isLook(i) && slice.due) await slice.next();
      const { recordId, sequence } = this.#requests.write(keys[i]) ?? this.#upsert(record, keys[i]);
      ids[i] = recordId;
      if (this.#isInsert(recordId, sequence)) created++;
    }
    return { kind: 'batch', ids, created };
  }

  #upsert(record: NewRecord, key: string | undefined): AppliedRequest {
    const { externalId } = record;
    const replaced = externalId === null ? undefined : this.#liveUnder(externalId);
    return replaced === undefined
      ? this.#append(record, key)
      : this.#replace(replaced, { ...record, externalId: externalId! }, key);
  }

  /** Whether the event, planned or applied, inserts the record. */
  #isInsert(recordId: number, sequence: number): boolean {
    const planned = this.events[sequence - this.start.sequence];
    return planned === undefined ? this.state.versions.isBornBy(recordId, sequence) : planned.type === 'insert';
  }

  /** Returns the items that make no new record, including those whose key occurs earlier in the batch. */
  #replayed(keys: readonly (string | undefined)[]): ReadonlySet<number> {
    const seen = new Set<string>();
    const replayed = new Set<number>();
    for (const [i, key] of keys.entries()) {
      if (key === undefined) continue;
      if (seen.has(key) || this.#requests.write(key) !== undefined) replayed.add(i);
      seen.add(key);
    }
    return replayed;
  }

  #append(record: NewRecord, key: string | undefined): AppliedRequest {
    const { vector, tag, requestId, metadata, text, externalId } = record;
    const write = this.#newRecord(key);
    const { sequence, recordId } = write;
    if (externalId !== null) this.#external.set(byteKey(externalId), recordId);
    const content = { recordId, tag, requestId, vector, metadata, text, externalId };
    this.#push({ type: 'insert', sequence, timeMs: this.#timeMs, ...content });
    return write;
  }

  #replace(
    recordId: number,
    { vector, tag, requestId, metadata, text, externalId }: Omit<StatedReplace, 'type' | 'recordId'>,
    key: string | undefined,
  ): AppliedRequest {
    const write = { recordId, sequence: this.#sequence };
    if (key !== undefined) this.#requests.add(key, write);
    this.#metadataBytes.set(recordId, metadata?.length ?? 0);
    const content = { recordId, tag, requestId, vector, metadata, text, externalId };
    this.#push({ type: 'replace', ...this.#dated(), ...content });
    return write;
  }

  /** Allocates the record of the event that is pushed next. */
  #newRecord(key: string | undefined): AppliedRequest {
    const write = { recordId: this.#nextRecordId++, sequence: this.#sequence };
    this.#countLive(1);
    if (key !== undefined) this.#requests.add(key, write);
    return write;
  }

  /** Adds the event with the next sequence. The room that it frees counts from the next frame on. */
  #push(event: Event): WriteAnswer {
    this.#sequence++;
    this.#roomBytes -= addedBytes(event);
    this.events.push(event);
    return { kind: 'sequence', sequence: event.sequence };
  }

  #changeGraph(call: GraphWrite): WriteAnswer {
    if (call.op === 'addNode' || call.op === 'addEdge')
      this.#assertRoom(0, EVENT_PREFIX_BYTES + fixedSizeBytes(call.op));
    const planned = this.#graph.add(call);
    const { sequence, timeMs } = this.#dated();
    this.#push({ ...planned, sequence, timeMs });
    switch (planned.type) {
      case 'addNode':
        return { kind: 'added', id: planned.nodeId, sequence };
      case 'addEdge':
        return { kind: 'added', id: planned.edgeId, sequence };
      case 'deleteNode':
      case 'deleteEdge':
        return { kind: 'sequence', sequence };
      default:
        return unreachable(planned);
    }
  }

  #delete(recordId: number, leavesTombstone: boolean): void {
    if (this.#isLive(recordId)) this.#countLive(-1);
    const keyId = this.#keyOf(recordId);
    const isTombstoned = this.#deleted.has(recordId) || this.state.encrypted.get(recordId)?.isTombstoned === true;
    if (keyId !== undefined && !isTombstoned) this.#countKey(keyId, -1);
    this.#deleted.set(recordId, leavesTombstone);
  }

  #countLive(by: number): void {
    this.#liveRecords += by;
    this.#headroom -= by;
  }

  #countKey(keyId: string, by: number): void {
    this.#underKey.set(keyId, (this.#underKey.get(keyId) ?? 0) + by);
  }

  /** Returns the key of an encrypted record, even of a deleted one; undefined for a record with a vector. */
  #keyOf(recordId: number): string | undefined {
    return this.#keys.get(recordId) ?? this.state.encrypted.get(recordId)?.keyId;
  }

  #isShredded(keyId: string): boolean {
    return this.#shredded.has(keyId) || this.state.encrypted.isShredded(keyId);
  }

  /** Sequence and time of the next event. */
  #dated(): { sequence: number; timeMs: number } {
    return { sequence: this.#sequence, timeMs: this.#timeMs };
  }

  #isPlanned(recordId: number): boolean {
    return recordId >= this.state.nextRecordId && recordId < this.#nextRecordId;
  }

  #isLive(recordId: number): boolean {
    if (this.#deleted.has(recordId)) return false;
    const keyId = this.#keyOf(recordId);
    if (keyId !== undefined && this.#isShredded(keyId)) return false;
    return this.#isPlanned(recordId) || this.state.isLive(recordId);
  }

  exists(recordId: number): boolean {
    return this.#deleted.get(recordId) ?? (this.#isPlanned(recordId) || this.state.exists(recordId));
  }

  #assertLive(recordId: number): void {
    if (!this.#isLive(recordId)) throw missing(recordId);
  }

  #assertRoom(records: number, bytes: number): void {
    assertRoom({ ...this.start.room, records: this.#headroom, bytes: this.#roomBytes }, { records, bytes });
  }

  /** Guards against a coordinator that knows another collection by this id. */
  #assertDimension(vectorBytes: number): void {
    if (vectorBytes !== 4 * this.state.dimension)
      throw refusal('dimension_mismatch', 'write', { dimension: this.state.dimension });
  }
}

const utf8 = (text: string | null): Uint8Array | null => (text === null ? null : Buffer.from(text));

const bytesOf = (record: Parameters<typeof contentBytes>[0]): number => insertedBytes(contentBytes(record));
