/**
 * One request and its answer. Only this and `BodyReader` have the response object, which must not be touched after the answer,
 * nor after the client has gone.
 */

import type { InFlight, Share } from '../limits/inFlight.js';
import type { RateLimitState } from '../limits/limiter.js';
import { clientGone } from './bodyReader.js';
import type { EdgeMetrics } from './edgeMetrics.js';
import type { EngineResponse } from './engine/engine.js';
import { type Header, KEEP_ALIVE, type Reply, statusLine } from './reply.js';

/** From this size on, an answer is sent only when the kernel has taken all of it. */
const STREAMED_BYTES = 64 * 1024;

/** The side that closes the connection after an answer; undefined: it stays open. */
export type Closing = 'we close' | 'client closes' | undefined;

const bufferOf = (body: Reply['body']): Buffer =>
  typeof body === 'string' ? Buffer.from(body, 'utf8') : Buffer.from(body.buffer, body.byteOffset, body.length);

/** Writes everything before the body except who closes the connection. */
export function writeHead(
  res: EngineResponse,
  reply: Reply,
  { requestId, cors }: Pick<ExchangeOptions, 'requestId' | 'cors'>,
  rateLimit?: RateLimitState,
): void {
  res.writeStatus(statusLine(reply.status));
  if (reply.contentType !== null) res.writeHeader('content-type', reply.contentType);
  res.writeHeader('x-request-id', requestId);
  if (rateLimit !== undefined) {
    res.writeHeader('ratelimit-limit', String(rateLimit.limit));
    res.writeHeader('ratelimit-remaining', String(rateLimit.remaining));
    res.writeHeader('ratelimit-reset', String(rateLimit.resetSecs));
  }
  for (const [name, value] of cors) res.writeHeader(name, value);
  let mayBeKept = false;
  for (const [name, value] of reply.headers ?? []) {
    res.writeHeader(name, value);
    mayBeKept ||= name === 'cache-control';
  }
  if (!mayBeKept) res.writeHeader('cache-control', 'no-store');
}

interface ExchangeOptions {
  readonly requestId: string;
  readonly cors: readonly Header[];
  readonly isHead: boolean;
  /** Status 0: the client went away first. */
  readonly onEnd: (status: number) => void;
}

interface ExchangeServices {
  readonly inFlight: Pick<InFlight, 'anonymous' | 'reserve' | 'release'>;
  readonly metrics: Pick<EdgeMetrics, 'refused'>;
}

export class Exchange {
  /** Shown in the answer if the project is limited. */
  rateLimit: RateLimitState | undefined;
  /** The project's share, which counts the memory of an answer that the client reads slowly. */
  share: Share;
  #open = true;
  #heldBytes = 0;
  readonly #onAbort = new Set<() => void>();

  constructor(
    private readonly res: EngineResponse,
    private readonly options: ExchangeOptions,
    private readonly services: ExchangeServices,
  ) {
    this.share = services.inFlight.anonymous;
    res.onAborted(() => {
      for (const listener of this.#onAbort) listener();
      if (this.#open) this.#end(0);
    });
  }

  get requestId(): string {
    return this.options.requestId;
  }

  /** False once it is answered or the client has gone. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** `listener` is called if the client goes away before it has its answer. */
  onAbort(listener: () => void): void {
    this.#onAbort.add(listener);
  }

  /** Settles like `work`, or rejects as soon as the client goes away. */
  whileConnected<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(clientGone());
      if (!this.#open) leave();
      this.#onAbort.add(leave);
      void work.then(resolve, reject).finally(() => this.#onAbort.delete(leave));
    });
  }

  /** The client's address, 4 or 16 bytes. Only while the request handler runs. */
  clientAddress(): ArrayBuffer {
    return this.res.getRemoteAddress();
  }

  /**
   * Sends the answer; may be called once. Does nothing if the client has gone. Closes the connection if the client is slow and
   * the memory of its project does not suffice for the rest.
   */
  send(reply: Reply, closing?: Closing): void {
    if (!this.#open) return;
    let isCut = false;
    // A client that waits for `100 Continue` may next send its body or another request: the two cannot be distinguished.
    const isWaiting = this.res.writeContinue !== undefined;
    const close = closing === 'we close' || isWaiting;
    this.res.cork(() => {
      writeHead(this.res, reply, this.options, this.rateLimit);
      if (closing === undefined && !isWaiting) this.res.writeHeader('keep-alive', KEEP_ALIVE);
      if (closing === 'client closes' && !isWaiting) this.res.writeHeader('connection', 'close');
      const { status, contentType, body } = reply;
      if (contentType === null || this.options.isHead)
        this.#endWithoutBody(contentType === null ? undefined : body, close);
      else if (body.length >= STREAMED_BYTES) {
        isCut = !this.#stream(bufferOf(body), status, close);
        return;
      } else this.res.end(body, close);
      this.#end(status);
    });
    if (!isCut) return;
    this.services.metrics.refused('answer_bytes');
    this.res.close();
  }

  /** `unsent`: the body whose length an answer to HEAD states. */
  #endWithoutBody(unsent: Reply['body'] | undefined, close: boolean): void {
    const { res } = this;
    if (close) res.writeHeader('connection', 'close');
    if (unsent !== undefined) res.writeHeader('content-length', String(Buffer.byteLength(unsent)));
    // With a length argument, even an undefined one, uWebSockets.js would keep waiting for the body.
    res.endWithoutBody();
  }

  /** Writes as much as the connection takes, and the rest when it takes more. False without memory for the rest. */
  #stream(body: Buffer, status: number, close: boolean): boolean {
    const { res } = this;
    if (close) res.writeHeader('connection', 'close');
    const begin = res.getWriteOffset();
    const [sent, done] = res.tryEnd(body, body.length);
    if (sent || done) {
      this.#end(status);
      return true;
    }
    if (!this.services.inFlight.reserve(this.share, body.length)) return false;
    this.#heldBytes = body.length;
    res.onWritable((offset) => {
      const [rest, ended] = res.tryEnd(body.subarray(offset - begin), body.length);
      if (rest || ended) this.#end(status);
      return rest;
    });
    return true;
  }

  #end(status: number): void {
    this.#open = false;
    if (this.#heldBytes > 0) this.services.inFlight.release(this.share, this.#heldBytes);
    this.options.onEnd(status);
  }
}
