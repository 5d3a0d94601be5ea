/**
 * A transport between the parts of one process: bodies are handed over as they are, so neither side may change one it has
 * sent. All else is as over a network: delivery comes later than the call, and only to who serves by then.
 */
import { type Clock, systemClock } from '../clock.js';
import { messageOf, unavailable, VouchError } from '../errors.js';
import type { Logger } from '../logger.js';
import { overloaded } from '../overloaded.js';
import { NobodyServes } from './nobodyServes.js';
import type { Envelope, Handler, Listener, Message, Serving, Transport, TransportLoad } from './transport.js';

/** What a NATS server of ours carries, less room for headers. */
const PAYLOAD_BYTES_MAX = 16 * 1024 * 1024 - 4 * 1024;

/** Unanswered at once. */
const REQUESTS_MAX = 65_536;
const BYTES_MAX = 256 * 1024 * 1024;

/** The longest that a timer can wait. */
const TIMER_MAX_MS = 2 ** 31 - 1;

interface Server {
  readonly tokens: readonly string[];
  readonly handler: Handler;
  readonly underWay: Set<Promise<void>>;
}

interface Pending {
  readonly subject: string;
  readonly body: Uint8Array;
  readonly envelope: Envelope;
  resolve(answer: Uint8Array): void;
  reject(error: Error): void;
}

export class InProcessTransport implements Transport {
  readonly maxPayloadBytes = PAYLOAD_BYTES_MAX;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By subject; of those that leave only the last token open, too, as they are written: there may be thousands. */
  readonly #exact = new Map<string, Server[]>();
  readonly #wildcards: Server[] = [];
  readonly #listeners = new Map<Listener, readonly string[]>();
  readonly #pending = new Set<Pending>();
  #pendingBytes = 0;
  readonly #underWay = new Set<Promise<void>>();
  /** Turns the servers of a subject. */
  #turn = 0;
  #closed = false;

  constructor(options: { readonly logger: Logger; readonly clock?: Clock }) {
    this.#logger = options.logger;
    this.#clock = options.clock ?? systemClock;
  }

  get load(): TransportLoad {
    return { requests: this.#pending.size, bytes: this.#pendingBytes, unsentBytes: 0 };
  }

  async request(subject: string, body: Uint8Array, envelope: Envelope): Promise<Uint8Array> {
    if (this.#closed) throw closed();
    if (body.length > PAYLOAD_BYTES_MAX)
      throw new VouchError('payload_too_large', `a message of ${body.length} bytes; ${PAYLOAD_BYTES_MAX} can be sent`);
    const remainingMs = envelope.deadlineMs - this.#clock.nowMs();
    if (remainingMs < 0) throw late(subject);
    if (this.#serverOf(subject) === undefined) throw new NobodyServes();
    if (this.#pending.size >= REQUESTS_MAX || this.#pendingBytes + body.length > BYTES_MAX)
      throw overloaded('messages');
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        if (this.#pending.delete(pending)) this.#pendingBytes -= body.length;
      };
      const pending: Pending = {
        subject,
        body,
        envelope,
        resolve: (answer) => {
          settle();
          resolve(answer);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      const timer = setTimeout(() => pending.reject(late(subject)), Math.min(remainingMs, TIMER_MAX_MS));
      this.#pending.add(pending);
      this.#pendingBytes += body.length;
      setImmediate(() => this.#deliver(pending));
    });
  }

  async serve(subject: string, handler: Handler): Promise<Serving> {
    if (this.#closed) throw closed();
    const server: Server = { tokens: subject.split('.'), handler, underWay: new Set() };
    const servers = this.#serversAt(subject);
    servers.push(server);
    return {
      stop: async () => {
        const index = servers.indexOf(server);
        if (index >= 0) servers.splice(index, 1);
        if (servers.length === 0 && this.#exact.get(subject) === servers) this.#exact.delete(subject);
        await Promise.all(server.underWay);
      },
    };
  }

  publish(subject: string, body: Uint8Array): void {
    if (this.#closed || this.#listeners.size === 0 || body.length > PAYLOAD_BYTES_MAX) return;
    const tokens = subject.split('.');
    for (const [heard, pattern] of this.#listeners)
      if (matches(pattern, tokens)) setImmediate(() => this.#hear(heard, subject, body));
  }

  async listen(subject: string, listener: Listener): Promise<Serving> {
    if (this.#closed) throw closed();
    // Of its own, so that one function may listen twice.
    const heard: Listener = (...published) => listener(...published);
    this.#listeners.set(heard, subject.split('.'));
    return {
      stop: async () => {
        this.#listeners.delete(heard);
      },
    };
  }

  /** Refuses what waits for an answer, and resolves when no handler is at work. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#exact.clear();
    this.#wildcards.length = 0;
    this.#listeners.clear();
    for (const pending of this.#pending) pending.reject(closed());
    await Promise.all(this.#underWay);
  }

  #hear(heard: Listener, subject: string, body: Uint8Array): void {
    if (!this.#listeners.has(heard)) return;
    try {
      heard(subject, body);
    } catch (error) {
      this.#logger.error({ subject, error: messageOf(error) }, 'a listener failed');
    }
  }

  #serversAt(subject: string): Server[] {
    if (subject.includes('*') && subject.indexOf('*') !== subject.length - 1) return this.#wildcards;
    const servers = this.#exact.get(subject) ?? [];
    this.#exact.set(subject, servers);
    return servers;
  }

  #serverOf(subject: string): Server | undefined {
    const exact = this.#exact.get(subject) ?? [];
    const siblings = this.#exact.get(`${subject.slice(0, subject.lastIndexOf('.'))}.*`) ?? [];
    if (exact.length + siblings.length === 1 && this.#wildcards.length === 0) return exact[0] ?? siblings[0];
    const tokens = subject.split('.');
    const all = [...exact, ...siblings, ...this.#wildcards.filter((server) => matches(server.tokens, tokens))];
    return all.length === 0 ? undefined : all[this.#turn++ % all.length];
  }

  #deliver(pending: Pending): void {
    if (!this.#pending.has(pending)) return;
    const { subject, envelope } = pending;
    const server = this.#serverOf(subject);
    if (this.#clock.nowMs() > envelope.deadlineMs) pending.reject(late(subject));
    else if (server === undefined) pending.reject(new NobodyServes());
    else this.#start(server, pending);
  }

  #start(server: Server, pending: Pending): void {
    const { subject, body, envelope } = pending;
    const { requestId, deadlineMs } = envelope;
    const handling = this.#handle(server.handler, pending, { subject, body, requestId, deadlineMs, shiftMs: 0 });
    server.underWay.add(handling);
    this.#underWay.add(handling);
    void handling.finally(() => {
      server.underWay.delete(handling);
      this.#underWay.delete(handling);
    });
  }

  async #handle(handler: Handler, pending: Pending, message: Message): Promise<void> {
    const { subject, requestId } = message;
    try {
      const answer = await handler(message);
      if (answer.length > PAYLOAD_BYTES_MAX) throw new Error(`the answer has ${answer.length} bytes`);
      pending.resolve(answer);
    } catch (error) {
      this.#logger.error({ subject, requestId, error: messageOf(error) }, 'a handler failed');
      pending.reject(unavailable(`${subject} could not answer`));
    }
  }
}

const matches = (pattern: readonly string[], tokens: readonly string[]): boolean =>
  pattern.length === tokens.length && pattern.every((token, i) => token === '*' || token === tokens[i]);

const late = (subject: string): VouchError => unavailable(`${subject} did not answer before the deadline`);
const closed = (): VouchError => unavailable('the transport is closed');
