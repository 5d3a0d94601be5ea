/**
 * The queue of writes before a commit, bounded in number, bytes and waiting time. A commit takes waiting writes up to a
 * size beyond which it would only become longer. So small writes do not wait for many large ones. A write that would
 * have to wait too long is refused on arrival.
 */
import type { Clock } from '../../shared/clock.js';
import { unreachable } from '../../shared/errors/errors.js';
import { EXTERNAL_ID_MAX_BYTES } from '../../shared/limits.js';
import { actorSizeBytes } from '../../shared/log/actorCodec.js';
import {
  DELETE_MANY,
  EXPIRY_BYTES,
  fixedSizeBytes,
  insertEncryptedSizeBytes,
  insertSizeBytes,
  BESIDE_EVENT_BYTES as PER_EVENT_BYTES,
  SHRED_KEY,
  updateMetadataSizeBytes,
} from '../../shared/log/eventLayout.js';
import { SYSTEM } from '../../shared/model/actor.js';
import type { DeleteManyCall, WriteCall } from '../../shared/protocol/writes.js';
import { WaitBound } from '../../shared/scheduling/waitBound.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { CallAdmission } from '../capacity/admission.js';
import { insertedBytes } from '../state/growth.js';
import type { QueuedCall } from '../state/plannedCalls.js';
import { encryptedBytes } from '../state/plannedContents.js';
import { Gathering } from './gathering.js';

