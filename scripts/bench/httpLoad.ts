/**
 * A load generator that costs little beside what it measures: keep-alive sockets, requests written as ready bytes,
 * answers read by their content-length.
 */
import { connect, type Socket } from 'node:net';
import { systemClock } from '../../shared/clock.js';

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Milliseconds, ascending. */
  readonly latenciesMs: Float64Array;
}

export interface Load {
  readonly host: string;
  readonly port: number;
  readonly inFlight: number;
  readonly requests: number;
  /** The bytes of request number `i`, from `requestBytes`. */
  readonly request: (i: number) => Buffer;
}

export function requestBytes(path: string, key: string, body: string): Buffer {
  const length = Buffer.byteLength(body);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`,
  );
}

/** Sends the requests over `inFlight` connections, one at a time on each. Throws where an answer is not 200. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const latenciesMs = new Float64Array(load.requests);
  let next = 0;
  const lane = async (): Promise<void> => {
    const connection = await Connection.open(load.host, load.port);
    try {
      while (next < load.requests) {
        const i = next++;
        const startedMs = systemClock.monotonicMs();
        await connection.send(load.request(i));
        latenciesMs[i] = systemClock.monotonicMs() - startedMs;
      }
    } finally {
      connection.close();
    }
  };
  const startedMs = systemClock.monotonicMs();
  await Promise.all(Array.from({ length: load.inFlight }, lane));
  const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
  return { requests: load.requests, seconds, latenciesMs: latenciesMs.sort() };
}

export const percentile = (ascending: Float64Array, share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN;

class Connection {
  #received = '';
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#onData(text));
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('the service closed the connection')));
  }

  static open(host: string, port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port }, () => resolve(new Connection(socket)));
      socket.once('error', reject);
    });
  }

  send(request: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.socket.write(request);
    });
  }

  close(): void {
    this.#settle = undefined;
    this.socket.destroy();
  }

  #onData(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = this.#received.slice(0, headEnd);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#received.length < headEnd + 4 + length) return;
    const answer = this.#received;
    this.#received = '';
    if (head.startsWith('HTTP/1.1 200')) this.#settle?.resolve();
    else this.#settle?.reject(new Error(`the service answered: ${answer.slice(0, 400)}`));
  }
}
