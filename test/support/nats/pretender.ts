import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Greets clients as the NATS server that `info` describes, and answers only pings. With `leadsTo` it connects clients to a real server. */
export class Pretender {
  readonly #sockets = new Set<Socket>();
  readonly #server;
  /** Port of a real server on this machine, for new connections. */
  leadsTo: number | undefined;
  /** Connections so far that this server has greeted itself. */
  connections = 0;

  constructor(info: object) {
    const text = JSON.stringify({ server_id: 'p', headers: true, max_payload: 1_048_576, ...info });
    this.#server = createServer((socket) => {
      this.#hold(socket);
      if (this.leadsTo !== undefined) return this.#lead(socket, this.leadsTo);
      this.connections++;
      socket.write(`INFO ${text}\r\n`);
      socket.on('data', (sent) => sent.includes('PING') && socket.write('PONG\r\n'));
    });
  }

  /** Returns its port. */
  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #hold(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
  }

  #lead(socket: Socket, port: number): void {
    const real = connect(port, '127.0.0.1');
    this.#hold(real);
    socket.pipe(real).once('close', () => socket.destroy());
    real.pipe(socket).once('close', () => real.destroy());
  }
}
