/**
 * Turns the writes that wait into the events of one frame. Each write is judged against the state as it will be after
 * the writes before it, those of the same frame included; a write that is refused leaves nothing in the plan.
 */
import type { InsertBatchCall, InsertCall } from '../../shared/calls.js';
import { unavailable, unreachable, VouchError } from '../../shared/errors.js';
import type { Event } from '../../shared/log/event.js';
import { EncryptedPlan, type EncryptedView } from '../encrypted/encryptedPlan.js';
import type { SealedCall, SealedInsert } from '../encrypted/sealedCall.js';
import { GraphPlan, type GraphView, type PlannedGraphEvent } from '../graph/graphPlan.js';
import { type AppliedRequest, requestKey } from './requestWindow.js';

/** What a plan must know of the state it will be applied to. */
export interface StateView {
  readonly nextRecordId: number;
  readonly dimension: number;
  readonly liveRecords: number;
  readonly graph: GraphView;
  readonly encrypted: EncryptedView;
  isLive(recordId: number): boolean;
  /** Live or tombstoned. */
  exists(recordId: number): boolean;
  findRequest(key: string): AppliedRequest | undefined;
}

/** What a write will be answered once the frame is applied. */
export type Answer =
  | { readonly kind: 'insert'; readonly write: AppliedRequest; readonly deduplicated: boolean }
  | { readonly kind: 'batch'; readonly ids: Float64Array }
  /** `keyId` null: of an insert that was applied before, whose event says. */
  | { readonly kind: 'encrypted'; readonly write: AppliedRequest; readonly keyId: string | null }
  | { readonly kind: 'added'; readonly id: number; readonly sequence: number }
  | { readonly kind: 'sequence'; readonly sequence: number };

export interface PlanStart {
  /** The sequence of the first event. */
  readonly sequence: number;
  readonly timeMs: number;
  /** Records that may be added. */
  readonly headroom: number;
  /** False where there may be more room than could be learned. */
  readonly isHeadroomFinal: boolean;
}

type NewRecord = Omit<InsertCall, 'op'>;

export class FramePlan {
  readonly events: Event[] = [];
  readonly #requests = new Map<string, AppliedRequest>();
  /** Records of the state or of this plan that the plan takes away; true where a tombstone stays. */
  readonly #gone = new Map<number, boolean>();
  readonly #graph: GraphPlan;
  readonly #encrypted: EncryptedPlan;
  readonly #timeMs: number;
  #sequence: number;
  #nextRecordId: number;
  #headroom: number;
  #liveRecords: number;

  constructor(
    private readonly state: StateView,
    private readonly start: PlanStart,
  ) {
    this.#sequence = start.sequence;
    this.#timeMs = start.timeMs;
    this.#headroom = start.headroom;
    this.#nextRecordId = state.nextRecordId;
    this.#liveRecords = state.liveRecords;
    this.#encrypted = new EncryptedPlan(state.encrypted);
    this.#graph = new GraphPlan(state.graph, (recordId) => this.#gone.get(recordId) === false);
  }

  /** Once the plan is applied. */
  get liveRecords(): number {
    return this.#liveRecords;
  }

