/**
 * Interface of an HTTP engine: uWebSockets.js where its binary loads, Node's own elsewhere. The request and response have the
 * shape of uWebSockets.js, whose objects are used without a wrapper.
 */

export interface Address {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Lets several processes of this user listen on the port: the kernel gives each connection to one of them. */
  readonly sharePort?: boolean;
}

/** The longest head of a request, with its target and all headers. */
export const HEAD_BYTES_MAX = 16 * 1024;

/** The head of a request. Lives until the request handler returns. */
export interface EngineRequest {
  getCaseSensitiveMethod(): string;
  /** The path, encoded. */
  getUrl(): string;
  /** The query without the question mark; uWebSockets.js returns undefined without one, in spite of its type. */
  getQuery(): string | undefined;
  /** Every header in order, its name in lower case. */
  forEach(visit: (name: string, value: string) => void): void;
}

/** The answer to a request, and the request's body. It must not be touched after the answer, nor after `onAborted`. */
export interface EngineResponse {
  /** Asks for the body. Present until called, and only if the client waits for that: see `HttpEngine.awaitContinue`. */
  writeContinue?: (() => void) | undefined;
  /** `listener` is called if the client goes away before it has its answer. */
  onAborted(listener: () => void): void;
  /** Reads the body; must be called while the request handler runs. A chunk's memory is valid during the call only. */
  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): void;
  pause(): void;
  resume(): void;
  /** The client's address, 4 or 16 bytes; only while the request handler runs. */
  getRemoteAddress(): ArrayBuffer;
  /** Sends the output of `write` in one piece. */
  cork(write: () => void): void;
  /** `status`: such as `200 OK`. */
  writeStatus(status: string): void;
  writeHeader(name: string, value: string): void;
  end(body: string | Uint8Array, closeConnection?: boolean): void;
  endWithoutBody(): void;
  /** Sends as much of the body as the connection takes. Returns whether all was sent, and whether the answer is complete. */
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

/** A certificate chain and its key. */
export interface KeyPair {
  /** PEM, like `key`. */
  readonly cert: string;
  readonly key: string;
}

/** The certificate of HTTPS. */
export interface ServedCertificate {
  readonly certFile: string;
  readonly keyFile: string;
  /** The newest usable content of the files. */
  readonly current: KeyPair;
  /** Calls `listener` after each renewal. */
  onRenewed(listener: () => void): void;
}

export interface HttpEngine {
  readonly name: 'uWebSockets.js' | 'node:http';
  /** Sets `writeContinue`, unless the engine has asked for the body itself. `expectation`: the value of the header `Expect`. */
  awaitContinue(res: EngineResponse, expectation: string): void;
  /** `tls`: serves HTTPS, TLS 1.2 and later. Throws an Error of one line if it cannot listen on the address. */
  listen(take: TakeRequest, address: Address, tls?: ServedCertificate): Promise<Listening>;
}
