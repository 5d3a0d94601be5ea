/**
 * Builds the events of one frame from waiting writes. Each write is judged against the state after the earlier writes,
 * including those of the same frame. A refused write adds no event.
 */
import { refusal, unavailable, unreachable, VouchError } from '../../shared/errors/errors.js';
import { mergePatch } from '../../shared/json/mergePatch.js';
import { actorSizeBytes } from '../../shared/log/actorCodec.js';
import type { Event, EventHeader } from '../../shared/log/event.js';
import { BESIDE_EVENT_BYTES, contentBytes, expiryBytes, fixedSizeBytes } from '../../shared/log/eventLayout.js';
import { type Actor, isSameActor } from '../../shared/model/actor.js';
import type { RecordName } from '../../shared/model/recordName.js';
import type { InsertCall } from '../../shared/protocol/writes.js';
import { GraphPlan, type PlannedGraphWrite } from '../graph/graphPlan.js';
import { type MetadataObject, metadataObject, patchIn } from '../metadata/metadataObject.js';
import { byteKey } from './byteKey.js';
import type { CollectionState } from './collectionState.js';
import { type AppliedRequest, NO_RECORD } from './dedupWindow.js';
import { assertCiphertext, assertContent, type EventLimits } from './eventLimits.js';
import { expiryAt } from './expiryAt.js';
import { utf8ExternalId } from './externalIds.js';
import { addedBytes, insertedEncryptedBytes, updatedBytes } from './growth.js';
import type {
  EncryptedInsert,
  PlannedCall,
  StatedDeletions,
  StatedInsert,
  StatedReplace,
  WriteAnswer,
} from './plannedCalls.js';
import { growthOf, type MetadataChange, PlannedChanges } from './plannedChanges.js';
import { type ContentCipher, encryptedBytes, PlannedContents, recordBytes } from './plannedContents.js';
import { PlannedRecords } from './plannedRecords.js';
import { keyOf, PlannedRequests } from './plannedRequests.js';
import { assertRoom, missing, type Room } from './refusals.js';

export interface PlanStart {
  /** Sequence of the first event. */
  readonly sequence: number;
  readonly timeMs: number;
  readonly room: Room;
  /** Absent: no write is under a key. */
  readonly cipher?: ContentCipher;
}

/** `keyId`: the key that it is under; null: none. */
export type NewRecord = Omit<StatedInsert, 'type'> & { readonly keyId: string | null };

export class CommitBuilder {
  readonly events: Event[] = [];
  readonly requests: PlannedRequests;
  readonly records: PlannedRecords;
  readonly #graph: GraphPlan;
  readonly changes: PlannedChanges;
  readonly #contents: PlannedContents;
  #timeMs: number;
  #sequence: number;
  #roomBytes: number;
  /** The actor of the next events. */
  #actor: Actor | null = null;
  /** Bytes of the actor in the next event; 0 if the event before has the same one. */
  #actorBytes = 0;

  constructor(
    readonly state: CollectionState,
    readonly start: PlanStart,
    readonly limits: EventLimits,
  ) {
    this.requests = new PlannedRequests(state.requests);
    this.#sequence = start.sequence;
    this.#timeMs = start.timeMs;
    this.#roomBytes = start.room.bytes;
    this.records = new PlannedRecords(state);
    this.changes = new PlannedChanges(this.events, state, start.sequence);
    this.#contents = new PlannedContents(state, this.changes, start.cipher);
    this.#graph = new GraphPlan(state.graph, (recordId) => this.records.isFreed(recordId));
  }

  /** The time of the next events. */
  get timeMs(): number {
    return this.#timeMs;
  }

  /** Number of live records after the plan. */
  get liveRecords(): number {
    return this.records.liveCount;
  }

  /** Sets the actor of the next writes; null: their events are of version 1. */
  as(actor: Actor | null): void {
    this.#actor = actor;
    this.#actorBytes =
      actor === null || isSameActor(actor, this.events.at(-1)?.actor ?? null) ? 0 : actorSizeBytes(actor);
  }

  /** Plans the removal of an expired record, which happens at its expiry. Call it in the order of the expiries. */
  expire(recordId: number): void {
    this.#timeMs = Math.max(this.#timeMs, this.state.expiries.of(recordId)!);
    this.add({ op: 'delete', id: recordId });
  }

