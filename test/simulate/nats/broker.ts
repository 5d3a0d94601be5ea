/**
 * The servers as message brokers: connections, subscriptions, and routes between servers. Messages arrive at most once.
 */
import type { LinkEnds, Network } from '../network/network.js';
import type { Party } from '../world/party.js';
import type { World } from '../world/world.js';
import { Interest, type Subscription } from './interest.js';
import { ClientReader, headerBytes, messageBytes } from './protocol.js';

export interface Message {
  readonly subject: string;
  readonly reply: string;
  readonly headers: Buffer;
  readonly body: Buffer;
}

export const NO_BYTES = Buffer.alloc(0);

/** Observer of the traffic. */
export interface BrokerTap {
  /** Called with each published message, in the order of its connection. */
  published(from: Party, message: Message): void;
  /** Called when a request arrives at a process. */
  arrived(at: Party, message: Message): void;
}

interface ClientSubscription extends Subscription {
  readonly sid: string;
  readonly client: ClientConnection;
  left: number;
}

interface ClientConnection {
  readonly server: Server;
  readonly link: LinkEnds;
  readonly subscriptions: Map<string, ClientSubscription>;
}

/** Last message from one server to another. */
interface Route {
  readonly step: number;
  readonly atMs: number;
  readonly routed: (readonly [ClientSubscription, Message])[];
}

export interface Server {
  readonly name: string;
  readonly address: string;
  party: Party;
  readonly clients: Set<ClientConnection>;
}

export interface BrokerSettings {
  readonly isClustered: boolean;
}

/** Deliveries of a consumer name a subject for acknowledgements, which the product never sends. */
const asksForAnswer = ({ reply }: Message): boolean => reply !== '' && !reply.startsWith('$JS.ACK.');

/** Version of nats-server that the model follows. */
const VERSION = '2.15.1';
const MAX_PAYLOAD_BYTES = 16 * 2 ** 20;

export class Broker {
  readonly servers = new Map<string, Server>();
  /** One message in this many is lost on the way to its subscriber; 0: none. */
  lostOneIn = 0;
  /** One message in this many that expects no answer arrives twice, the second time up to `againMs` later; 0: none. */
  doubledOneIn = 0;
  againMs = 0;
  /** Takes messages to JetStream's subjects. Returns false for other subjects. */
  onPublish: (server: Server, message: Message, from: Party) => boolean = () => false;
  tap: BrokerTap | undefined;
  readonly #interest = new Interest<ClientSubscription>();
  readonly #routes = new Map<string, Route>();
  readonly #world: World;
  #clientId = 0;

  constructor(
    private readonly network: Network,
    private readonly settings: BrokerSettings,
  ) {
    this.#world = network.world;
  }

