/** Threads and their ports, with the interface of `node:worker_threads`. A thread is a party of the same process. */
import { EventEmitter } from 'node:events';
import { cloneMessage, type Uncopied } from './cloneMessage.js';
import type { Party } from './party.js';
import { currentWorld, type World } from './world.js';

/** Longest time until a thread starts, or a message arrives, in milliseconds. */
const START_MS = 4;
const MESSAGE_MS = 0.05;

export class SimulatedPort extends EventEmitter implements Uncopied {
  readonly isUncopied = true;
  #peer: SimulatedPort | undefined;
  #waiting: unknown[] | undefined = [];
  #isClosed = false;
  #lastAtMs = 0;

  constructor(
    private readonly world: World,
    public owner: Party,
  ) {
    super();
    this.on('newListener', (event: string) => {
      if (event === 'message') this.#begin();
    });
  }

  static pair(world: World, one: Party, other: Party): readonly [SimulatedPort, SimulatedPort] {
    const ports = [new SimulatedPort(world, one), new SimulatedPort(world, other)] as const;
    ports[0].#peer = ports[1];
    ports[1].#peer = ports[0];
    return ports;
  }

  postMessage(value: unknown, transferred?: readonly unknown[] | { transfer?: readonly unknown[] }): void {
    const peer = this.#peer;
    if (peer === undefined || this.#isClosed) return;
    const list = (Array.isArray(transferred) ? transferred : (transferred as { transfer?: unknown[] })?.transfer) ?? [];
    const message = cloneMessage(value, list);
    for (const each of list) if (each instanceof SimulatedPort) each.owner = peer.owner;
    this.#later(peer, () => peer.#take(message));
  }

  start(): void {
    this.#begin();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const peer = this.#peer;
    this.#later(this, () => this.emit('close'));
    if (peer !== undefined && !peer.#isClosed) this.#later(peer, () => peer.close());
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  /** Delivers in order of sending. */
  #later(port: SimulatedPort, work: () => void): void {
    const { world } = this;
    port.#lastAtMs = Math.max(world.nowMs, port.#lastAtMs) + MESSAGE_MS * world.random('thread').next();
    world.at(port.owner, port.#lastAtMs - world.nowMs, 'message', work);
  }

  #take(message: unknown): void {
    if (this.#waiting !== undefined) this.#waiting.push(message);
    else if (!this.#isClosed) this.emit('message', message);
  }

  #begin(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const message of waiting ?? []) this.#later(this, () => this.emit('message', message));
  }
}

export class SimulatedMessageChannel {
  readonly port1: SimulatedPort;
  readonly port2: SimulatedPort;

  constructor() {
    const world = worldNow();
    [this.port1, this.port2] = SimulatedPort.pair(world, world.party, world.party);
  }
}

let threads = 0;

export class SimulatedWorker extends EventEmitter {
  readonly threadId = ++threads;
  readonly #port: SimulatedPort;
  readonly #party: Party;
  readonly #world: World;

  constructor(program: URL, { workerData }: { workerData?: unknown } = {}) {
    super();
    const world = worldNow();
    this.#world = world;
    const starter = world.party;
    const name = /([^/]+)\.js$/.exec(program.pathname)?.[1] ?? 'thread';
    this.#party = world.addParty(`${starter.name}/${name}`, starter.machine, starter);
    const [outer, inner] = SimulatedPort.pair(world, starter, this.#party);
    this.#port = outer;
    this.#party.thread = { port: inner, data: cloneMessage(workerData) };
    this.#party.onFailure = (error) =>
      void world.at(starter, 0, 'thread failed', () => {
        this.emit('error', error);
        this.emit('exit', 1);
      });
    outer.on('message', (message) => this.emit('message', message));
    world.at(this.#party, START_MS * world.random('thread').next(), 'thread', () => {
      const module = program.href.replace(/\.js$/, '.module.js');
      // Each thread loads its module afresh; all other modules are shared by the simulated processes.
      void world
        .outside(() => import(`${module}?thread=${this.threadId}`))
        .catch((error: unknown) => this.#party.onFailure?.(error));
    });
  }

  postMessage(value: unknown, transferred?: readonly unknown[]): void {
    this.#port.postMessage(value, transferred);
  }

  async terminate(): Promise<number> {
    if (this.#party.alive) {
      this.#party.end();
      const world = this.#world;
      await new Promise<void>((resolve) => {
        world.at(world.party, MESSAGE_MS, 'thread ended', () => {
          this.emit('exit', 1);
          resolve();
        });
      });
    }
    return 1;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** `parentPort` of the running thread. */
export const currentPort = {
  on: (event: string, listener: (value: unknown) => void) => portNow().on(event, listener),
  once: (event: string, listener: (value: unknown) => void) => portNow().once(event, listener),
  postMessage: (value: unknown, transferred?: readonly unknown[]) => portNow().postMessage(value, transferred),
  close: () => portNow().close(),
  ref: () => portNow().ref(),
  unref: () => portNow().unref(),
};

/** `workerData` of the running thread. */
export const currentData = new Proxy(
  {},
  { get: (_, name) => (currentWorld()?.party.thread?.data as Record<string | symbol, unknown> | undefined)?.[name] },
);

function portNow(): SimulatedPort {
  const port = currentWorld()?.party.thread?.port;
  if (port === undefined) throw new Error('this code runs outside of a simulated thread');
  return port as SimulatedPort;
}

function worldNow(): World {
  const world = currentWorld();
  if (world === undefined) throw new Error('a simulated thread needs a running world');
  return world;
}
