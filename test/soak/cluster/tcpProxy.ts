/** Proxy between a client and a server, which loses traffic on request. */
import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** From now on loses the server's bytes and, with `everything`, the client's too. */
  lose(what: 'answers' | 'everything'): void;
  /** Breaks all connections; new ones lose nothing. */
  reset(): void;
  /** Breaks all connections, and refuses new ones until `reset`. */
  cut(): void;
  close(): Promise<void>;
}

export async function startProxy(host: string, serverPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let lost: 'nothing' | 'answers' | 'everything' = 'nothing';
  let refuse = false;
  const track = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  };
  const proxy = createServer((client) => {
    if (refuse) {
      client.destroy();
      return;
    }
    const server = connect({ host, port: serverPort });
    track(client, server);
    track(server, client);
    client.on('data', (chunk) => {
      if (lost !== 'everything') server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (lost === 'nothing') client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, host, resolve);
  });
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const address = proxy.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    lose: (what) => {
      lost = what;
    },
    reset: () => {
      lost = 'nothing';
      refuse = false;
      breakAll();
    },
    cut: () => {
      refuse = true;
      breakAll();
    },
    close: () =>
      new Promise((resolve) => {
        proxy.close(() => resolve());
        breakAll();
      }),
  };
}
