/**
 * Reads the body of a request.
 *
 * ```text
 * waiting ──read()──▶ reading ──last chunk──▶ whole
 *  │                     └── too long, no capacity, stalled, aborted ──▶ failed
 *  └──drop(): not needed; the rest is dropped on arrival, up to a bound
 * ```
 *
 * The reader listens from the start. A listener that is added after the request handler has returned gets no body from
 * uWebSockets.js. Until the request is admitted the reader keeps at most one chunk and lets the client wait.
 */

import { refusal, unavailable, type VouchError } from '../../shared/errors/errors.js';
import { overloaded } from '../../shared/errors/overloaded.js';
import { type BodyMemory, bodyMemory, clearedMemory, reuseMemory } from '../body/bodyMemory.js';
import { invalid } from '../contract/refusal.js';
import type { InFlight, Share } from '../limits/inFlight.js';
import type { EngineResponse } from './engine/engine.js';

type Phase = 'waiting' | 'reading' | 'done';

/** Shared by all bodies of a server. */
export interface BodyServices {
  readonly bodyBytesMax: number;
  readonly inFlight: InFlight;
  readonly watch: BodyWatch;
}

/** Checks without a chunk before the body has stalled. uWebSockets.js closes a silent connection after 8 s or more, without an answer. */
const SILENT_CHECKS = 5;
const CHECK_MS = 1_000;
/**
 * Bound on the dropped rest of a refused body: this many times the allowed bytes, and DROP_CHECKS once it exceeds the allowed
 * bytes. So clients that read only after sending, such as Python's `http.client`, get their answer. A longer body is not read.
 */
const DROPPED_BODIES = 8;
const DROP_CHECKS = 30;
/** Chunks that a body may have beside one for each LEAST_CHUNK_BYTES: uWebSockets.js reads all available ones in one turn. */
const SMALL_CHUNKS = 16_384;
const LEAST_CHUNK_BYTES = 512;
/** Largest number of small chunks of all bodies in one turn of the event loop: some 20 ms. */
const SMALL_CHUNKS_A_TURN = 65_536;
/** Memory for a longer body is cleared before it is read: uWebSockets.js may deliver all of the body in one turn. */
const CLEARED_FROM_BYTES = 1 << 20;

const NO_BYTES: BodyMemory = Buffer.from(new ArrayBuffer(0));

const nothing = (): void => {};

export const clientGone = (): VouchError => unavailable('the client went away');

export class BodyReader {
  #phase: Phase = 'waiting';
  #paused = false;
  #whole = false;
  #gone = false;
  /** The body, filled from the front. It grows if the length is unknown: a client may send one byte a chunk. */
  #target = NO_BYTES;
  #received = 0;
  #reserved = 0;
  #share: Share | undefined;
  #chunks = 0;
  #isCut = false;
  #silentChecks = 0;
  #dropChecks = 0;
  #onDropped: (() => void) | undefined;
  #resolve: (body: BodyMemory) => void = nothing;
  #reject: (error: Error) => void = nothing;

  /** `declaredBytes`: undefined for a chunked body. */
  constructor(
    private readonly res: EngineResponse,
    private readonly declaredBytes: number | undefined,
    private readonly shared: BodyServices,
  ) {
    res.onData((chunk, isLast) => this.#take(chunk, isLast));
  }

  get receivedBytes(): number {
    return this.#received;
  }

  /**
   * True if the rest is too long to be dropped: it is not read, and the connection is not reused. The client closes it, so that
   * it sees the answer; an idle connection is closed in the end.
   */
  get isTooMuch(): boolean {
    const isLate = this.#dropChecks >= DROP_CHECKS;
    return !this.#whole && (isLate || this.#sizeBytes > DROPPED_BODIES * this.shared.bodyBytesMax);
  }

  /** The declared length, or the bytes received until now. */
  get #sizeBytes(): number {
    return this.declaredBytes ?? this.#received;
  }

  /** True if reading was cancelled before the body's end: the connection is closed at once. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Called once a second while the body is unfinished. After SILENT_CHECKS calls without a chunk it has stalled. */
  check(): void {
    if (this.#phase === 'done' && this.#sizeBytes > this.shared.bodyBytesMax && ++this.#dropChecks >= DROP_CHECKS) {
      this.#endDropping();
      return;
    }
    this.#silentChecks += 1;
    if (this.#silentChecks < SILENT_CHECKS) return;
    this.#cut(invalid(`the body stopped before its end: nothing came for ${SILENT_CHECKS} s`));
  }

  #cut(error: VouchError): void {
    this.#isCut = true;
    this.#fail(error);
    this.#onDropped?.();
  }

  /** May be called once. Throws `payload_too_large`, `validation_error` for a stall, Overloaded, `unavailable` if the client leaves. */
  read(share: Share): Promise<BodyMemory> {
    if (this.#phase === 'done') throw clientGone();
    this.#share = share;
    // The whole body if its length is known, else the bytes that came early.
    const { declaredBytes = this.#target.length } = this;
    if (declaredBytes > this.shared.bodyBytesMax) throw this.#tooLarge();
    this.#reserve(declaredBytes);
    if (declaredBytes > CLEARED_FROM_BYTES) return this.#resizeToCleared(declaredBytes).then(() => this.#read());
    this.#resize(declaredBytes);
    return this.#read();
  }

  #read(): Promise<BodyMemory> {
    this.#phase = 'reading';
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (this.#whole) this.#finish();
      else {
        this.shared.watch.add(this);
        this.res.writeContinue?.();
        this.#resume();
      }
    });
  }