export interface Waiting {
  readonly call: QueuedCall;
  readonly envelope: Envelope;
  /** Upper bound of the bytes of its events in a frame. */
  readonly sizeBytes: number;
  /** Upper bound of the records that the write adds. */
  readonly records: number;
  /** Upper bound of the bytes by which the collection grows; 0 for deletes and shreds, which no quota refuses. */
  readonly growthBytes: number;
  readonly arrivedMs: number;
  /** Whether it needs its own frame, since it selects records from the state before it. */
  readonly isAlone: boolean;
  /** Upper bound of the existing records that the write replaces. */
  readonly replaceable: number;
  /**
   * Bytes to be committed before it; undefined if writes are on hold, since its wait then says nothing about commits.
   */
  readonly aheadBytes: number | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const WRITES_MAX = 4_096;
const FRAME_BYTES = 16 * 1024 * 1024;
/** Size of two of the largest frames: further writes would wait for a third commit. */
const BYTES_MAX = 2 * FRAME_BYTES;
/** Largest number of bytes of a commit of several writes: some 50 ms of work, far more than the way to the log and back. */
const GROUPED_BYTES = 2 * 1024 * 1024;
/** Writes that may wait however long commits take, since a client that loads in parallel is not an overload. */
const FEW = 8;

export class WriteQueue {
  #waiting: Waiting[] = [];
  #sizeBytes = 0;
  /** Writes and bytes of the running commit, and the time at which it began. */
  #taken = 0;
  #takenBytes = 0;
  #takenMs = 0;
  /** Time since which the queue has not been empty. */
  #sinceMs = 0;
  readonly #bound: WaitBound;
  readonly #gathering: Gathering;
  /** Called when the next commit waits no longer for further writes. */
  onReady: (() => void) | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly admission: Pick<CallAdmission, 'maxQueueWaitMs' | 'refusal'>,
    /** Most bytes of a record's metadata. */
    private readonly metadataBytes: number,
    /** Most bytes of the rest of a record that a change of its metadata writes again. */
    private readonly contentBytes: () => number = () => 0,
  ) {
    this.#gathering = new Gathering(clock, () => this.onReady?.());
    this.#bound = new WaitBound(admission.maxQueueWaitMs);
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Whether a commit of the waiting writes should begin now. Call it only when one could begin. */
  isReady(): boolean {
    const [oldest] = this.#waiting;
    return oldest !== undefined && !this.#gathering.waits(this.#waiting.length, oldest.arrivedMs);
  }

  /**
   * Resolves or rejects when the write is answered. Throws Overloaded if too many writes wait, or it would wait too
   * long. `isHeld`: commits are paused or on hold.
   */
  add(call: QueuedCall, envelope: Envelope, isHeld: boolean): Promise<unknown> {
    const measured = measure(call, this.metadataBytes, this.contentBytes());
    const { records, replaceable } = measured;
    // All events of a write have one actor, which its first event may have to state.
    const actorBytes = actorSizeBytes(envelope.actor ?? SYSTEM);
    const sizeBytes = measured.sizeBytes + actorBytes;
    const growthBytes = measured.growthBytes === 0 ? 0 : measured.growthBytes + actorBytes;
    const isAlone = call.op === 'patchMany' || (call.op === 'deleteMany' && 'filter' in call.of);
    const arrivedMs = this.clock.monotonicMs();
    if (this.#waiting.length >= WRITES_MAX || (this.#sizeBytes > 0 && this.#sizeBytes + sizeBytes > BYTES_MAX))
      throw this.admission.refusal('write_queue');
    if (this.isEmpty) this.#sinceMs = arrivedMs;
    else if (!isHeld && this.#isSlow(arrivedMs)) throw this.admission.refusal('write_waited');
    const aheadBytes = isHeld ? undefined : this.#sizeBytes + this.#takenBytes;
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        call,
        envelope,
        sizeBytes,
        records,
        growthBytes,
        arrivedMs,
        isAlone,
        replaceable,
        aheadBytes,
        resolve,
        reject,
      });
      this.#sizeBytes += sizeBytes;
    });
  }

  /** Takes the writes of the next frame: the oldest, as many as fit, at least one. */
  take(frameBytes: number): Waiting[] {
    const groupBytes = Math.min(frameBytes, GROUPED_BYTES);
    const nowMs = this.clock.monotonicMs();
    let count = 0;
    let sizeBytes = 0;
    let isAlone = false;
    for (const waiting of this.#waiting) {
      if (count > 0 && (waiting.isAlone || isAlone || sizeBytes + waiting.sizeBytes > groupBytes)) break;
      isAlone = waiting.isAlone;
      sizeBytes += waiting.sizeBytes;
      count++;
      if (waiting.aheadBytes !== undefined) this.#bound.through(waiting.aheadBytes, nowMs - waiting.arrivedMs);
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    this.#sizeBytes -= sizeBytes;
    this.#takenBytes = sizeBytes;
    this.#taken = count;
    this.#takenMs = nowMs;
    return taken;
  }

  /** Call it when the commit of the taken writes has ended. */
  committed(): void {
    const tookMs = this.clock.monotonicMs() - this.#takenMs;
    this.#gathering.committed(this.#taken + this.#waiting.length, this.#takenBytes + this.#sizeBytes, tookMs);
    this.#taken = 0;
    this.#takenBytes = 0;
  }

  /** Whether the oldest write of the queue has waited too long, or a new one would. The queue must not be empty. */
  #isSlow(nowMs: number): boolean {
    const oldest = this.#waiting[0] as Waiting;
    if (nowMs - oldest.arrivedMs > this.admission.maxQueueWaitMs) return true;
    if (this.#waiting.length < FEW) return false;
    return !this.#bound.admits(this.#sizeBytes + this.#takenBytes, nowMs - this.#sinceMs);
  }

  rejectAll(error: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#sizeBytes = 0;
    for (const { reject } of waiting) reject(error);
  }
}

/** Whether a write is refused if memory or store are nearly full. Deletes and shreds are not, since they make room. */
export function mayGrow({ op }: WriteCall): boolean {
  switch (op) {
    case 'insert':
    case 'insertBatch':
    case 'insertEncrypted':
    case 'updateMetadata':
    case 'patchMetadata':
    case 'patchMany':
    case 'addNode':
    case 'addEdge':
      return true;
    case 'softDelete':
    case 'delete':
    case 'deleteMany':
    case 'shredKey':
    case 'deleteNode':
    case 'deleteEdge':
    case 'auditReads':
      return false;
    default:
      return unreachable(op);
  }
}

type Measure = Pick<Waiting, 'sizeBytes' | 'records' | 'growthBytes' | 'replaceable'>;

const PER_INSERT_BYTES = PER_EVENT_BYTES + insertSizeBytes(0);

/** Bytes by which an event under a key is larger than an insert, at most, with its external id. */
const ENCRYPTED_BYTES = encryptedBytes(EXTERNAL_ID_MAX_BYTES) - insertedBytes(0);

const NOTHING = { sizeBytes: 0, records: 0, growthBytes: 0, replaceable: 0 };

/** Bytes of the event that ends the deletions of a request with a request id. */
export const END_BYTES = PER_EVENT_BYTES + DELETE_MANY.end;

