/**
 * The writes that wait for a commit, bounded in number and bytes, and by the time that they wait. A commit takes all that
 * waits, up to a size from which on more would only make it longer: so that what is small is not kept by much that is
 * large, and what would have to wait too long is refused when it comes.
 */
import type { Clock } from '../../shared/clock.js';
import {
  DELETION_SIZE_BYTES,
  EDGE,
  insertEncryptedSizeBytes,
  insertSizeBytes,
  NODE,
  SHRED_KEY,
  updateMetadataSizeBytes,
} from '../../shared/log/eventLayout.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { WaitBound } from '../../shared/waitBound.js';
import type { Admission } from '../admission.js';
import type { SealedCall } from '../encrypted/sealedCall.js';

export interface Waiting {
  readonly call: SealedCall;
  readonly envelope: Envelope;
  /** What its events take in a frame, at most. */
  readonly sizeBytes: number;
  /** Records it adds, at most. */
  readonly records: number;
  readonly arrivedMs: number;
  /** Bytes to be committed before it; undefined where its wait says nothing of how long that takes. */
  readonly aheadBytes: number | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const WRITES_MAX = 4_096;
/** Two of the largest frames: more would wait for a third commit. */
const BYTES_MAX = 32 * 1024 * 1024;
/** Of a commit of several writes: some 50 ms of work, beside which the way to the log and back is little. */
const GROUPED_BYTES = 2 * 1024 * 1024;
/** So many may wait for one another however long they take: a client that loads in parallel is no crowd. */
const FEW = 8;
/** The length before each event in a frame. */
const PER_EVENT_BYTES = 4;

export class WriteQueue {
  #waiting: Waiting[] = [];
  #sizeBytes = 0;
  /** Of the commit that is under way. */
  #takenBytes = 0;
  /** Some write has waited ever since. */
  #sinceMs = 0;
  readonly #bound: WaitBound;

  constructor(
    private readonly clock: Clock,
    private readonly admission: Pick<Admission, 'queueMs' | 'refusal'>,
  ) {
    this.#bound = new WaitBound(admission.queueMs);
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /**
   * Resolves or rejects when the write is answered. Throws Overloaded where too much waits already, or it would have to
   * wait too long. `isHeld`: they wait because somebody wants them to.
   */
  add(call: SealedCall, envelope: Envelope, isHeld: boolean): Promise<unknown> {
    const { sizeBytes, records } = measure(call);
    const arrivedMs = this.clock.monotonicMs();
    if (this.#waiting.length >= WRITES_MAX || (this.#sizeBytes > 0 && this.#sizeBytes + sizeBytes > BYTES_MAX))
      throw this.admission.refusal('write_queue');
    if (this.isEmpty) this.#sinceMs = arrivedMs;
    else if (!isHeld && this.#isSlow(arrivedMs)) throw this.admission.refusal('write_waited');
    const aheadBytes = isHeld ? undefined : this.#sizeBytes + this.#takenBytes;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, envelope, sizeBytes, records, arrivedMs, aheadBytes, resolve, reject });
      this.#sizeBytes += sizeBytes;
    });
  }

  /** The writes that go into the next frame together: the oldest, as many as fit, at least one. */
  take(frameBytes: number): Waiting[] {
    const groupBytes = Math.min(frameBytes, GROUPED_BYTES);
    const nowMs = this.clock.monotonicMs();
    let count = 0;
    let sizeBytes = 0;
    for (const waiting of this.#waiting) {
      if (count > 0 && sizeBytes + waiting.sizeBytes > groupBytes) break;
      sizeBytes += waiting.sizeBytes;
      count++;
      if (waiting.aheadBytes !== undefined) this.#bound.through(waiting.aheadBytes, nowMs - waiting.arrivedMs);
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    this.#sizeBytes -= sizeBytes;
    this.#takenBytes = sizeBytes;
    return taken;
  }

  /** What was taken last is in the log, or will never be. */
  committed(): void {
    this.#takenBytes = 0;
  }

  /** Of a queue in which something waits: for too long already, or whoever comes now would. */
  #isSlow(nowMs: number): boolean {
    const oldest = this.#waiting[0] as Waiting;
    if (nowMs - oldest.arrivedMs > this.admission.queueMs) return true;
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

const insertBytes = (
  vector: number,
  metadata: Uint8Array | null | undefined,
  text: string | null | undefined,
): number =>
  PER_EVENT_BYTES + insertSizeBytes(vector, metadata?.length ?? 0, text == null ? 0 : Buffer.byteLength(text));

function measure(call: SealedCall): { sizeBytes: number; records: number } {
  switch (call.op) {
    case 'insert':
      return { sizeBytes: insertBytes(call.vector.length, call.metadata, call.text), records: 1 };
    case 'insertBatch': {
      const vectorBytes = call.count === 0 ? 0 : call.vectors.length / call.count;
      let sizeBytes = 0;
      for (let i = 0; i < call.count; i++) sizeBytes += insertBytes(vectorBytes, call.metadata?.[i], call.texts?.[i]);
      return { sizeBytes, records: call.count };
    }
    case 'insertEncrypted':
      return { sizeBytes: PER_EVENT_BYTES + insertEncryptedSizeBytes(call.ciphertext.length), records: 1 };
    case 'shredKey':
      return { sizeBytes: PER_EVENT_BYTES + SHRED_KEY.end, records: 0 };
    case 'softDelete':
    case 'delete':
    case 'deleteNode':
    case 'deleteEdge':
      return { sizeBytes: PER_EVENT_BYTES + DELETION_SIZE_BYTES, records: 0 };
    case 'updateMetadata':
      return { sizeBytes: PER_EVENT_BYTES + updateMetadataSizeBytes(call.metadata.length), records: 0 };
    case 'addNode':
      return { sizeBytes: PER_EVENT_BYTES + NODE.end, records: 0 };
    case 'addEdge':
      return { sizeBytes: PER_EVENT_BYTES + EDGE.end, records: 0 };
  }
}
