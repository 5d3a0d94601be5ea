/**
 * A request's body, collected whole.
 *
 *   held ──read()──▶ reading ──last chunk──▶ whole
 *    │                  └── too long, no room, aborted ──▶ failed
 *    └──drop(): answered without it; what still comes is passed over
 *
 * uWebSockets.js gives the body only to a listener that is there when the request handler returns, so the reader
 * listens from the start; until the request is admitted it keeps at most one chunk and lets the client wait.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { unavailable, VouchError } from '../../shared/errors.js';
import { overloaded } from '../../shared/overloaded.js';
import type { InFlight, Share } from '../limits/inFlight.js';

type Phase = 'held' | 'reading' | 'done';

const clientGone = (): VouchError => unavailable('the client went away');

export class BodyReader {
  #phase: Phase = 'held';
  #paused = false;
  #whole = false;
  #gone = false;
  /** Where the length is known: all of the body, filled from the front. */
  #target: Buffer | undefined;
  #chunks: Buffer[] = [];
  #received = 0;
  #reserved = 0;
  #share: Share | undefined;
  #resolve: (body: Buffer) => void = () => {};
  #reject: (error: Error) => void = () => {};

  /** `declaredBytes`: undefined for a chunked body. */
  constructor(
    private readonly res: HttpResponse,
    private readonly declaredBytes: number | undefined,
    private readonly bodyBytesMax: number,
    private readonly inFlight: InFlight,
  ) {
    res.onData((chunk, isLast) => this.#take(chunk, isLast));
  }

  get receivedBytes(): number {
    return this.#received;
  }

  /**
   * More may come than one would pass over: it is not read any more, and the connection is not used again. The client is
   * left to close it, as it would not see the answer else; what is idle is closed in the end. What is left of a body of
   * an allowed length is passed over.
   */
  get isTooMuch(): boolean {
    return !this.#whole && (this.declaredBytes === undefined || this.declaredBytes > this.bodyBytesMax);
  }

  /** Once. Throws `payload_too_large`, Overloaded where there is no room, and `unavailable` where the client goes away. */
  async read(share: Share): Promise<Buffer> {
    if (this.#phase === 'done') throw clientGone();
    this.#share = share;
    this.#makeRoom();
    this.#phase = 'reading';
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (this.#whole) this.#finish();
      else this.#resume();
    });
  }

  /** Gives back what the body held. After this, and before the answer, nothing more of it is kept. */
  drop(): void {
    this.#phase = 'done';
    this.#target = undefined;
    this.#chunks = [];
    if (this.#share !== undefined) this.inFlight.release(this.#share, this.#reserved);
    this.#reserved = 0;
    if (this.isTooMuch) this.#pause();
    else this.#resume();
  }

  /** The connection is gone: the response may not be touched any more. */
  abort(): void {
    this.#gone = true;
    this.#paused = false;
    this.#fail(clientGone());
  }

  #makeRoom(): void {
    if (this.declaredBytes === undefined) return;
    if (this.declaredBytes > this.bodyBytesMax) throw this.#tooLarge();
    this.#reserve(this.declaredBytes);
    const early = this.#chunks;
    if (early.length === 1 && this.#whole) return;
    this.#target = Buffer.allocUnsafe(this.declaredBytes);
    this.#chunks = [];
    this.#received = 0;
    for (const chunk of early) this.#append(chunk);
  }

  #take(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#phase === 'done') return;
    this.#whole = isLast;
    try {
      this.#append(new Uint8Array(chunk));
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    if (this.#phase === 'held') this.#pause();
    else if (isLast) this.#finish();
  }

  #append(bytes: Uint8Array): void {
    const at = this.#received;
    this.#received += bytes.length;
    if (this.#target !== undefined) {
      this.#target.set(bytes, at);
      return;
    }
    if (this.declaredBytes === undefined) {
      if (this.#received > this.bodyBytesMax) throw this.#tooLarge();
      this.#reserve(bytes.length);
    }
    // The chunk's memory is uWebSockets.js's own.
    if (bytes.length > 0) this.#chunks.push(Buffer.from(bytes));
  }

  #finish(): void {
    this.#phase = 'done';
    const [first] = this.#chunks;
    this.#resolve(this.#target ?? (this.#chunks.length === 1 ? first! : Buffer.concat(this.#chunks)));
  }

  #fail(error: Error): void {
    this.#phase = 'done';
    this.#reject(error);
  }

  #reserve(sizeBytes: number): void {
    // What comes before the body is read is one chunk at most.
    if (this.#share === undefined) return;
    if (!this.inFlight.reserve(this.#share, sizeBytes)) throw overloaded('body_bytes');
    this.#reserved += sizeBytes;
  }

  #pause(): void {
    if (this.#whole || this.#paused || this.#gone) return;
    this.#paused = true;
    this.res.pause();
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.res.resume();
  }

  #tooLarge(): VouchError {
    return new VouchError('payload_too_large', `the body is larger than the ${this.bodyBytesMax} bytes allowed`);
  }
}