  /** Throws VouchError where the write is refused. */
  add(call: SealedCall): Answer {
    switch (call.op) {
      case 'insert':
        return this.#insert(call);
      case 'insertBatch':
        return this.#insertBatch(call);
      case 'insertEncrypted':
        return this.#insertEncrypted(call);
      case 'shredKey':
        return this.#shred(call.keyId);
      case 'softDelete':
        this.#assertLive(call.id);
        this.#takeAway(call.id, true);
        return this.#push({ type: 'softDelete', ...this.#next(), recordId: call.id });
      case 'delete':
        if (!this.#exists(call.id)) throw missing(call.id);
        this.#takeAway(call.id, false);
        return this.#push({ type: 'delete', ...this.#next(), recordId: call.id });
      case 'updateMetadata':
        this.#assertLive(call.id);
        this.#assertHasMetadata(call.id);
        return this.#push({
          type: 'updateMetadata',
          ...this.#next(),
          recordId: call.id,
          metadata: call.metadata,
        });
      case 'addNode':
        if (call.recordId !== null) this.#assertLive(call.recordId);
        return this.#pushGraph(this.#graph.add(call));
      case 'deleteNode':
      case 'addEdge':
      case 'deleteEdge':
        return this.#pushGraph(this.#graph.add(call));
      default:
        return unreachable(call);
    }
  }

  #insert(call: InsertCall): Answer {
    this.#assertDimension(call.vector.length);
    const key = call.requestId === null ? undefined : requestKey(call.requestId);
    const before = key === undefined ? undefined : this.#findRequest(key);
    if (before !== undefined) return { kind: 'insert', write: before, deduplicated: true };
    this.#assertHeadroom(1);
    return { kind: 'insert', write: this.#append(call, key), deduplicated: false };
  }

  #insertEncrypted({ keyId, nonce, ciphertext, tag, requestId }: SealedInsert): Answer {
    const key = requestId === null ? undefined : requestKey(requestId);
    const before = key === undefined ? undefined : this.#findRequest(key);
    if (before !== undefined) return { kind: 'encrypted', write: before, keyId: null };
    this.#encrypted.assertInsertable(keyId);
    this.#assertHeadroom(1);
    const write = this.#newRecord(key);
    const { recordId, sequence } = write;
    this.#encrypted.insert(recordId, keyId);
    this.events.push({
      type: 'insertEncrypted',
      sequence,
      timeMs: this.#timeMs,
      recordId,
      tag,
      requestId,
      keyId: Buffer.from(keyId, 'hex'),
      nonce,
      ciphertext,
    });
    return { kind: 'encrypted', write, keyId };
  }

  /** Once a log for each key: repeated, there is nothing to state. */
  #shred(keyId: string): Answer {
    if (this.#encrypted.isShredded(keyId)) return { kind: 'sequence', sequence: this.#sequence - 1 };
    this.#countLive(-this.#encrypted.shred(keyId));
    return this.#push({ type: 'shredKey', ...this.#next(), keyId: Buffer.from(keyId, 'hex') });
  }

  #insertBatch(call: InsertBatchCall): Answer {
    const vectorBytes = 4 * this.state.dimension;
    if (call.vectors.length !== call.count * vectorBytes) this.#assertDimension(-1);
    const keys = (call.requestIds ?? []).map((id) => (id === null ? undefined : requestKey(id)));
    this.#assertHeadroom(call.count - this.#replayed(keys));
    const ids = new Float64Array(call.count);
    for (let i = 0; i < call.count; i++) {
      const key = keys[i];
      const before = key === undefined ? undefined : this.#findRequest(key);
      const write =
        before ??
        this.#append(
          {
            vector: call.vectors.subarray(i * vectorBytes, (i + 1) * vectorBytes),
            tag: 0,
            requestId: call.requestIds?.[i] ?? null,
            metadata: call.metadata?.[i] ?? null,
            text: call.texts?.[i] ?? null,
          },
          key,
        );
      ids[i] = write.recordId;
    }
    return { kind: 'batch', ids };
  }

  /** How many of the keys make no new record, those that stand twice in the batch included. */
  #replayed(keys: readonly (string | undefined)[]): number {
    const seen = new Set<string>();
    let replayed = 0;
    for (const key of keys) {
      if (key === undefined) continue;
      if (seen.has(key) || this.#findRequest(key) !== undefined) replayed++;
      seen.add(key);
    }
    return replayed;
  }

  #append(record: NewRecord, key: string | undefined): AppliedRequest {
    const { vector, tag, requestId, metadata, text } = record;
    const write = this.#newRecord(key);
    this.events.push({
      type: 'insert',
      sequence: write.sequence,
      timeMs: this.#timeMs,
      recordId: write.recordId,
      tag,
      requestId,
      vector,
      metadata,
      text: text === null ? null : Buffer.from(text),
    });
    return write;
  }

  #newRecord(key: string | undefined): AppliedRequest {
    const write = { recordId: this.#nextRecordId++, sequence: this.#next().sequence };
    this.#countLive(1);
    if (key !== undefined) this.#requests.set(key, write);
    return write;
  }

  #push(event: Event): Answer {
    this.events.push(event);
    return { kind: 'sequence', sequence: event.sequence };
  }

  #pushGraph(planned: PlannedGraphEvent): Answer {
    const { sequence, timeMs } = this.#next();
    this.events.push({ ...planned, sequence, timeMs });
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

  #takeAway(recordId: number, leavesTombstone: boolean): void {
    if (this.#isLive(recordId)) this.#countLive(-1);
    if (!this.#gone.has(recordId)) this.#encrypted.gone(recordId);
    this.#gone.set(recordId, leavesTombstone);
  }

  #countLive(by: number): void {
    this.#liveRecords += by;
    this.#headroom -= by;
  }

  #next(): { sequence: number; timeMs: number } {
    return { sequence: this.#sequence++, timeMs: this.#timeMs };
  }

  #findRequest(key: string): AppliedRequest | undefined {
    return this.#requests.get(key) ?? this.state.findRequest(key);
  }

  #isPlanned(recordId: number): boolean {
    return recordId >= this.state.nextRecordId && recordId < this.#nextRecordId;
  }

  #isLive(recordId: number): boolean {
    if (this.#gone.has(recordId)) return false;
    const keyId = this.#encrypted.keyOf(recordId);
    if (keyId !== undefined && this.#encrypted.isShredded(keyId)) return false;
    return this.#isPlanned(recordId) || this.state.isLive(recordId);
  }

  #exists(recordId: number): boolean {
    return this.#gone.get(recordId) ?? (this.#isPlanned(recordId) || this.state.exists(recordId));
  }

  #assertLive(recordId: number): void {
    if (!this.#isLive(recordId)) throw missing(recordId);
  }

  #assertHasMetadata(recordId: number): void {
    if (this.#encrypted.keyOf(recordId) !== undefined)
      throw new VouchError('validation_error', `record ${recordId} is encrypted, and has no metadata`);
  }

  #assertHeadroom(records: number): void {
    // Below zero where the capacity was lowered under what there is.
    const headroom = Math.max(this.#headroom, 0);
    if (records <= headroom) return;
    throw noRoom(headroom, records, this.start.isHeadroomFinal);
  }

  /** The coordinator has checked it; a mismatch here means that it knew another collection by this id. */
  #assertDimension(vectorBytes: number): void {
    if (vectorBytes !== 4 * this.state.dimension)
      throw new VouchError('dimension_mismatch', `the collection has dimension ${this.state.dimension}`);
  }
}

/** `isFinal` false: there may be more room than could be learned. */
export const noRoom = (headroom: number, records: number, isFinal: boolean): VouchError =>
  isFinal
    ? new VouchError(
        'capacity_exceeded',
        `the project has room for ${headroom} more records, and the request brings ${records}`,
      )
    : unavailable('a shard did not say how much of the capacity it uses; retry shortly');

export const missing = (recordId: number): VouchError =>
  new VouchError('record_not_found', `there is no record ${recordId} in the collection`);
