/** An HTTP server with bad answers, and a way to force garbage collections while an answer is read. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const DRIP_MS = 20;
const COLLECTED_EVERY_MS = 10;
const PIECE = Buffer.alloc(64 * 1024, 'x');

const ODDITIES = {
  /** Sends a byte from time to time, forever. */
  drips: (response: ServerResponse) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('x'), DRIP_MS);
    response.on('close', () => clearInterval(timer));
  },
  /** Sends no head. */
  'never answers': () => {},
  'sends the head and stops': (response: ServerResponse) => void response.writeHead(200).flushHeaders(),
  'closes in the middle of the body': (response: ServerResponse) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('x', () => response.destroy());
  },
  /** Sends pieces for as long as the client reads. */
  'sends without an end': (response: ServerResponse) => {
    response.writeHead(200);
    const write = (): void => {
      while (!response.destroyed && response.write(PIECE));
    };
    response.on('drain', write);
    write();
  },
} as const satisfies Readonly<Record<string, (response: ServerResponse) => void>>;

export type Oddity = keyof typeof ODDITIES;
export const ALL_ODDITIES = Object.keys(ODDITIES) as Oddity[];

export class OddServer {
  /** Kind of the next answers; undefined: 404. */
  oddity: Oddity | undefined;
  /** Number of requests so far. */
  asked = 0;

  private constructor(private readonly server: Server) {}

  static async start(oddity?: Oddity): Promise<OddServer> {
    const server = createServer((request, response) => {
      request.resume();
      odd.asked += 1;
      if (odd.oddity === undefined) response.writeHead(404).end('no such thing\n');
      else ODDITIES[odd.oddity](response);
    });
    const odd = new OddServer(server);
    odd.oddity = oddity;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return odd;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when no client is connected. */
  async untilLeft(): Promise<void> {
    this.server.closeIdleConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    if (this.server.listening) await this.untilLeft();
  }
}

/** Runs work while garbage is collected all the time. */
export async function whileCollecting<T>(work: () => Promise<T>): Promise<T> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const timer = setInterval(collect, COLLECTED_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
