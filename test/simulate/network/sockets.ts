/** A client's socket with the interface of `node:net`, as far as nats.js and the product use it. */
import { EventEmitter } from 'node:events';
import { currentWorld, type World } from '../world/world.js';
import { Link } from './link.js';
import { networkIn } from './network.js';

/** Milliseconds until a refused connection is reported. */
const REFUSED_MS = 1;

class SimulatedSocket extends EventEmitter {
  destroyed = false;
  readonly writableLength = 0;
  #link: Link | undefined;
  #encoding: BufferEncoding | undefined;

  constructor(
    private readonly world: World,
    address: string,
  ) {
    super();
    const network = networkIn(world);
    const { party } = world;
    const listener = network.listeners.get(address);
    if (listener === undefined || !listener.party.alive) {
      world.at(party, REFUSED_MS, 'refused', () => this.#fail('ECONNREFUSED', address));
      return;
    }
    // Over a cut network a connection is neither made nor refused.
    if (!network.isWhole(party.machine, listener.party.machine)) return;
    const link = new Link(network, party, listener.party);
    this.#link = link;
    link.client.end.onData = (bytes) => this.emit('data', this.#encoding ? bytes.toString(this.#encoding) : bytes);
    link.client.end.onClose = () => this.#closed();
    world.at(listener.party, network.delayMs(party.machine, listener.party.machine), 'accept', () => {
      if (!link.isOpen) return;
      world.at(party, network.delayMs(listener.party.machine, party.machine), 'connected', () => {
        if (this.destroyed) return;
        this.emit('connect');
        // The server's first line arrives once there is a listener.
        world.at(listener.party, 0, 'greet', () => {
          if (link.isOpen) listener.accept(link);
        });
      });
    });
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setEncoding(encoding: BufferEncoding): this {
    this.#encoding = encoding;
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  /** Writes of one step arrive together. */
  cork(): void {}

  uncork(): void {}

  write(bytes: Uint8Array | string, done?: (error?: Error) => void): boolean {
    if (this.destroyed) {
      if (done !== undefined) queueMicrotask(() => done(new Error('the socket has been ended')));
      return false;
    }
    if (bytes.length > 0) this.#link?.send('server', bufferOf(bytes));
    if (done !== undefined) queueMicrotask(done);
    return true;
  }

  end(): this {
    return this.destroy();
  }

  destroy(): this {
    if (this.destroyed) return this;
    this.#link?.closeFrom('client');
    this.#closed();
    return this;
  }

  #fail(code: string, address: string): void {
    if (this.destroyed) return;
    this.destroyed = true;
    const error = Object.assign(new Error(`connect ${code} ${address}`), { code, syscall: 'connect' });
    if (this.listenerCount('error') > 0) this.emit('error', error);
    this.emit('close', true);
  }

  #closed(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.world.at(this.world.party, 0, 'socket closed', () => this.emit('close', false));
  }
}

/** The bytes themselves, without a copy: no sender changes what it has written. */
const bufferOf = (bytes: Uint8Array | string): Buffer =>
  typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

interface ConnectOptions {
  readonly port: number;
  readonly host?: string;
  readonly timeout?: number;
}

/**
 * Like `net.createConnection(port, host, connected)` and `net.connect(options)`. The caller gives up on a connection,
 * not the socket.
 */
export function simulatedConnect(to: number | ConnectOptions, host?: string, connected?: () => void): SimulatedSocket {
  const world = currentWorld()!;
  const options: ConnectOptions = typeof to === 'number' ? { port: to, ...(host !== undefined && { host }) } : to;
  const socket = new SimulatedSocket(world, `${options.host ?? '127.0.0.1'}:${options.port}`);
  if (connected !== undefined) socket.once('connect', connected);
  const { timeout } = options;
  if (timeout !== undefined) {
    const { party } = world;
    world.at(party, timeout, 'socket timeout', () => {
      if (!socket.destroyed) socket.emit('timeout');
    });
  }
  return socket;
}