/** Returns the bytes of this many deletions in a frame. */
export const deletionsBytes = (count: number): number => count * (PER_EVENT_BYTES + fixedSizeBytes('delete'));

const idsOf = (of: DeleteManyCall['of']): number =>
  'filter' in of ? 0 : 'ids' in of ? of.ids.length : of.externalIds.length;

const fieldBytes = (...parts: readonly (Uint8Array | null | undefined)[]): number =>
  parts.reduce((sum, part) => sum + (part?.length ?? 0), 0);

const mayExpire = ({ expiresAtMs, ttlMs }: Extract<QueuedCall, { ttlMs?: unknown }>): boolean =>
  expiresAtMs !== undefined || ttlMs !== undefined;

/** Bytes of an insert besides its content. */
const perInsertBytes = (expires: boolean, isEncrypted: boolean): number =>
  PER_INSERT_BYTES + (expires ? EXPIRY_BYTES : 0) + (isEncrypted ? ENCRYPTED_BYTES : 0);

function inserts(records: number, perInsert: number, content: number): Measure {
  const sizeBytes = records * perInsert + content;
  return { sizeBytes, records, growthBytes: sizeBytes + content, replaceable: 0 };
}

function updates(records: number, metadataBytes: number, contentBytes: number): Measure {
  const rest = contentBytes === 0 ? 0 : ENCRYPTED_BYTES + contentBytes;
  const sizeBytes = records * (PER_EVENT_BYTES + updateMetadataSizeBytes(metadataBytes) + rest);
  return { ...NOTHING, sizeBytes, growthBytes: sizeBytes + records * metadataBytes };
}

function measure(call: QueuedCall, metadataBytes: number, contentBytes: number): Measure {
  switch (call.op) {
    case 'insert':
      return inserts(
        1,
        perInsertBytes(mayExpire(call), call.keyId !== undefined),
        fieldBytes(call.vector, call.metadata) + Buffer.byteLength(call.text ?? ''),
      );
    case 'insertBatch': {
      let content = call.vectors.length;
      for (let i = 0; i < call.count; i++) content += fieldBytes(call.metadata?.[i], call.texts?.[i]);
      for (const externalId of call.externalIds ?? []) content += Buffer.byteLength(externalId);
      // A replaced record may be under a key.
      const isEncrypted = call.keyIds !== undefined || (call.externalIds !== undefined && contentBytes > 0);
      return {
        ...inserts(call.count, perInsertBytes(mayExpire(call), isEncrypted), content),
        replaceable: call.externalIds === undefined ? 0 : call.count,
      };
    }
    case 'insertEncrypted': {
      const { length } = call.ciphertext;
      const sizeBytes = PER_EVENT_BYTES + insertEncryptedSizeBytes(length) + (mayExpire(call) ? EXPIRY_BYTES : 0);
      return { sizeBytes, records: 1, growthBytes: sizeBytes + length, replaceable: 0 };
    }
    case 'updateMetadata':
      return updates(1, call.metadata.length, contentBytes);
    case 'patchMetadata':
      // Its turn decides what the record has then.
      return updates(1, metadataBytes, contentBytes);
    case 'patchMany': {
      const most = updates(
        'filter' in call.of ? Number.POSITIVE_INFINITY : idsOf(call.of),
        metadataBytes,
        contentBytes,
      );
      return {
        ...NOTHING,
        sizeBytes: Math.min(most.sizeBytes, FRAME_BYTES),
        growthBytes: Math.min(most.growthBytes, 2 * FRAME_BYTES),
      };
    }
    case 'addNode':
    case 'addEdge': {
      const sizeBytes = PER_EVENT_BYTES + fixedSizeBytes(call.op);
      return { ...NOTHING, sizeBytes, growthBytes: sizeBytes };
    }
    case 'shredKey':
      return { ...NOTHING, sizeBytes: PER_EVENT_BYTES + SHRED_KEY.end };
    case 'softDelete':
    case 'delete':
    case 'deleteNode':
    case 'deleteEdge':
    case 'auditReads':
      return { ...NOTHING, sizeBytes: PER_EVENT_BYTES + fixedSizeBytes(call.op) };
    case 'deleteMany':
      return { ...NOTHING, sizeBytes: deletionsBytes(idsOf(call.of)) + END_BYTES };
  }
}
