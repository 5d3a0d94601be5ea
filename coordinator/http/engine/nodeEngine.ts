/**
 * HTTP by Node itself, where uWebSockets.js has no binary. Its objects behave like those of uWebSockets.js wherever the server
 * depends on it.
 */
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { addressBytes } from './addressBytes.js';
import {
  type Address,
  type EngineRequest,
  type EngineResponse,
  HEAD_BYTES_MAX,
  type HttpEngine,
  type Listening,
  type TakeRequest,
} from './engine.js';
import { listenError } from './listenError.js';

const HEAD_MS = 10_000;
/** Longer than `KEEP_ALIVE` announces, so that no client sends into a connection that is being closed. */
const IDLE_MS = 9_000;
const CHECK_MS = 1_000;
/** Time for which a connection still reads after its last answer. */
const LINGER_MS = 2_000;
/** A body must bring so much within IDLE_MS, as with uWebSockets.js. */
const PROGRESS_BYTES = 16 * 1024;
/** Piece of a large answer: small enough to see whether the client still reads. */
const PIECE_BYTES = 64 * 1024;

const TLS = { minVersion: 'TLSv1.2' } as const;
const SETTINGS: ServerOptions = {
  maxHeaderSize: HEAD_BYTES_MAX,
  headersTimeout: HEAD_MS,
  // The server itself checks that bodies make progress.
  requestTimeout: 0,
  keepAliveTimeout: IDLE_MS,
  connectionsCheckingInterval: CHECK_MS,
  // The request handler refuses such a request: Node would send an answer without a body.
  requireHostHeader: false,
};

export const nodeEngine: HttpEngine = {
  name: 'node:http',
  listen: async (take, address, tls) => {
    const server =
      tls === undefined ? createServer(SETTINGS) : createTlsServer({ ...SETTINGS, ...TLS, ...tls.current });
    // Without a listener of `checkContinue` and `checkExpectation` Node would answer such requests itself.
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      server.on(event, (req: IncomingMessage, res: ServerResponse) => serve(take, req, res));
    server.on('clientError', (error, socket) => answerUnread(error, socket as Socket));
    server.on('connect', (_, socket) => answerUnread(new Error(), socket as Socket, CONNECT));
    // Node would drop the headers behind the 2,000th without a word. The size of the head bounds their number.
    server.maxHeadersCount = 0;
    server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      const closeNow = socket.destroySoon.bind(socket);
      socket.destroySoon = () => (answeredLast.has(socket) ? closeNow() : lingerThenClose(socket));
    });
    await listenOn(server, address);
    tls?.onRenewed(() => (server as TlsServer).setSecureContext({ ...TLS, ...tls.current }));
    return listening(server);
  },
  awaitContinue: (res) => (res as NodeResponse).awaitContinue(),
};

async function listenOn(server: Server, { host, port, sharePort = false }: Address): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(host, port, error)));
    // Versions of Node that cannot share a port ignore the option, and the second process fails: the port is in use.
    server.listen({ host, port, exclusive: true, reusePort: sharePort } as Parameters<Server['listen']>[0], resolve);
  });
  server.removeAllListeners('error');
}

const listening = (server: Server): Listening => ({
  port: (server.address() as AddressInfo).port,
  stopListening: () => {
    server.close();
    server.closeIdleConnections();
  },
  close: () => server.closeAllConnections(),
});

/** Connections after their last answer: nothing further may be read as a request. */
const answeredLast = new WeakSet<Socket>();

/** The newest request of a connection. */
const newest = new WeakMap<
  Socket,
  { readonly req: IncomingMessage; readonly res: ServerResponse; readonly isLast: boolean }
>();

/** Serves HTTP/1.1, and HTTP/1.0 for proxies and their health checks. */
function serve(take: TakeRequest, req: IncomingMessage, res: ServerResponse): void {
  const { socket, httpVersion } = req;
  if (answeredLast.has(socket) || newest.get(socket)?.isLast) return;
  const isChunked = req.headers['transfer-encoding'] !== undefined;
  const isOld = httpVersion === '1.0';
  if (!isOld && httpVersion !== '1.1') {
    answerUnread(new Error(), socket, OTHER_VERSION);
    return;
  }
  if (isOld && isChunked) {
    answerUnread(new Error(), socket, ['400 Bad Request', 'HTTP/1.0 has no Transfer-Encoding']);
    return;
  }
  if (!isOld && req.headers.host === undefined) {
    answerUnread(new Error(), socket, ['400 Bad Request', 'the header Host is missing']);
    return;
  }
  newest.set(socket, { req, res, isLast: isOld || isChunked });
  const response = new NodeResponse(req, res);
  take(response, new NodeRequest(req));
  response.handlerReturned();
}

