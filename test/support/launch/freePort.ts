import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that a system gives to connections and to whoever asks for any port: one of them is still free a moment later. */
const FIRST = 10_000;
const END = 32_768;

/** A port of the loopback address that nothing listens on now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
