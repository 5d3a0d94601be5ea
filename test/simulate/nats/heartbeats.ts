/** The heartbeats of consumers that have nothing to deliver. A server sends all of one interval together. */
import type { Party } from '../world/party.js';
import type { World } from '../world/world.js';
import { type Broker, NO_BYTES } from './broker.js';
import type { Consumer } from './consumer.js';
import { headerBytes } from './protocol.js';

const STATUS = '100 Idle Heartbeat';
/** A consumer that nobody hears goes after a while. */
const UNHEARD_TICKS = 5;

interface Beating {
  readonly consumer: Consumer;
  unheard: number;
}

export class Heartbeats {
  /** The process of a server → interval → its consumers. */
  readonly #beating = new WeakMap<Party, Map<number, Set<Beating>>>();

  constructor(
    private readonly world: World,
    private readonly broker: Broker,
    /** Those that are left, by name. */
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
    const own = { consumer, unheard: 0 };
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
      for (const each of all) if (!this.#isHeard(each)) all.delete(each);
      if (all.size > 0) this.#tick(party, everyMs, all);
      else this.#beating.get(party)?.delete(everyMs);
    });
  }

  /** Sends a heartbeat where nothing was delivered since the last one. False: the consumer is gone. */
  #isHeard(beating: Beating): boolean {
    const { consumer } = beating;
    const { deliver_subject: subject, name } = consumer.settings;
    if (this.consumers.get(name) !== consumer) return false;
    const server = this.broker.servers.get(consumer.server)!;
    const isIdle = this.world.nowMs - consumer.lastSentMs >= consumer.heartbeatMs;
    const headers = isIdle ? headerBytes(consumer.heartbeat(), STATUS) : NO_BYTES;
    const isHeard = isIdle
      ? this.broker.publish(server, { subject, reply: '', headers, body: NO_BYTES })
      : this.broker.hasInterest(subject);
    beating.unheard = isHeard ? 0 : beating.unheard + 1;
    if (beating.unheard <= UNHEARD_TICKS) return true;
    this.consumers.delete(name);
    return false;
  }
}