class NodeRequest implements EngineRequest {
  readonly #url: string;
  readonly #queryAt: number;

  constructor(private readonly req: IncomingMessage) {
    // The target may be a whole URL, from a proxy.
    this.#url = (req.url ?? '/').replace(/^https?:\/\/[^/?]*/i, '');
    this.#queryAt = this.#url.indexOf('?');
  }

  getCaseSensitiveMethod(): string {
    return this.req.method ?? '';
  }

  getUrl(): string {
    return this.#queryAt < 0 ? this.#url : this.#url.slice(0, this.#queryAt);
  }

  getQuery(): string | undefined {
    return this.#queryAt < 0 ? undefined : this.#url.slice(this.#queryAt + 1);
  }

  forEach(visit: (name: string, value: string) => void): void {
    const { rawHeaders, httpVersion } = this.req;
    // Visit this header first, since the first of repeated headers counts.
    if (httpVersion === '1.0') visit('connection', 'close');
    for (let i = 0; i < rawHeaders.length; i += 2) visit(rawHeaders[i]!.toLowerCase(), rawHeaders[i + 1]!);
  }
}

class NodeResponse implements EngineResponse {
  writeContinue: (() => void) | undefined;
  #status = '200 OK';
  /** Names and values in turn. */
  readonly #headers: string[] = [];
  /** Bytes sent so far of an answer in pieces. */
  #sentBytes = 0;
  /** Ends the connection of a body that arrives too slowly; runs while one is being read. */
  #slow: NodeJS.Timeout | undefined;
  #hasReader = false;

  constructor(
    private readonly req: IncomingMessage,
    private readonly res: ServerResponse,
  ) {}

  awaitContinue(): void {
    if (this.req.httpVersion === '1.0') return;
    this.writeContinue = () => {
      this.writeContinue = undefined;
      this.res.writeContinue();
    };
  }

