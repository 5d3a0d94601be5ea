/** Hostile clients: connections whose every byte and pause the test chooses. */
import { connect, type Socket } from 'node:net';

export class HostileClient {
  readonly socket: Socket;
  received = '';
  /** Bytes given to the system; some may never leave. */
  sentBytes = 0;
  isOpen = true;
  /** Resolves when the connection has ended, from either side. */
  readonly closed: Promise<void>;

  private constructor(port: number, begin: string) {
    this.socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.received += text;
    });
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.isOpen = false;
        resolve();
      });
    });
    this.send(begin);
  }

  /** Connects, and sends `begin`. */
  static open(port: number, begin = ''): Promise<HostileClient> {
    const client = new HostileClient(port, begin);
    return new Promise((resolve, reject) => {
      client.socket.once('connect', () => resolve(client));
      client.socket.once('close', () => reject(new Error('the connection was refused')));
    });
  }

  send(text: string): void {
    if (!this.isOpen || text === '') return;
    this.sentBytes += text.length;
    this.socket.write(text);
  }

  /** Sends as much as the other side takes, up to `mostBytes`. */
  async pour(chunk: string, mostBytes: number): Promise<void> {
    while (this.isOpen && this.sentBytes < mostBytes) {
      this.sentBytes += chunk.length;
      if (this.socket.write(chunk)) continue;
      await Promise.race([new Promise<void>((resolve) => this.socket.once('drain', resolve)), this.closed]);
    }
  }

  /** Status of the first answer; 0 without an answer. */
  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.received)?.[1] ?? 0);
  }

  /** Resets the connection without closing it. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  end(): void {
    this.socket.destroy();
  }
}
