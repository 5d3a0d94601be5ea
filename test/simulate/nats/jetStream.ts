/** JetStream of the simulated servers: streams, consumers and their API, over the broker. */
import type { Network } from '../network/network.js';
import type { Party } from '../world/party.js';
import type { World } from '../world/world.js';
import {
  acknowledgement,
  directHeaders,
  foundMessage,
  type InfoQuery,
  isSame,
  type MessageQuery,
  messageAnswer,
  REFUSED,
  refused,
  settingsOf,
  streamInfo,
} from './api.js';
import { type Broker, type Message, NO_BYTES, type Server } from './broker.js';
import { Consumer, type ConsumerSettings } from './consumer.js';
import { Heartbeats } from './heartbeats.js';
import { Interest, matches, type Subscription } from './interest.js';
import { Interruptions } from './interruptions.js';
import { headerBytes, headerIn } from './protocol.js';
import { type Peers, Stream } from './stream.js';
import type { PublishOp, StoredMessage } from './streamState.js';

const API = '$JS.API.';
export const EXPECTED = 'Nats-Expected-Last-Subject-Sequence';
const EXPECTED_SUBJECT = `${EXPECTED}-Subject`;
/** Milliseconds to create a stream, which takes an election. */
const CREATE_MS = 3;
const DELIVER_MS = 0.1;

/** Whether the stream holds logs of collections. */
export const isLog = (stream: string): boolean => stream.startsWith('VOUCH_LOG_');

/** Sends an answer; a string is already JSON. */
type Answer = (body: object | string | Buffer, headers?: Buffer) => void;

interface Request {
  readonly verb: string;
  readonly tokens: readonly string[];
  /** The stream's name, and the stream if there is one. */
  readonly name: string;
  readonly stream: Stream | undefined;
  readonly query: Record<string, unknown>;
}

export class JetStream {
  readonly streams = new Map<string, Stream>();
  /** One acknowledgement in this many is lost after the message is stored; 0: none. */
  lostAckOneIn = 0;
  /** Called with each stored message, as soon as one server has it. */
  onStored: (op: PublishOp) => void = () => undefined;
  readonly interruptions = new Interruptions();
  /** Longest additional time to store an append to a log, in milliseconds. */
  slowMs = 0;
  /** Streams with late deliveries, and the largest delay of each consumer, in milliseconds. */
  late: { readonly isLate: (stream: string) => boolean; readonly ms: number } | undefined;
  readonly #consumers = new Map<string, Consumer>();
  readonly #heartbeats: Heartbeats;
  readonly #subjects = new Interest<Subscription & { readonly stream: Stream }>();
  readonly #world: World;
  readonly #peers: Peers;
  #consumerNumber = 0;

