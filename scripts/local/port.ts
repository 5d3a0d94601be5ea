import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

/** Listens on the port for a moment and returns its number; for `port` 0 that of a free port. Throws the system's error. */
export async function probePort(host: string, port: number): Promise<number> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  } finally {
    // Awaited, since the port is free again only when the server is closed.
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

/** Reservations of this process by address. */
const reserved = new Map<string, Server>();

/**
 * Reserves an address for this start of Vouch until the process ends. A start listens only after seconds; until then, another start
 * would find the port free. Throws EADDRINUSE if another process has reserved it. Does nothing except on Linux, which alone has
 * abstract sockets.
 */
export async function reservePort(host: string, port: number): Promise<void> {
  const address = `${bracketed(host)}:${port}`;
  if (process.platform !== 'linux' || reserved.has(address)) return;
  const server = createServer((socket) => socket.destroy()).unref();
  server.listen(`\0vouch ${address}`);
  await once(server, 'listening');
  reserved.set(address, server);
}

/** Returns that many different ports that are free now. */
export async function freePorts(host: string, count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await probePort(host, 0));
  return [...ports];
}

/** The host in an address of a URL or a setting: IPv6 in brackets. */
export const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);