  /** Drops a body without a listener. */
  handlerReturned(): void {
    if (!this.#hasReader) this.req.resume();
  }

  onAborted(listener: () => void): void {
    this.res.once('close', () => {
      if (!this.res.writableFinished) listener();
    });
  }

  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#hasReader = true;
    const { req } = this;
    let left = req.headers['content-length'] === undefined ? undefined : Number(req.headers['content-length']);
    let received = 0;
    let hasBegun = false;
    // uWebSockets.js calls the listener right after the request handler, even if no byte came with the head.
    setImmediate(() => {
      if (!hasBegun && !req.destroyed) listener(new ArrayBuffer(0), false);
    });
    this.#slow = setTimeout(() => req.socket.destroy(), IDLE_MS).unref();
    this.res.once('close', () => clearTimeout(this.#slow));
    req.on('data', (chunk: Buffer) => {
      if (left !== undefined) left -= chunk.length;
      hasBegun = true;
      received += chunk.length;
      if (received >= PROGRESS_BYTES) {
        received = 0;
        this.#slow?.refresh();
      }
      if (left === 0) clearTimeout(this.#slow);
      listener(memoryOf(chunk), left === 0);
    });
    req.on('end', () => {
      hasBegun = true;
      clearTimeout(this.#slow);
      if (left !== 0) listener(new ArrayBuffer(0), true);
      else if (req.headers['content-length'] === '0') listener(new ArrayBuffer(0), true);
    });
  }

  /** Stops reading, and the timer that ends slow bodies: during a pause this process is the slow one. */
  pause(): void {
    clearTimeout(this.#slow);
    this.req.pause();
  }

  resume(): void {
    this.#slow?.refresh();
    this.req.resume();
  }

  getRemoteAddress(): ArrayBuffer {
    return addressBytes(this.req.socket.remoteAddress ?? '');
  }

  cork(write: () => void): void {
    write();
  }

  writeStatus(status: string): void {
    this.#status = status;
  }

  writeHeader(name: string, value: string): void {
    this.#headers.push(name, value);
  }

  end(body: string | Uint8Array, closeConnection = false): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (closeConnection) {
      this.writeHeader('connection', 'close');
      answeredLast.add(this.req.socket);
    }
    this.#writeHead(bytes.length);
    this.res.end(bytes);
  }

  endWithoutBody(): void {
    this.#writeHead(undefined);
    this.res.end();
  }

  tryEnd(body: Uint8Array, totalBytes: number): [sent: boolean, done: boolean] {
    const { res } = this;
    if (this.#sentBytes === 0) this.#writeHead(totalBytes);
    let at = 0;
    let isTaken = true;
    while (isTaken && at < body.length) {
      const piece = body.subarray(at, at + PIECE_BYTES);
      isTaken = res.write(piece);
      at += piece.length;
    }
    this.#sentBytes += at;
    const isSent = this.#sentBytes === totalBytes;
    if (isSent) res.end();
    return [isSent, isSent];
  }

  getWriteOffset(): number {
    return this.#sentBytes;
  }

  /** Also closes the connection of a client that takes nothing for a while. */
  onWritable(listener: (offset: number) => boolean): void {
    const { res, req } = this;
    const stalled = setTimeout(() => req.socket.destroy(), IDLE_MS).unref();
    const end = (): void => clearTimeout(stalled);
    res.on('drain', () => {
      stalled.refresh();
      if (listener(this.#sentBytes)) end();
    });
    res.once('close', end);
  }

  close(): void {
    this.req.socket.destroy();
  }

  #writeHead(bodyBytes: number | undefined): void {
    const headers = this.#headers;
    if (bodyBytes !== undefined) headers.push('content-length', String(bodyBytes));
    // Otherwise Node adds its own header, with another time-out.
    if (!headers.includes('connection')) headers.push('connection', 'keep-alive');
    const space = this.#status.indexOf(' ');
    this.res.writeHead(Number(this.#status.slice(0, space)), this.#status.slice(space + 1), headers);
  }
}

const memoryOf = ({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer =>
  byteOffset === 0 && byteLength === buffer.byteLength
    ? (buffer as ArrayBuffer)
    : (buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);

/**
 * Sends the remaining bytes and closes after the client, or after a while. Closing at once, with bytes unread, would reset the
 * connection, and the client might lose its answer.
 */
function lingerThenClose(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

type Answer = readonly [status: string, message: string];

const OTHER_VERSION: Answer = ['505 HTTP Version Not Supported', 'this service speaks HTTP/1.1 and HTTP/1.0'];
const CONNECT: Answer = ['400 Bad Request', 'the method CONNECT is for proxies, and this is not one'];

const UNREAD: Readonly<Record<string, Answer>> = {
  HPE_PAUSED_H2_UPGRADE: OTHER_VERSION,
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', `the head is larger than ${HEAD_BYTES_MAX} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the head did not arrive in time'],
};

/** An error of Node's parser. */
interface ParseError extends Error {
  readonly code?: string;
  readonly reason?: string;
}

/** The parser's reason for a well-formed version that it does not know; other faults of the request line have this code too. */
const UNKNOWN_VERSION = 'Invalid HTTP version';

function answerTo({ code = '', reason }: ParseError): Answer {
  if (reason === UNKNOWN_VERSION) return OTHER_VERSION;
  const what = 'this is not a request of HTTP/1.1';
  return UNREAD[code] ?? ['400 Bad Request', reason === undefined ? what : `${what}: ${reason}`];
}

/** Answers a request that the parser could not read, and closes the connection. */
function answerUnread(error: ParseError, socket: Socket, [status, message]: Answer = answerTo(error)): void {
  if (answeredLast.has(socket)) return;
  const before = newest.get(socket);
  if (before?.req.complete && !before.res.writableFinished) {
    // An earlier request of the connection is unanswered: this answer would be taken for that one's.
    if (!before.isLast) before.res.once('finish', () => socket.destroySoon());
    newest.set(socket, { ...before, isLast: true });
    return;
  }
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const body = JSON.stringify({ error: message, code: 'validation_error' });
  const head = [`HTTP/1.1 ${status}`, 'content-type: application/json', 'cache-control: no-store'];
  socket.end(`${[...head, `content-length: ${body.length}`, 'connection: close'].join('\r\n')}\r\n\r\n${body}`);
  lingerThenClose(socket);
}
