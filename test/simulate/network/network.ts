/** The network between the machines of a world: delays, cuts, and listeners. */
import type { Party } from '../world/party.js';
import type { World } from '../world/world.js';

/** Usual delay; one in this many is much longer. */
const USUAL_MS = 0.4;
const SLOW_ONE_IN = 400;
const SLOW_MS = 60;
/** Delay between processes of one machine. */
const LOCAL_MS = 0.03;

/** A connection, seen from its server. */
export interface LinkEnds {
  readonly isOpen: boolean;
  readonly client: { readonly party: Party };
  readonly server: { readonly end: { onData: (bytes: Buffer) => void; onClose: () => void } };
  /** `arrived` is called in the receiving process before it gets the bytes. */
  send(to: 'client', bytes: Buffer, arrived?: () => void): void;
  closeFrom(end: 'server'): void;
}

export interface Listener {
  readonly party: Party;
  accept(link: LinkEnds): void;
}

export type MessageWay = 'sent' | 'received';

export class Network {
  readonly listeners = new Map<string, Listener>();
  /** Cut directions → how many cuts. */
  readonly #cuts = new Map<string, number>();
  readonly #onHealed = new Set<() => void>();
  /** Consulted when a party sends or receives a message over a connection; true: the message is lost. */
  stopsMessage: (way: MessageWay, party: Party) => boolean = () => false;

  constructor(readonly world: World) {}

  /** Delay of a message, in milliseconds. */
  delayMs(from: string, to: string): number {
    const random = this.world.random('network');
    if (from === to) return LOCAL_MS * (0.5 + random.next());
    const slow = random.int(SLOW_ONE_IN) === 0 ? SLOW_MS * random.next() : 0;
    return USUAL_MS * (0.25 + random.next()) + slow;
  }

  /** Whether nothing arrives from the first machine at the second. */
  isCut(from: string, to: string): boolean {
    return this.#cuts.size > 0 && this.#cuts.has(`${from}>${to}`);
  }

  isWhole(one: string, other: string): boolean {
    return !this.isCut(one, other) && !this.isCut(other, one);
  }

  /** Cuts one direction until the returned function is called. */
  cut(from: string, to: string): () => void {
    const way = `${from}>${to}`;
    this.#cuts.set(way, (this.#cuts.get(way) ?? 0) + 1);
    return () => {
      const left = (this.#cuts.get(way) ?? 1) - 1;
      if (left > 0) this.#cuts.set(way, left);
      else if (this.#cuts.delete(way)) this.#tellHealed();
    };
  }

  heal(): void {
    this.#cuts.clear();
    this.#tellHealed();
  }

  #tellHealed(): void {
    for (const listener of [...this.#onHealed]) listener();
  }

  /** Calls `listener` whenever cuts are healed, until the returned function is called. */
  onHealed(listener: () => void): () => void {
    this.#onHealed.add(listener);
    return () => this.#onHealed.delete(listener);
  }
}

const networks = new WeakMap<World, Network>();

export function networkIn(world: World): Network {
  let network = networks.get(world);
  if (network === undefined) {
    network = new Network(world);
    networks.set(world, network);
  }
  return network;
}
