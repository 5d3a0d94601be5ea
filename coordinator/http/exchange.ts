/**
 * One request and its answer. Besides `BodyReader` the only holder of the response object, which must not be touched
 * after the answer, nor after the client has gone.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import type { Standing } from '../limits/limiter.js';
import type { Reply } from './reply.js';

/** From this size on an answer counts as sent only when the kernel has taken all of it. */
const STREAMED_BYTES = 64 * 1024;

/** `status` 0: the client went away first. */
export type OnEnd = (status: number) => void;

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([status, text]) => [Number(status), `${status} ${text}`]),
);

const bufferOf = (body: Reply['body']): Buffer =>
  typeof body === 'string' ? Buffer.from(body, 'utf8') : Buffer.from(body.buffer, body.byteOffset, body.length);

export class Exchange {
  /** Set where the project is limited: shown in the answer, whatever it is. */
  standing: Standing | undefined;
  #open = true;
  #onAbort: (() => void) | undefined;

  constructor(
    private readonly res: HttpResponse,
    readonly requestId: string,
    private readonly isHead: boolean,
    private readonly onEnd: OnEnd,
  ) {
    res.onAborted(() => {
      this.#onAbort?.();
      if (this.#open) this.#end(0);
    });
  }

  /** Neither answered nor given up by the client. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Called when the client goes away before it has its answer. */
  onAbort(listener: () => void): void {
    this.#onAbort = listener;
  }

  /** The client's address, 4 or 16 bytes. Only while the request handler runs. */
  clientAddress(): ArrayBuffer {
    return this.res.getRemoteAddress();
  }

  /** Once. Does nothing where the client has gone. `close`: the connection ends with this answer. */
  send(reply: Reply, close: boolean): void {
    if (!this.#open) return;
    this.res.cork(() => {
      this.#writeHead(reply);
      const { status, contentType, body } = reply;
      if (contentType === null || this.isHead) this.#endWithoutBody(contentType === null ? undefined : body, close);
      else if (body.length >= STREAMED_BYTES) return this.#stream(bufferOf(body), status, close);
      else this.res.end(body, close);
      this.#end(status);
    });
  }

  #writeHead({ status, contentType, headers }: Reply): void {
    const { res, standing } = this;
    res.writeStatus(STATUS_LINES.get(status) ?? String(status));
    if (contentType !== null) res.writeHeader('content-type', contentType);
    res.writeHeader('x-request-id', this.requestId);
    if (standing !== undefined) {
      res.writeHeader('ratelimit-limit', String(standing.limit));
      res.writeHeader('ratelimit-remaining', String(standing.remaining));
      res.writeHeader('ratelimit-reset', String(standing.resetSecs));
    }
    for (const [name, value] of headers ?? []) res.writeHeader(name, value);
  }

  /** `unsent`: the body that an answer to HEAD tells the length of. */
  #endWithoutBody(unsent: Reply['body'] | undefined, close: boolean): void {
    const { res } = this;
    if (close) res.writeHeader('connection', 'close');
    if (unsent !== undefined) res.writeHeader('content-length', String(Buffer.byteLength(unsent)));
    // With a length of its own, or an undefined one, uWebSockets.js would go on waiting for the body.
    res.endWithoutBody();
  }

  /** Hands over as much as the connection takes, and the rest whenever it takes more. */
  #stream(body: Buffer, status: number, close: boolean): void {
    const { res } = this;
    if (close) res.writeHeader('connection', 'close');
    const begin = res.getWriteOffset();
    const [sent, done] = res.tryEnd(body, body.length);
    if (sent || done) {
      this.#end(status);
      return;
    }
    res.onWritable((offset) => {
      const [rest, ended] = res.tryEnd(body.subarray(offset - begin), body.length);
      if (rest || ended) this.#end(status);
      return rest;
    });
  }

  #end(status: number): void {
    this.#open = false;
    this.onEnd(status);
  }
}