  constructor(
    private readonly broker: Broker,
    private readonly network: Network,
    private readonly names: readonly string[],
  ) {
    const { world } = network;
    this.#world = world;
    this.#peers = {
      world,
      isUp: (server) => broker.isUp(server),
      isWhole: (one, other) => one === other || network.isWhole(one, other),
      delayMs: (from, to) => network.delayMs(from, to),
      slowMs: (stream) => (isLog(stream) ? this.slowMs * world.random('slow').next() : 0),
      wallMs: (server) => world.wallMs(broker.servers.get(server)?.party ?? world.root),
    };
    this.#heartbeats = new Heartbeats(world, broker, this.#consumers);
    broker.onPublish = (server, message, from) => this.#take(server, message, from);
    network.onHealed(() => this.reconsider());
  }

  /** Call it when a server starts or stops, or a connection is cut or healed. */
  reconsider(): void {
    for (const [name, consumer] of this.#consumers)
      if (!this.broker.isUp(consumer.server)) this.#consumers.delete(name);
    for (const stream of this.streams.values()) stream.reconsider();
  }

  /** Everything stored so far survives a power loss. */
  sync(): void {
    for (const stream of this.streams.values()) stream.sync();
  }

  /** Call it when all servers are down and have lost power, see `Stream`. */
  losePower(isSynced: boolean): void {
    this.#consumers.clear();
    for (const stream of this.streams.values()) stream.losePower(isSynced);
  }

  /** Stored messages, stream by stream, oldest first, without those in flight. They are those of a server that lacks none. */
  *stored(): Generator<StoredMessage> {
    for (const stream of this.streams.values()) {
      const states = stream.servers.map((server) => stream.stateAt(server));
      const state = states.reduce((newest, other) => (other.lastSeq > newest.lastSeq ? other : newest));
      for (const seq of state.from(0, '>')) yield state.get(seq)!;
    }
  }

  #take(server: Server, message: Message, from: Party): boolean {
    if (message.subject.startsWith(API)) return this.#request(server, message);
    const stream = this.#streamOf(message.subject);
    if (stream === undefined) return false;
    const leader = this.#reached(server, (name) => stream.leads(name));
    // Without a leader, the message either has no subscriber, or is lost during an election.
    if (leader === undefined) return this.#world.random('no leader').int(2) === 0;
    this.#toServer(server, leader, () => this.#publish(stream, leader, message, from));
    return true;
  }

  #publish(stream: Stream, server: string, { subject, reply, headers, body }: Message, from: Party): void {
    if (!stream.leads(server)) return;
    const wanted = headerIn(headers, EXPECTED);
    const of = headerIn(headers, EXPECTED_SUBJECT) ?? subject;
    const expected = wanted === undefined ? undefined : { subject: of, sequence: Number(wanted) };
    const timeMs = this.#peers.wallMs(server);
    const op = { op: 'publish', subject, headers, body, timeMs, expected, by: from.name } as const;
    const interruption = this.interruptions.take(stream, from);
    stream.propose(server, op, (applied) => {
      if (reply === '') return;
      const isLostAnyway = interruption?.losesAcknowledgement === true;
      const isLost = isLostAnyway || (this.lostAckOneIn > 0 && this.#world.random('ack').int(this.lostAckOneIn) === 0);
      if (isLost) this.#world.note(`an acknowledgement of ${subject} is lost`, 'nats');
      else this.#answer(server, reply, acknowledgement(stream, applied));
    });
    interruption?.begin(stream, from);
  }

  #request(server: Server, message: Message): boolean {
    const tokens = message.subject.slice(API.length).split('.');
    const verb = this.#verbOf(tokens);
    const [, name = ''] = verb;
    const stream = this.streams.get(name);
    const at = this.#answerer(server, verb[0], stream);
    if (at === undefined) return verb[0] !== 'CONSUMER.DELETE' && this.#world.random('no leader').int(2) === 0;
    this.#toServer(server, at, () => {
      const query = message.body.length === 0 ? {} : (JSON.parse(message.body.toString()) as Record<string, unknown>);
      const answer: Answer = (body, headers) => this.#answer(at, message.reply, body, headers);
      this.#handle({ verb: verb[0], tokens, name, stream, query }, at, answer);
    });
    return true;
  }

  /** `STREAM.MSG.GET.X` → the verb and X. */
  #verbOf(tokens: readonly string[]): readonly [string, string | undefined] {
    const length = tokens[0] === 'INFO' ? 1 : tokens[1] === 'MSG' || tokens[1] === 'DURABLE' ? 3 : 2;
    return [tokens.slice(0, length).join('.'), tokens[length]];
  }

  /** The server that answers; undefined: none does now. */
  #answerer(from: Server, verb: string, stream: Stream | undefined): string | undefined {
    switch (verb) {
      case 'STREAM.MSG.GET':
      case 'STREAM.MSG.DELETE':
      case 'STREAM.PURGE':
      case 'STREAM.INFO':
        if (stream !== undefined) return this.#reached(from, (name) => stream.leads(name));
        return this.#reached(from, () => true);
      case 'DIRECT.GET':
      case 'CONSUMER.CREATE':
        if (stream === undefined) return this.#reached(from, () => true);
        return this.#reached(from, (name) => stream.has(name), true);
      case 'CONSUMER.DELETE':
        return from.name;
      default:
        // The leader of all of JetStream answers.
        return this.#reached(from, (name) => this.#seesMajority(name));
    }
  }

  #handle(request: Request, at: string, answer: Answer): void {
    const { verb, tokens, name, stream, query } = request;
    const isUp = (server: string): boolean => this.broker.isUp(server);
    switch (verb) {
      case 'INFO':
        answer({ limits: { max_storage: -1 }, memory: 0, storage: 0, streams: this.streams.size });
        return;
      case 'STREAM.NAMES':
      case 'STREAM.LIST':
        answer(this.#list(verb, at, query));
        return;
      case 'STREAM.CREATE':
        this.#create(name, settingsOf(query), stream, at, answer);
        return;
      case 'CONSUMER.DELETE':
        this.#consumers.delete(tokens[3] ?? '');
        return;
      default:
    }
    if (stream === undefined) {
      answer(verb === 'DIRECT.GET' ? NO_BYTES : refused(REFUSED.noStream), headerBytes({}, '404 Message Not Found'));
      return;
    }
    switch (verb) {
      case 'STREAM.INFO':
        answer(streamInfo(stream, at, isUp, query as InfoQuery));
        return;
      case 'STREAM.UPDATE': {
        const settings = settingsOf({ ...stream.stateAt(at).settings, ...query });
        this.#agree(stream, { op: 'update', settings }, () => answer(streamInfo(stream, at, isUp)));
        return;
      }
      case 'STREAM.PURGE': {
        const filter = query.filter as string | undefined;
        const seq = query.seq as number | undefined;
        stream.propose(at, { op: 'purge', filter, seq }, (applied) =>
          answer({ success: true, purged: applied.kind === 'done' ? applied.count : 0 }),
        );
        return;
      }
      case 'STREAM.MSG.DELETE': {
        const isThere = stream.stateAt(at).get(query.seq as number) !== undefined;
        if (!isThere) answer(refused(REFUSED.noMessage));
        else stream.propose(at, { op: 'delete', seq: query.seq as number }, () => answer({ success: true }));
        return;
      }
      case 'STREAM.MSG.GET': {
        const found = foundMessage(stream, at, query as MessageQuery);
        answer(found === undefined ? refused(REFUSED.noMessage) : messageAnswer(found));
        return;
      }
      case 'DIRECT.GET': {
        const found = foundMessage(stream, at, query as MessageQuery);
        if (found === undefined) answer(NO_BYTES, headerBytes({}, '404 Message Not Found'));
        else answer(found.body, directHeaders(stream, found));
        return;
      }
      case 'CONSUMER.CREATE':
        this.#consume(stream, at, query.config as Record<string, unknown>, answer);
        return;
      default:
        this.#world.note(`a request that the model does not know: ${tokens.join('.')}`, 'nats');
    }
  }

  #list(verb: string, at: string, query: Record<string, unknown>): object | string {
    const filter = query.subject as string | undefined;
    const streams = [...this.streams.values()].filter(
      (stream) =>
        filter === undefined ||
        stream.stateAt(stream.servers[0]!).settings.subjects.some((each) => each === filter || matches(filter, each)),
    );
    const total = { total: streams.length, offset: 0, limit: 1024 };
    if (verb === 'STREAM.NAMES')
      return {
        type: 'io.nats.jetstream.api.v1.stream_names_response',
        ...total,
        streams: streams.map(({ name }) => name),
      };
    const isUp = (server: string): boolean => this.broker.isUp(server);
    const head = JSON.stringify({ type: 'io.nats.jetstream.api.v1.stream_list_response', ...total });
    const infos = streams.map((each) => streamInfo(each, each.has(at) ? at : each.servers[0]!, isUp));
    return `${head.slice(0, -1)},"streams":[${infos.join(',')}]}`;
  }

  #create(
    name: string,
    settings: ReturnType<typeof settingsOf>,
    known: Stream | undefined,
    at: string,
    answer: Answer,
  ): void {
    const isUp = (server: string): boolean => this.broker.isUp(server);
    if (known !== undefined) {
      const own = known.stateAt(known.servers[0]!).settings;
      answer(isSame(own, settings) ? streamInfo(known, known.servers[0]!, isUp) : refused(REFUSED.nameInUse));
      return;
    }
    const servers = this.#placed(settings);
    if (servers.length === 0) {
      answer(refused(settings.placement === undefined ? REFUSED.replicas : REFUSED.noPeers));
      return;
    }
    const stream = new Stream(this.#peers, name, settings, servers);
    stream.onApplied = (server) => this.#applied(stream, server);
    stream.onStored = (op) => this.onStored(op);
    this.streams.set(name, stream);
    for (const pattern of settings.subjects) this.#subjects.add({ pattern, queue: undefined, stream });
    const leader = stream.leader ?? at;
    this.#world.at(this.#world.root, CREATE_MS * this.#world.random('create').next(), 'created', () =>
      answer(streamInfo(stream, leader, isUp)),
    );
  }

  #placed({ num_replicas: replicas, placement }: ReturnType<typeof settingsOf>): readonly string[] {
    const tags = (placement as { tags?: readonly string[] } | undefined)?.tags;
    if (tags !== undefined) return this.names.filter((name) => tags.includes(name)).slice(0, 1);
    if (replicas > this.names.length) return [];
    if (replicas === this.names.length) return this.names;
    return [this.#world.random('placement').pick(this.names.filter((name) => this.broker.isUp(name)))];
  }

  #agree(stream: Stream, op: Parameters<Stream['propose']>[1], done: () => void): void {
    const { leader } = stream;
    if (leader !== undefined) stream.propose(leader, op, done);
  }

  #consume(stream: Stream, at: string, config: Record<string, unknown>, answer: Answer): void {
    const name = (config.name as string | undefined) ?? `e${++this.#consumerNumber}`;
    const defaults = { filter_subject: '>', deliver_policy: 'all', opt_start_seq: 0, idle_heartbeat: 0 };
    const settings = { ...defaults, ...config, name } as unknown as ConsumerSettings;
    const consumer = new Consumer(stream, settings, at);
    this.#consumers.set(name, consumer);
    answer({
      type: 'io.nats.jetstream.api.v1.consumer_create_response',
      ...{ stream_name: stream.name, name, created: stream.created, config: settings },
      ...{ delivered: consumer.delivered, ack_floor: consumer.delivered, num_pending: consumer.pending },
      ...{ num_ack_pending: 0, num_redelivered: 0, num_waiting: 0 },
    });
    this.#deliverSoon(consumer);
    if (consumer.heartbeatMs > 0) this.#heartbeats.add(consumer);
  }

  #applied(stream: Stream, server: string): void {
    for (const consumer of this.#consumers.values())
      if (consumer.stream === stream && consumer.server === server) this.#deliverSoon(consumer);
  }

  #deliverSoon(consumer: Consumer): void {
    const server = this.broker.servers.get(consumer.server)!;
    const lateMs =
      this.late?.isLate(consumer.stream.name) === true ? this.late.ms * this.#world.random('late').next() : 0;
    this.#world.at(server.party, DELIVER_MS * this.#world.random('deliver').next() + lateMs, 'deliver', () => {
      if (this.#consumers.get(consumer.settings.name) !== consumer) return;
      for (let next = consumer.next(); next !== undefined; next = consumer.next()) {
        consumer.lastSentMs = this.#world.nowMs;
        this.#send(server, { ...next, to: consumer.settings.deliver_subject });
      }
    });
  }

  /** Sends a delivery to the consumer's subject; it names its own. */
  #send(server: Server, { to, subject, reply, headers, body }: Message & { readonly to: string }): void {
    this.broker.publishAs(server, to, { subject, reply, headers, body });
  }

  #answer(server: string, reply: string, body: object | string, headers: Buffer = NO_BYTES): void {
    if (reply === '' || !this.broker.isUp(server)) return;
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    const ownHeaders = Buffer.isBuffer(body) ? headers : NO_BYTES;
    this.broker.publish(this.broker.servers.get(server)!, {
      subject: reply,
      reply: '',
      headers: ownHeaders,
      body: bytes,
    });
  }

  #streamOf(subject: string): Stream | undefined {
    return this.#subjects.find(subject)[0]?.stream;
  }

  #toServer(from: Server, to: string, work: () => void): void {
    const { party } = this.broker.servers.get(to)!;
    const delayMs = from.name === to ? 0 : this.network.delayMs(from.name, to);
    if (delayMs === 0) work();
    else this.#world.at(party, delayMs, 'to leader', work);
  }

  /** A running server that the other reaches and that fits: itself, or the first of the others, or any. */
  #reached(from: Server, fits: (server: string) => boolean, anyOfThem = false): string | undefined {
    const able = this.names.filter(
      (name) => this.broker.isUp(name) && this.#peers.isWhole(from.name, name) && fits(name),
    );
    if (anyOfThem && able.length > 0) return this.#world.random('replica').pick(able);
    return able.includes(from.name) ? from.name : able[0];
  }

  #seesMajority(name: string): boolean {
    const seen = this.names.filter((other) => this.broker.isUp(other) && this.#peers.isWhole(name, other));
    return 2 * seen.length > this.names.length;
  }
}
