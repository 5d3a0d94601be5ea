import { createServer, type Server } from 'node:net';

/** Below the ports that systems assign to connections: a port found free here stays free a moment longer. */
const FIRST = 10_000;
const END = 32_768;
/** Neighbouring ports of one process. It listens on the first, and returns the others. */
const RANGE = 200;
const RANGES = Math.floor((END - FIRST) / RANGE);

let range: Promise<number> | undefined;
let taken = 0;

/**
 * A loopback port without a listener. Test processes beside this one take none of its ports. A port is returned again only
 * after all others of the range: a test may start the listener later, or restart it.
 */
export async function freePort(): Promise<number> {
  range ??= ownRange();
  const first = await range;
  for (;;) {
    const port = first + 1 + (taken++ % (RANGE - 1));
    const server = await listener(port);
    if (server === undefined) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** Listens on the first port of a range until this process ends. */
async function ownRange(): Promise<number> {
  for (let turn = 0; ; turn++) {
    const first = FIRST + ((process.pid + turn) % RANGES) * RANGE;
    const server = await listener(first);
    if (server === undefined) continue;
    server.unref();
    return first;
  }
}

const listener = (port: number): Promise<Server | undefined> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
