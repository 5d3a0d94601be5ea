/** The writes that wait for a commit, bounded in number and bytes, and by the time that the oldest of them has waited. */
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
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const WRITES_MAX = 4_096;
/** Two of the largest frames: more would wait for a third commit. */
const BYTES_MAX = 32 * 1024 * 1024;
/** The length before each event in a frame. */
const PER_EVENT_BYTES = 4;

export class WriteQueue {
  #waiting: Waiting[] = [];
  #sizeBytes = 0;

  constructor(
    private readonly clock: Clock,
    private readonly admission: Pick<Admission, 'queueMs' | 'refusal'>,
  ) {}

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /**
   * Resolves or rejects when the write is answered. Throws Overloaded where too much waits already, or for too long: a
   * commit takes all that waits, so that nobody waits longer than for the one under way. `isHeld`: they wait because
   * somebody wants them to.
   */
  add(call: SealedCall, envelope: Envelope, isHeld: boolean): Promise<unknown> {
    const { sizeBytes, records } = measure(call);
    const arrivedMs = this.clock.monotonicMs();
    if (this.#waiting.length >= WRITES_MAX || (this.#sizeBytes > 0 && this.#sizeBytes + sizeBytes > BYTES_MAX))
      throw this.admission.refusal('write_queue');
    const oldest = this.#waiting[0];
    if (oldest !== undefined && !isHeld && arrivedMs - oldest.arrivedMs > this.admission.queueMs)
      throw this.admission.refusal('write_waited');
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, envelope, sizeBytes, records, arrivedMs, resolve, reject });
      this.#sizeBytes += sizeBytes;
    });
  }

  /** The writes that go into the next frame together: the oldest, as many as fit, at least one. */
  take(frameBytes: number): Waiting[] {
    let count = 0;
    let sizeBytes = 0;
    for (const waiting of this.#waiting) {
      if (count > 0 && sizeBytes + waiting.sizeBytes > frameBytes) break;
      sizeBytes += waiting.sizeBytes;
      count++;
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    this.#sizeBytes -= sizeBytes;
    return taken;
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