  /**
   * Releases the body's memory. Resolves when the rest is dropped, is too long or has stalled; undefined if nothing is left. The
   * answer must wait for that: uWebSockets.js restarts the idle time-out only at the end of the body. After an earlier answer
   * the connection would never be closed.
   */
  drop(): Promise<void> | undefined {
    this.#end();
    this.#target = NO_BYTES;
    if (this.#share !== undefined) this.shared.inFlight.release(this.#share, this.#reserved);
    this.#reserved = 0;
    if (this.isTooMuch || this.#isUnasked) this.#pause();
    else this.#resume();
    if (this.#isDropped) return undefined;
    this.shared.watch.add(this);
    return new Promise((resolve) => {
      this.#onDropped = resolve;
    });
  }

  /** The connection is gone: the response may not be touched any more. */
  abort(): void {
    this.#gone = true;
    this.#paused = false;
    this.#fail(clientGone());
    this.#onDropped?.();
  }

  /** Whether the client waits for `100 Continue`, and has sent nothing of the body. */
  get #isUnasked(): boolean {
    return this.res.writeContinue !== undefined;
  }

  get #isDropped(): boolean {
    // The listener receives the part that came with the head right after the request handler.
    return this.#whole || this.#gone || this.#isCut || this.#isUnasked || (this.#chunks > 0 && this.isTooMuch);
  }

  /** Throws `unavailable` if the client leaves meanwhile. */
  async #resizeToCleared(sizeBytes: number): Promise<void> {
    const memory = await clearedMemory(sizeBytes);
    if (this.#phase === 'done') {
      reuseMemory(memory);
      throw clientGone();
    }
    this.#moveTo(memory);
  }

  /** Does nothing if the memory is large enough. */
  #resize(sizeBytes: number): void {
    if (sizeBytes > this.#target.length) this.#moveTo(bodyMemory(sizeBytes));
  }

  #moveTo(memory: BodyMemory): void {
    memory.set(this.#target.subarray(0, this.#received));
    reuseMemory(this.#target);
    this.#target = memory;
  }

  #take(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#isCut) return;
    this.#chunks += 1;
    this.#whole = isLast;
    this.#silentChecks = 0;
    if (chunk.byteLength > 0 && this.#isUnasked) this.res.writeContinue = undefined;
    if (this.declaredBytes === undefined && chunk.byteLength < LEAST_CHUNK_BYTES) {
      const reason = this.#smallChunkRefusal();
      if (reason !== undefined) {
        this.#cut(reason);
        return;
      }
    }
    if (this.#phase === 'done') {
      this.#dropChunk(chunk.byteLength);
      return;
    }
    try {
      this.#append(new Uint8Array(chunk));
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    if (this.#phase === 'waiting') this.#pause();
    else if (isLast) this.#finish();
  }

  #smallChunkRefusal(): VouchError | undefined {
    if (this.#chunks > SMALL_CHUNKS + this.#received / LEAST_CHUNK_BYTES)
      return invalid(`the body comes in too many small chunks: send ${LEAST_CHUNK_BYTES} bytes or more in each`);
    return this.shared.watch.admitsSmallChunk()
      ? undefined
      : unavailable('too many bodies come in small chunks; retry shortly');
  }

  #dropChunk(sizeBytes: number): void {
    this.#received += sizeBytes;
    if (this.#isDropped) this.#endDropping();
  }

  #endDropping(): void {
    if (this.isTooMuch) this.#pause();
    this.shared.watch.delete(this);
    this.#onDropped?.();
  }

  #append(bytes: Uint8Array): void {
    const at = this.#received;
    this.#received += bytes.length;
    if (this.#received > this.#target.length) this.#grow();
    // The memory of the chunk belongs to uWebSockets.js.
    this.#target.set(bytes, at);
  }

  /** Doubles the memory: on the average each byte is copied at most twice. */
  #grow(): void {
    if (this.declaredBytes === undefined && this.#received > this.shared.bodyBytesMax) throw this.#tooLarge();
    const sizeBytes = Math.max(this.#received, Math.min(2 * this.#target.length, this.shared.bodyBytesMax));
    // A body of known length is reserved whole, also while its memory is cleared.
    this.#reserve(Math.max(0, sizeBytes - this.#reserved));
    this.#resize(sizeBytes);
  }

  #end(): void {
    this.#phase = 'done';
    this.shared.watch.delete(this);
  }

  #finish(): void {
    this.#end();
    this.#resolve(this.#target.subarray(0, this.#received));
  }

  #fail(error: Error): void {
    this.#end();
    this.#reject(error);
  }

  #reserve(sizeBytes: number): void {
    // Bytes that arrive before the handler reads the body are counted when it does.
    if (this.#share === undefined) return;
    if (!this.shared.inFlight.reserve(this.#share, sizeBytes)) throw overloaded('body_bytes');
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
    return refusal('payload_too_large', 'body', { max: this.shared.bodyBytesMax });
  }
}

/**
 * Checks unfinished bodies once a second. It counts checks, not time: an event loop that was blocked for seconds has made only
 * one check. It reads the chunks that have arrived before it makes the next.
 */
export class BodyWatch {
  readonly #unfinished = new Set<BodyReader>();
  #timer: NodeJS.Timeout | undefined;
  /** Small chunks of this turn of the event loop. */
  #smallChunks = 0;

  /** Called with each small chunk. False if this turn has had too many. */
  admitsSmallChunk(): boolean {
    if (this.#smallChunks++ === 0)
      setImmediate(() => {
        this.#smallChunks = 0;
      });
    return this.#smallChunks <= SMALL_CHUNKS_A_TURN;
  }

  add(body: BodyReader): void {
    this.#unfinished.add(body);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
  }

  delete(body: BodyReader): void {
    this.#unfinished.delete(body);
  }

  #check(): void {
    for (const body of this.#unfinished) body.check();
    if (this.#unfinished.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
