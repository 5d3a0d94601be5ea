/**
 * What the server needs of an HTTP engine: uWebSockets.js where its binary loads, Node's own elsewhere. The objects of a
 * request are shaped as those of uWebSockets.js, which have nothing between them and the server.
 */

export interface Address {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Several processes of this user listen on the port: the kernel gives each connection to one of them. */
  readonly sharePort?: boolean;
}

/** The longest head of a request, with its target and all headers. */
export const HEAD_BYTES_MAX = 16 * 1024;

/** The head of a request. Lives until the request handler returns. */
export interface EngineRequest {
  getCaseSensitiveMethod(): string;
  /** The path, encoded. */
  getUrl(): string;
  /** Without the question mark; uWebSockets.js returns undefined where there is none, in spite of its type. */
  getQuery(): string | undefined;
  /** Every header in order, its name in lower case. */
  forEach(visit: (name: string, value: string) => void): void;
}

/** The answer to a request, and its body. It must not be touched after the answer, nor after `onAborted`. */
export interface EngineResponse {
  /** Asks for the body; there until then, and only where the client sends none before: see `HttpEngine.awaitContinue`. */
  writeContinue?: (() => void) | undefined;
  /** `listener` is called if the client goes away before it has its answer. */
  onAborted(listener: () => void): void;
  /** The body; must be called while the request handler runs. The memory of a chunk lives for the call. */
  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): void;
  pause(): void;
  resume(): void;
  /** 4 or 16 bytes. Only while the request handler runs. */
  getRemoteAddress(): ArrayBuffer;
  /** Sends what `write` writes in one piece. */
  cork(write: () => void): void;
  /** `200 OK`. */
  writeStatus(status: string): void;
  writeHeader(name: string, value: string): void;
  end(body: string | Uint8Array, closeConnection?: boolean): void;
  endWithoutBody(): void;
  /** Sends as much of the body as the connection takes. Returns whether that was all, and whether the answer is complete. */
  tryEnd(body: Uint8Array, totalBytes: number): [sent: boolean, done: boolean];
  /** The bytes of the answer that were sent so far. */
  getWriteOffset(): number;
  /** `listener` is called when the connection takes more; it returns whether all was sent. */
  onWritable(listener: (offset: number) => boolean): void;
  /** Closes the connection at once. */
  close(): void;
}

export type TakeRequest = (res: EngineResponse, req: EngineRequest) => void;

export interface Listening {
  readonly port: number;
  /** Takes no new connection. */
  stopListening(): void;
  /** Closes every connection. */
  close(): void;
}

/** A certificate, with those that sign it, and its key. */
export interface KeyPair {
  /** Texts in PEM. */
  readonly cert: string;
  readonly key: string;
}

/** The certificate of HTTPS. */
export interface ServedCertificate {
  readonly certFile: string;
  readonly keyFile: string;
  /** What the files held when they were last found usable. */
  readonly current: KeyPair;
  /** Calls `listener` when the files hold another certificate. */
  onRenewed(listener: () => void): void;
}

export interface HttpEngine {
  readonly name: 'uWebSockets.js' | 'node:http';
  /** Sets `writeContinue`, unless the engine has asked for the body itself. `expectation`: the header that names `100-continue`. */
  awaitContinue(res: EngineResponse, expectation: string): void;
  /** `tls`: serves HTTPS, TLS 1.2 and later. Throws an Error of one line if it cannot listen on the address. */
  listen(take: TakeRequest, address: Address, tls?: ServedCertificate): Promise<Listening>;
}
