/**
 * A load generator that costs little compared to the measured service: keep-alive sockets, requests written as ready bytes,
 * answers read by their content-length.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../shared/clock.js';
import { rawAnswer } from './rawAnswer.js';

const OK = 200;

export interface LoadResult {
  readonly seconds: number;
  /** In ascending order. */
  readonly latenciesMs: Float64Array;
  /** The body of each answer, by the number of its request. */
  readonly answers: readonly string[];
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

/** Sends the requests over `inFlight` connections, one at a time on each. Throws if an answer is not 200. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const latenciesMs = new Float64Array(load.requests);
  const answers = new Array<string>(load.requests);
  let next = 0;
  const lane = async (): Promise<void> => {
    const connection = await Connection.open(load.host, load.port);
    try {
      while (next < load.requests) {
        const i = next++;
        const request = load.request(i);
        const startedMs = systemClock.monotonicMs();
        answers[i] = await connection.send(request);
        latenciesMs[i] = systemClock.monotonicMs() - startedMs;
      }
    } finally {
      connection.close();
    }
  };
  const startedMs = systemClock.monotonicMs();
  await Promise.all(Array.from({ length: load.inFlight }, lane));
  const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
  return { seconds, latenciesMs: latenciesMs.sort(), answers };
}

/**
 * Repeats one request over a connection of its own until `isOver`. Waits `pauseMs` after each answer. Returns the milliseconds
 * from each request to its answer, in order. Throws if an answer has another status than `expected`.
 */
export async function runUntil(
  { host, port, expected = OK }: Pick<Load, 'host' | 'port'> & { readonly expected?: number },
  request: Buffer,
  pauseMs: number,
  isOver: () => boolean,
): Promise<Float64Array> {
  const waitsMs: number[] = [];
  const connection = await Connection.open(host, port, expected);
  try {
    while (!isOver()) {
      const startedMs = systemClock.monotonicMs();
      await connection.send(request);
      waitsMs.push(systemClock.monotonicMs() - startedMs);
      if (pauseMs > 0) await delay(pauseMs);
    }
  } finally {
    connection.close();
  }
  return Float64Array.from(waitsMs);
}

export const percentile = (ascending: ArrayLike<number>, share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN;

class Connection {
  #received = '';
  #settle: { resolve: (body: string) => void; reject: (error: Error) => void } | undefined;

  private constructor(
    private readonly socket: Socket,
    private readonly expected: number,
  ) {
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#onData(text));
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('the service closed the connection')));
  }

  static open(host: string, port: number, expected = OK): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port }, () => resolve(new Connection(socket, expected)));
      socket.once('error', reject);
    });
  }

  send(request: Buffer): Promise<string> {
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
    const answer = rawAnswer(this.#received);
    if (answer === undefined) return;
    this.#received = '';
    if (answer.status === this.expected) this.#settle?.resolve(answer.body);
    else this.#settle?.reject(new Error(`the service answered: ${answer.whole.slice(0, 400)}`));
  }
}