  /** Starts or restarts a server. */
  start(name: string, address: string): Server {
    const party = this.#world.addParty(name, name);
    const known = this.servers.get(name);
    const server: Server = known ?? { name, address, party, clients: new Set() };
    server.party = party;
    this.servers.set(name, server);
    this.network.listeners.set(address, { party, accept: (link) => this.#accept(server, link) });
    return server;
  }

  /** Stops a server and breaks its connections. */
  stop(name: string): void {
    const server = this.servers.get(name)!;
    server.party.end();
    for (const client of [...server.clients]) this.#drop(client);
  }

  isUp(name: string): boolean {
    return this.servers.get(name)?.party.alive ?? false;
  }

  hasInterest(subject: string): boolean {
    return this.#interest.find(subject).length > 0;
  }

  /** Breaks a process's connections to the servers; it may reconnect. */
  disconnect(client: Party): void {
    for (const { clients } of this.servers.values())
      for (const each of [...clients])
        if (each.link.client.party === client) {
          each.link.closeFrom('server');
          this.#drop(each);
        }
  }

  /** Publishes at a server. Returns whether there is a subscriber. */
  publish(server: Server, message: Message): boolean {
    return this.publishAs(server, message.subject, message);
  }

  /** Publishes to the subscribers of `to` a message that names another subject. */
  publishAs(server: Server, to: string, message: Message): boolean {
    const found = this.#interest.find(to);
    if (found.length === 0) return false;
    const groups = new Map<string, ClientSubscription[]>();
    for (const each of found)
      if (each.queue === undefined) this.#route(server, each, message);
      else groups.set(each.queue, [...(groups.get(each.queue) ?? []), each]);
    for (const members of groups.values()) this.#route(server, this.#world.random('queue').pick(members), message);
    return true;
  }

  #route(from: Server, subscription: ClientSubscription, message: Message): void {
    const { server: to } = subscription.client;
    const random = this.#world.random('loss');
    if (this.lostOneIn > 0 && random.int(this.lostOneIn) === 0) return;
    if (from === to) {
      this.#deliver(subscription, message);
      return;
    }
    // Between servers, messages over a cut connection are lost, not delayed.
    if (!this.network.isWhole(from.name, to.name)) return;
    const way = `${from.name}>${to.name}`;
    const { nowMs, steps: step } = this.#world;
    const last = this.#routes.get(way);
    // Messages of one task arrive together.
    if (last?.step === step) {
      last.routed.push([subscription, message]);
      return;
    }
    const atMs = Math.max(last?.atMs ?? 0, nowMs + this.network.delayMs(from.name, to.name));
    const routed: Route['routed'] = [[subscription, message]];
    this.#routes.set(way, { step, atMs, routed });
    this.#world.at(to.party, atMs - nowMs, 'route', () => {
      for (const [each, own] of routed) this.#deliver(each, own);
    });
  }

  #deliver(subscription: ClientSubscription, message: Message): void {
    this.#send(subscription, message);
    if (this.doubledOneIn === 0 || asksForAnswer(message)) return;
    const random = this.#world.random('doubled');
    if (random.int(this.doubledOneIn) > 0) return;
    const { party } = subscription.client.server;
    this.#world.at(party, random.int(this.againMs), 'again', () => this.#send(subscription, message));
  }

  #send(subscription: ClientSubscription, message: Message): void {
    const { client, sid } = subscription;
    const { subject, reply, headers, body } = message;
    if (client.subscriptions.get(sid) !== subscription) return;
    if (--subscription.left === 0) this.#unsubscribe(client, sid);
    const { party } = client.link.client;
    const arrived = reply === '' ? undefined : () => this.tap?.arrived(party, message);
    client.link.send('client', messageBytes(subject, sid, reply, headers, body), arrived);
  }

  #accept(server: Server, link: LinkEnds): void {
    const client: ClientConnection = { server, link, subscriptions: new Map() };
    server.clients.add(client);
    const reader = new ClientReader();
    link.server.end.onClose = () => this.#drop(client);
    link.server.end.onData = (bytes) => this.#read(client, reader, bytes);
    link.send('client', Buffer.from(`INFO ${JSON.stringify(this.#info(server))}\r\n`));
  }

  #info(server: Server): object {
    const { isClustered } = this.settings;
    const [host, port] = server.address.split(':');
    return {
      ...{
        server_id: `id-${server.name}`,
        server_name: server.name,
        version: VERSION,
        proto: 1,
        host,
        port: Number(port),
      },
      ...{ headers: true, max_payload: MAX_PAYLOAD_BYTES, jetstream: true, client_id: ++this.#clientId },
      ...(isClustered && { cluster: 'vouch' }),
    };
  }

  #read(client: ClientConnection, reader: ClientReader, bytes: Buffer): void {
    const { link, server } = client;
    // Messages in flight are lost when the connection breaks.
    if (!server.clients.has(client)) return;
    for (const op of reader.read(bytes))
      switch (op.op) {
        case 'ping':
          link.send('client', Buffer.from('PONG\r\n'));
          break;
        case 'sub': {
          const { subject: pattern, queue, sid } = op;
          const subscription = { pattern, queue, sid, client, left: Number.POSITIVE_INFINITY };
          client.subscriptions.set(sid, subscription);
          this.#interest.add(subscription);
          break;
        }
        case 'unsub':
          if (op.max === 0) this.#unsubscribe(client, op.sid);
          else this.#limit(client, op.sid, op.max);
          break;
        case 'pub':
          this.#published(server, client, op);
          break;
        default:
      }
  }

  #limit(client: ClientConnection, sid: string, most: number): void {
    const subscription = client.subscriptions.get(sid);
    if (subscription !== undefined) subscription.left = most;
  }

  #published(server: Server, client: ClientConnection, message: Message): void {
    const { party } = client.link.client;
    this.tap?.published(party, message);
    const isTaken = this.onPublish(server, message, party);
    if (this.publish(server, message) || isTaken || message.reply === '') return;
    const answer = { subject: message.reply, reply: '', headers: headerBytes({}, '503'), body: NO_BYTES };
    // Answers go to the connection that asked.
    for (const each of this.#interest.find(message.reply))
      if (each.client === client) {
        this.#deliver(each, answer);
        return;
      }
  }

  #unsubscribe(client: ClientConnection, sid: string): void {
    const subscription = client.subscriptions.get(sid);
    if (subscription === undefined) return;
    client.subscriptions.delete(sid);
    this.#interest.remove(subscription);
  }

  #drop(client: ClientConnection): void {
    for (const sid of [...client.subscriptions.keys()]) this.#unsubscribe(client, sid);
    client.server.clients.delete(client);
  }
}
