/**
 * One request and its answer. Besides `BodyReader` the only holder of the response object, which must not be touched
 * after the answer, nor after the client has gone.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { InFlight, Share } from '../limits/inFlight.js';
import type { Standing } from '../limits/limiter.js';
import type { Reply } from './reply.js';
import { statusLine } from './statusLine.js';

/** From this size on an answer counts as sent only when the kernel has taken all of it. */
const STREAMED_BYTES = 64 * 1024;

export interface ExchangeParts {
  readonly requestId: string;
  readonly isHead: boolean;
  readonly inFlight: Pick<InFlight, 'nobody' | 'reserve' | 'release'>;
  /** `status` 0: the client went away first. */
  readonly onEnd: (status: number) => void;
  /** The client is too slow for the room there is: its connection is closed. */
  readonly onCut: () => void;
}

const bufferOf = (body: Reply['body']): Buffer =>
  typeof body === 'string' ? Buffer.from(body, 'utf8') : Buffer.from(body.buffer, body.byteOffset, body.length);

export class Exchange {
  /** Set where the project is limited: shown in the answer, whatever it is. */
  standing: Standing | undefined;
  /** Whose room an answer takes that the client is slow to read. */
  share: Share;
  #open = true;
  #heldBytes = 0;
  #onAbort: (() => void) | undefined;

  constructor(
    private readonly res: HttpResponse,
    private readonly parts: ExchangeParts,
  ) {
    this.share = parts.inFlight.nobody;
    res.onAborted(() => {
      this.#onAbort?.();
      if (this.#open) this.#end(0);
    });
  }

  get requestId(): string {
    return this.parts.requestId;
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

  /** Once. Does nothing where the client has gone. `last`: who closes the connection after this answer, if anybody. */
  send(reply: Reply, last?: 'we close' | 'client closes'): void {
    if (!this.#open) return;
    let isCut = false;
    const close = last === 'we close';
    this.res.cork(() => {
      this.#writeHead(reply);
      if (last === 'client closes') this.res.writeHeader('connection', 'close');
      const { status, contentType, body } = reply;
      if (contentType === null || this.parts.isHead)
        this.#endWithoutBody(contentType === null ? undefined : body, close);
      else if (body.length >= STREAMED_BYTES) {
        isCut = !this.#stream(bufferOf(body), status, close);
        return;
      } else this.res.end(body, close);
      this.#end(status);
    });
    if (!isCut) return;
    this.parts.onCut();
    this.res.close();
  }

  #writeHead({ status, contentType, headers }: Reply): void {
    const { res, standing } = this;
    res.writeStatus(statusLine(status));
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

  /** Hands over as much as the connection takes, and the rest whenever it takes more. False: there is no room for that. */
  #stream(body: Buffer, status: number, close: boolean): boolean {
    const { res } = this;
    if (close) res.writeHeader('connection', 'close');
    const begin = res.getWriteOffset();
    const [sent, done] = res.tryEnd(body, body.length);
    if (sent || done) {
      this.#end(status);
      return true;
    }
    if (!this.parts.inFlight.reserve(this.share, body.length)) return false;
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
    if (this.#heldBytes > 0) this.parts.inFlight.release(this.share, this.#heldBytes);
    this.parts.onEnd(status);
  }
}
