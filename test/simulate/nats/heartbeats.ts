/** Heartbeats of consumers without deliveries. A server sends all heartbeats of one interval together. */
import type { Party } from '../world/party.js';
import type { World } from '../world/world.js';
import { type Broker, NO_BYTES } from './broker.js';
import type { Consumer } from './consumer.js';
import { headerBytes } from './protocol.js';

const STATUS = '100 Idle Heartbeat';
/** Heartbeats without a subscriber after which the consumer is removed. */
const UNRECEIVED_MAX = 5;

interface Beating {
  readonly consumer: Consumer;
  unreceived: number;
}

export class Heartbeats {
  /** Process of a server → interval → consumers. */
  readonly #beating = new WeakMap<Party, Map<number, Set<Beating>>>();

  constructor(
    private readonly world: World,
    private readonly broker: Broker,
    /** Remaining consumers by name. */
    private readonly consumers: Map<string, Consumer>,
  ) {}

  add(consumer: Consumer): void {
    const { party } = this.broker.servers.get(consumer.server)!;
    const { heartbeatMs } = consumer;
    let intervals = this.#beating.get(party);
    if (intervals === undefined) {
      intervals = new Map();
      this.#beating.set(party, intervals);
    }
    const together = intervals.get(heartbeatMs);
    const own = { consumer, unreceived: 0 };
    if (together !== undefined) {
      together.add(own);
      return;
    }
    const all = new Set([own]);
    intervals.set(heartbeatMs, all);
    this.#tick(party, heartbeatMs, all);
  }

  #tick(party: Party, everyMs: number, all: Set<Beating>): void {
    this.world.at(party, everyMs, 'heartbeat', () => {
      for (const each of all) if (!this.#beat(each)) all.delete(each);
      if (all.size > 0) this.#tick(party, everyMs, all);
      else this.#beating.get(party)?.delete(everyMs);
    });
  }

  /** Sends a heartbeat if nothing was delivered since the last one. Returns false if the consumer is gone. */
  #beat(beating: Beating): boolean {
    const { consumer } = beating;
    const { deliver_subject: subject, name } = consumer.settings;
    if (this.consumers.get(name) !== consumer) return false;
    const server = this.broker.servers.get(consumer.server)!;
    const isIdle = this.world.nowMs - consumer.lastSentMs >= consumer.heartbeatMs;
    const headers = isIdle ? headerBytes(consumer.heartbeat(), STATUS) : NO_BYTES;
    const isReceived = isIdle
      ? this.broker.publish(server, { subject, reply: '', headers, body: NO_BYTES })
      : this.broker.hasInterest(subject);
    beating.unreceived = isReceived ? 0 : beating.unreceived + 1;
    if (beating.unreceived <= UNRECEIVED_MAX) return true;
    this.consumers.delete(name);
    return false;
  }
}