  /** Plans a write. Throws VouchError if the write is refused. */
  add(call: PlannedCall): WriteAnswer {
    switch (call.op) {
      case 'insert':
        return this.#insert(call);
      case 'stated':
        return this.endDeletions(call.of);
      case 'insertEncrypted':
        return this.#insertEncrypted(call);
      case 'shredKey':
        return this.#shred(call.keyId);
      case 'softDelete': {
        const recordId = this.records.liveNamed(call.id);
        this.changes.assertUnchanged(recordId, call.since);
        this.records.delete(recordId, true);
        return this.push({ type: 'softDelete', ...this.dated(), recordId });
      }
      case 'delete': {
        const recordId = this.records.named(call.id);
        if (!this.exists(recordId)) throw missing(recordId);
        this.changes.assertUnchanged(recordId, call.since);
        this.records.delete(recordId, false);
        return this.push({ type: 'delete', ...this.dated(), recordId });
      }
      case 'updateMetadata':
        return this.#changeOne(this.#change(this.#unchanged(call), call.metadata));
      case 'patchMetadata':
        return this.#changeOne(this.patched(this.#unchanged(call), patchIn(call.patch)));
      case 'addNode':
        return this.#changeGraph({
          ...call,
          recordId: call.recordId === null ? null : this.records.liveNamed(call.recordId),
        });
      case 'deleteNode':
      case 'addEdge':
      case 'deleteEdge':
        return this.#changeGraph(call);
      case 'auditReads': {
        const fields = this.changes.access(call);
        if (fields === undefined) return { kind: 'access', sequence: this.#sequence - 1 };
        const { sequence } = this.push({ type: 'auditReads', ...this.dated(), ...fields });
        return { kind: 'access', sequence };
      }
      default:
        return unreachable(call);
    }
  }

  #insert(call: InsertCall): WriteAnswer {
    this.assertDimension(call.vector.length);
    const key = keyOf(call.requestId);
    const before = this.requests.write(key);
    if (before !== undefined) return { kind: 'insert', write: before, deduplicated: true };
    const { vector, tag, requestId, metadata, keyId = null } = call;
    const text = call.text === null ? null : Buffer.from(call.text);
    const expiresAtMs = expiryAt(this.#timeMs, call.expiresAtMs, call.ttlMs);
    const record = { vector, tag, requestId, metadata, text, externalId: null, expiresAtMs, keyId };
    assertContent(record, this.limits);
    this.assertRoom(1, this.bytesOf(record));
    return { kind: 'insert', write: this.append(record, key), deduplicated: false };
  }

  /**
   * Returns the sequence of the event that ended an earlier request's deletions; undefined without an earlier request.
   */
  deletedBefore(requestId: Uint8Array | null): number | undefined {
    return this.requests.deletion(keyOf(requestId));
  }

  /** Adds the event that ends preceding deletions. Throws `validation_error` if they do not directly precede it. */
  endDeletions(end: StatedDeletions): WriteAnswer {
    const before = this.events.slice(-end.deleted);
    if (before.length < end.deleted || before.some(({ type }) => type !== 'delete'))
      throw new VouchError('validation_error', `the ${end.deleted} preceding events are not all deletions`);
    this.requests.add(byteKey(end.requestId), { recordId: NO_RECORD, sequence: this.#sequence });
    return this.push({ ...end, ...this.dated() });
  }

  /** Yields the live records with these external ids, each looked up on demand. */
  *liveNamed(externalIds: Iterable<string>): Generator<number | undefined> {
    for (const externalId of externalIds) yield this.records.liveUnder(utf8ExternalId(externalId));
  }

  #unchanged({ id, since }: { readonly id: RecordName; readonly since?: number }): number {
    const recordId = this.records.liveNamed(id);
    this.changes.assertUnchanged(recordId, since);
    return recordId;
  }

  isLive(recordId: number): boolean {
    return this.records.isLive(recordId);
  }

  /** Returns the change that a merge patch makes to a live record. Throws `validation_error` if it cannot be made. */
  patched(recordId: number, patch: MetadataObject): MetadataChange {
    const stored = this.#metadataOf(recordId);
    const object = stored === null ? {} : metadataObject(stored);
    if (object === undefined) throw refusal('validation_error', 'opaqueMetadata', { record: recordId });
    return this.#change(recordId, Buffer.from(JSON.stringify(mergePatch(object, patch))), `record ${recordId}: `);
  }

  /** Throws if the changes would pass a quota. `growth`: the sum of their `growthOf`. */
  assertRoomToGrow(growth: number): void {
    this.assertRoom(0, growth);
  }

  /** Plans a change of a live record, for which there is room. Returns its sequence. */
  changeMetadata({ recordId, metadata, replaced }: MetadataChange): number {
    this.#roomBytes += replaced;
    const keyId = this.records.keyOf(recordId);
    if (keyId === undefined) this.push({ ...this.dated(), type: 'updateMetadata', recordId, metadata });
    else {
      const encrypted = this.#contents.encrypted(keyId, { ...this.#contents.of(recordId), metadata });
      this.push({ ...this.dated(), type: 'updateUnderKey', recordId, requestId: null, ...encrypted });
    }
    return this.#sequence - 1;
  }

  #changeOne(change: MetadataChange): WriteAnswer {
    this.assertRoomToGrow(growthOf(change));
    return { kind: 'changed', id: change.recordId, sequence: this.changeMetadata(change) };
  }

  /** Throws `validation_error` if the record is encrypted, or the metadata too large. `what` begins the message. */
  #change(recordId: number, metadata: Uint8Array, what?: string): MetadataChange {
    if (this.records.isPayload(recordId))
      throw new VouchError('validation_error', `record ${recordId} is encrypted, and has no metadata`);
    assertContent({ metadata }, this.limits, what);
    const planned = this.changes.metadata(recordId);
    const replaced = planned === undefined ? this.state.metadataBytesOf(recordId) : (planned?.length ?? 0);
    const plain = { recordId, metadata, added: updatedBytes(metadata.length), replaced };
    const keyId = this.records.keyOf(recordId);
    if (keyId === undefined) return { ...plain, eventBytes: plain.added - metadata.length };
    const eventBytes = encryptedBytes(contentBytes({ ...this.#contents.of(recordId), metadata }));
    return { ...plain, added: eventBytes + metadata.length, eventBytes };
  }

  /** Returns the metadata of a live record after the earlier writes. */
  #metadataOf(recordId: number): Uint8Array | null {
    const planned = this.changes.metadata(recordId);
    if (planned !== undefined) return planned;
    const slot = this.state.liveSlotOf(recordId);
    return slot === undefined ? null : this.state.metadataAt(slot);
  }

  #insertEncrypted({ keyId, nonce, ciphertext, tag, requestId, ...life }: EncryptedInsert): WriteAnswer {
    const key = keyOf(requestId);
    const before = this.requests.write(key);
    if (before !== undefined) return { kind: 'encrypted', write: before, keyId: null };
    this.records.assertNotShredded(keyId);
    assertCiphertext(ciphertext, this.limits);
    const expiresAtMs = expiryAt(this.#timeMs, life.expiresAtMs, life.ttlMs);
    this.assertRoom(1, insertedEncryptedBytes(ciphertext.length) + expiryBytes({ expiresAtMs }));
    const write = this.#written(this.records.addPayload(keyId), key);
    const content = { tag, requestId, keyId: Buffer.from(keyId, 'hex'), nonce, ciphertext, expiresAtMs };
    this.push({ type: 'insertEncrypted', ...content, ...this.dated(), recordId: write.recordId });
    return { kind: 'encrypted', write, keyId };
  }

  /** Plans the shredding of a key. A log has one such event per key; a repeated call adds none. */
  #shred(keyId: string): WriteAnswer {
    if (!this.records.shred(keyId)) return { kind: 'sequence', sequence: this.#sequence - 1 };
    return this.push({ type: 'shredKey', ...this.dated(), keyId: Buffer.from(keyId, 'hex') });
  }

  append(record: NewRecord, key: string | undefined): AppliedRequest {
    const { vector, tag, requestId, metadata, text, externalId, expiresAtMs, keyId } = record;
    if (keyId !== null) {
      const encrypted = this.#contents.encrypted(keyId, { tag, vector, metadata, text, externalId });
      const write = this.#written(this.records.addUnderKey(keyId, externalId), key);
      this.#pushUnderKey('insertUnderKey', write, record, encrypted);
      return write;
    }
    const write = this.#written(this.records.add(externalId), key);
    const { sequence, recordId } = write;
    // Fields are listed, since a spread takes more memory than the event.
    this.push({
      type: 'insert',
      sequence,
      timeMs: this.#timeMs,
      actor: this.#actor,
      recordId,
      tag,
      requestId,
      vector,
      metadata,
      text,
      externalId,
      expiresAtMs,
    });
    return write;
  }

  replace(
    recordId: number,
    record: NewRecord & Pick<StatedReplace, 'externalId'>,
    key: string | undefined,
  ): AppliedRequest {
    const { vector, tag, requestId, metadata, text, externalId, expiresAtMs, keyId } = record;
    if (keyId !== null) {
      const encrypted = this.#contents.encrypted(keyId, { tag, vector, metadata, text, externalId });
      this.records.move(recordId, keyId);
      const write = this.#written(recordId, key);
      this.#pushUnderKey('replaceUnderKey', write, record, encrypted);
      return write;
    }
    const write = this.#written(recordId, key);
    const content = { recordId, tag, requestId, vector, metadata, text, externalId, expiresAtMs };
    this.push({ type: 'replace', ...this.dated(), ...content });
    return write;
  }

  /** Fields are listed, since spreads would cost as much as the encryption. */
  #pushUnderKey(
    type: 'insertUnderKey' | 'replaceUnderKey',
    { sequence, recordId }: AppliedRequest,
    { requestId, expiresAtMs }: NewRecord,
    { keyId, nonce, commitment, ciphertext, content }: ReturnType<PlannedContents['encrypted']>,
  ): void {
    this.push({
      type,
      sequence,
      timeMs: this.#timeMs,
      actor: this.#actor,
      recordId,
      requestId,
      keyId,
      nonce,
      commitment,
      ciphertext,
      content,
      expiresAtMs,
    });
  }

  /** Returns the write of the event that is pushed next, under its request id. */
  #written(recordId: number, key: string | undefined): AppliedRequest {
    const write = { recordId, sequence: this.#sequence };
    if (key !== undefined) this.requests.add(key, write);
    return write;
  }

  /** Adds the event with the next sequence. The room that it frees counts from the next frame on. */
  push(event: Event): WriteAnswer & { kind: 'sequence' } {
    this.#sequence++;
    this.#roomBytes -= addedBytes(event) + this.#actorBytes;
    this.#actorBytes = 0;
    this.events.push(event);
    return { kind: 'sequence', sequence: event.sequence };
  }

  #changeGraph(call: PlannedGraphWrite): WriteAnswer {
    if (call.op === 'addNode' || call.op === 'addEdge')
      this.assertRoom(0, BESIDE_EVENT_BYTES + fixedSizeBytes(call.op));
    const planned = this.#graph.add(call);
    const { sequence } = this.push({ ...planned, ...this.dated() });
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

  /** Sequence, time and actor of the next event. */
  dated(): Pick<Event, EventHeader> {
    return { sequence: this.#sequence, timeMs: this.#timeMs, actor: this.#actor };
  }

  exists(recordId: number): boolean {
    return this.records.exists(recordId);
  }

  assertRoom(records: number, bytes: number): void {
    const added = this.records.liveCount - this.state.liveRecords;
    const room = { ...this.start.room, records: this.start.room.records - added, bytes: this.#roomBytes };
    assertRoom(room, { records, bytes: bytes === 0 ? 0 : bytes + this.#actorBytes });
  }

  /**
   * Returns the bytes that the record adds. Throws `validation_error` if its key is shredded, `unavailable` if it must be
   * under a key, and none was made for it.
   */
  bytesOf(record: NewRecord): number {
    if (record.keyId !== null) this.records.assertNotShredded(record.keyId);
    else if (this.#contents.isRule) throw unavailable('a record of the write has changed meanwhile; retry');
    return recordBytes(record, record.keyId !== null);
  }

  /** Guards against a coordinator that knows another collection by this id. */
  assertDimension(vectorBytes: number): void {
    if (vectorBytes !== 4 * this.state.dimension)
      throw refusal('dimension_mismatch', 'write', { dimension: this.state.dimension });
  }
}
