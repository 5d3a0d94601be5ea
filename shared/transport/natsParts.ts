/**
 * Long bodies travel over NATS in parts. The receiver confirms each part, and at most two are unconfirmed. So other messages of the
 * connection wait for two parts at most. This holds for the sender, the NATS server and the receiver.
 *
 * ```text
 * part           header `Vouch-Part: <offset> <bytes of the body>`, beside the headers of the request
 * confirmation   header `Vouch-Taken`
 *                of a part of a request: an empty answer
 *                of a part of an answer: a message on the subject of the request; its body is the reply subject of the request
 * ```
 */
import { type Msg, type MsgHdrs, MsgHdrsImpl } from 'nats';
import { longMemory, reuseLong } from '../longMemory.js';
import { endpointOf } from './subjects.js';

/** A longer body is divided. A part takes about half a millisecond of each process. */
export const BODY_PART_BYTES = 256 * 1024;
const UNCONFIRMED_MAX = 2;
/** Longest wait for a confirmation, which may be lost. */
const CONFIRMED_WITHIN_MS = 250;

const PART_HEADER = 'Vouch-Part';
const TAKEN_HEADER = 'Vouch-Taken';

export const CONFIRMATION = MsgHdrsImpl.fromRecord({ [TAKEN_HEADER]: ['1'] });

export const isConfirmation = (headers: MsgHdrs | undefined): boolean => headers?.has(TAKEN_HEADER) ?? false;

/** Whether a body travels in parts. A message to any of several followers does not: its parts would reach different ones. */
export const isDivided = (subject: string, body: Uint8Array): boolean =>
  body.length > BODY_PART_BYTES && endpointOf(subject) !== 'eventual';

export interface PartPlace {
  readonly offset: number;
  readonly bodyBytes: number;
}

/** The place of a message in a body; undefined if the message is whole, or has no place in a body of at most `bytesMax`. */
export function partPlaceOf({ headers }: Msg, bytesMax: number): PartPlace | undefined {
  if (headers === undefined || !headers.has(PART_HEADER)) return undefined;
  const [offset = Number.NaN, bodyBytes = Number.NaN] = headers.get(PART_HEADER).split(' ').map(Number);
  return Number.isSafeInteger(offset) && bodyBytes > 0 && bodyBytes <= bytesMax ? { offset, bodyBytes } : undefined;
}

type Publish = (part: Uint8Array, headers: MsgHdrs) => void;

/** Sends a body in parts. */
export class DividedBody {
  #unconfirmed = 0;
  #unconfirmedMax = UNCONFIRMED_MAX;
  #isCancelled = false;
  #wake: () => void = () => undefined;

  /** `headers`: those of every part; the place is added to them. */
  constructor(
    private readonly body: Uint8Array,
    private readonly headers: MsgHdrs,
    private readonly publish: Publish,
  ) {}

  /** Notes that the receiver has taken one more part. */
  confirm(): void {
    this.#unconfirmed = Math.max(0, this.#unconfirmed - 1);
    this.#wake();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#wake();
  }

  /** Sends the rest without waiting: the receiver can confirm nothing any more. */
  hurry(): void {
    this.#unconfirmedMax = Number.POSITIVE_INFINITY;
    this.#wake();
  }

  /** Sends the first part before it returns. Resolves when all parts are sent, or it is cancelled. Rejects if `publish` throws. */
  async send(): Promise<void> {
    const { body } = this;
    for (let offset = 0; offset < body.length; offset += BODY_PART_BYTES) {
      if (this.#unconfirmed >= this.#unconfirmedMax) await this.#confirmation();
      if (this.#isCancelled) return;
      this.headers.set(PART_HEADER, `${offset} ${body.length}`);
      this.publish(body.subarray(offset, offset + BODY_PART_BYTES), this.headers);
      this.#unconfirmed++;
    }
  }

  #confirmation(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.confirm(), CONFIRMED_WITHIN_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** A body that arrives in parts. */
export class PartialBody {
  readonly #bytes: Buffer;
  #received = 0;

  constructor(bodyBytes: number) {
    this.#bytes = longMemory(bodyBytes);
  }

  get sizeBytes(): number {
    return this.#bytes.length;
  }

  /** Whether the part is the next one. If not, a part was lost, and the body is never whole. */
  isNext(part: Uint8Array, offset: number): boolean {
    return offset === this.#received && offset + part.length <= this.#bytes.length;
  }

  /** Returns the body after its last part. Ignores a part that is not the next one. Frees the memory of the part. */
  add(part: Uint8Array, offset: number): Uint8Array | undefined {
    if (!this.isNext(part, offset)) return undefined;
    this.#bytes.set(part, offset);
    reuseLong(part);
    this.#received += part.length;
    return this.#received === this.#bytes.length ? this.#bytes : undefined;
  }
}

/** Largest number of bytes of all requests that have arrived in part. */
const PARTIAL_BYTES_MAX = 256 * 1024 * 1024;

/** Requests that have arrived in part. Each is dropped at its deadline, or when a part is missing. */
export class PartialRequests {
  readonly #partial = new Map<string, { readonly body: PartialBody; readonly timer: NodeJS.Timeout }>();
  #sizeBytes = 0;

  /** `replies`: reply subjects of the requests in progress, without the dropped ones. */
  constructor(private readonly replies: Set<string>) {}

  /** Whether a further request with a body of this size can arrive in parts. */
  hasRoom(bodyBytes: number): boolean {
    return this.#sizeBytes + bodyBytes <= PARTIAL_BYTES_MAX;
  }

  /** Returns the body after its last part. Begins with the first one, if there is room. `leftMs`: until the deadline. */
  add(reply: string, part: Uint8Array, { offset, bodyBytes }: PartPlace, leftMs: number): Uint8Array | undefined {
    if (offset === 0 && !this.#partial.has(reply) && this.hasRoom(bodyBytes)) {
      const timer = setTimeout(() => this.#drop(reply), leftMs).unref();
      this.#partial.set(reply, { body: new PartialBody(bodyBytes), timer });
      this.#sizeBytes += bodyBytes;
    }
    const partial = this.#partial.get(reply)?.body;
    if (partial === undefined || !partial.isNext(part, offset)) {
      this.#drop(reply);
      return undefined;
    }
    const body = partial.add(part, offset);
    if (body !== undefined) this.#forget(reply);
    return body;
  }

  #drop(reply: string): void {
    this.#forget(reply);
    this.replies.delete(reply);
  }

  #forget(reply: string): void {
    const partial = this.#partial.get(reply);
    if (partial === undefined) return;
    clearTimeout(partial.timer);
    this.#partial.delete(reply);
    this.#sizeBytes -= partial.body.sizeBytes;
  }
}
