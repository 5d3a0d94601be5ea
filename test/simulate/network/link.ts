/**
 * A connection between two parties. Bytes arrive whole, in order and after a while; those sent in one task arrive
 * together. A cut holds bytes back until it is healed, as with TCP. An end that closes notifies the other, unless its
 * machine has lost power.
 */
import type { Party } from '../world/party.js';
import type { Network } from './network.js';

export interface LinkEnd {
  onData: (bytes: Buffer) => void;
  onClose: () => void;
}

interface Sent {
  /** Step of the world in which it was sent. */
  readonly step: number;
  readonly parts: Buffer[];
  /** Called when it arrives, before it is read. */
  readonly arrived: (() => void)[];
}

interface Side {
  readonly party: Party;
  readonly end: LinkEnd;
  /** Latest arrival time so far on this side; later bytes arrive after it. */
  lastAtMs: number;
  /** Last bytes sent to this side. */
  last: Sent | undefined;
  /** Bytes that a cut holds back. */
  readonly waiting: Sent[];
}

const newSide = (party: Party): Side => ({
  party,
  end: { onData: () => undefined, onClose: () => undefined },
  lastAtMs: 0,
  last: undefined,
  waiting: [],
});

export class Link {
  readonly client: Side;
  readonly server: Side;
  isOpen = true;
  readonly #offHealed: () => void;

  constructor(
    private readonly network: Network,
    client: Party,
    server: Party,
  ) {
    this.client = newSide(client);
    this.server = newSide(server);
    this.#offHealed = network.onHealed(() => {
      this.#release(this.client, this.server);
      this.#release(this.server, this.client);
    });
    client.onEnd(() => this.closeFrom('client'));
    server.onEnd(() => this.closeFrom('server'));
  }

  send(to: 'client' | 'server', bytes: Buffer, arrived?: () => void): void {
    if (!this.isOpen) return;
    const [from, target] = to === 'client' ? [this.server, this.client] : [this.client, this.server];
    if (this.network.stopsMessage('sent', from.party)) return;
    const { trace, steps: step } = this.network.world;
    trace.number(bytes.length);
    const { last } = target;
    if (last?.step === step) {
      last.parts.push(bytes);
      if (arrived !== undefined) last.arrived.push(arrived);
      return;
    }
    const sent = { step, parts: [bytes], arrived: arrived === undefined ? [] : [arrived] };
    target.last = sent;
    if (target.waiting.length > 0 || this.network.isCut(from.party.machine, target.party.machine))
      target.waiting.push(sent);
    else this.#deliver(from, target, sent);
  }

  /** Notifies the other end later. */
  closeFrom(end: 'client' | 'server'): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#offHealed();
    const [from, target] = end === 'client' ? [this.client, this.server] : [this.server, this.client];
    const notify = (): void => this.#at(from, target, 'link closed', () => target.end.onClose());
    if (!this.network.isCut(from.party.machine, target.party.machine)) {
      notify();
      return;
    }
    const off = this.network.onHealed(() => {
      if (this.network.isCut(from.party.machine, target.party.machine)) return;
      off();
      notify();
    });
  }

  #release(from: Side, target: Side): void {
    if (this.network.isCut(from.party.machine, target.party.machine)) return;
    for (const sent of target.waiting.splice(0)) this.#deliver(from, target, sent);
  }

  #deliver(from: Side, target: Side, { parts, arrived }: Sent): void {
    this.#at(from, target, 'link', () => {
      if (!this.isOpen || this.network.stopsMessage('received', target.party)) return;
      for (const notify of arrived) notify();
      target.end.onData(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
    });
  }

  #at(from: Side, target: Side, kind: string, work: () => void): void {
    const { world } = this.network;
    const delayMs = this.network.delayMs(from.party.machine, target.party.machine);
    target.lastAtMs = Math.max(target.lastAtMs, world.nowMs + delayMs);
    world.at(target.party, target.lastAtMs - world.nowMs, kind, work);
  }
}
