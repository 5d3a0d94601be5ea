/**
 * A transport between the parts of one process. Bodies are passed without a copy, and unpacked, so a sender must not change them.
 * Like over a network, a message is delivered after the call, to the server at that moment.
 */
import { type Clock, systemClock } from '../clock.js';
import { messageOf, refusal, unavailable, type VouchError } from '../errors/errors.js';
import { overloaded } from '../errors/overloaded.js';
import type { Logger } from '../logger.js';
import {
  type Body,
  bodySizeBytes,
  type Envelope,
  type Handler,
  type Listener,
  type Message,
  type Serving,
  type Transport,
  type TransportLoad,
} from './transport.js';
import { NotServed } from './transportErrors.js';

/** Largest message: that of our NATS servers, less room for headers. */
const PAYLOAD_BYTES_MAX = 16 * 1024 * 1024 - 4 * 1024;

/** Bounds of the unanswered requests. */
const REQUESTS_MAX = 65_536;
const BYTES_MAX = 256 * 1024 * 1024;

/** The longest time of a timer. */
const TIMER_MAX_MS = 2 ** 31 - 1;

interface Server {
  readonly tokens: readonly string[];
  readonly handler: Handler;
  readonly inFlight: Set<Promise<void>>;
}

interface Pending {
  readonly subject: string;
  readonly body: Body;
  readonly sizeBytes: number;
  readonly envelope: Envelope;
  readonly timer: NodeJS.Timeout;
  resolve(answer: Body): void;
  reject(error: Error): void;
}

export class InProcessTransport implements Transport {
  readonly maxPayloadBytes = PAYLOAD_BYTES_MAX;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Servers by exact subject: there may be thousands. */
  readonly #exact = new Map<string, Server[]>();
  readonly #wildcards: Server[] = [];
  readonly #listeners = new Map<Listener, readonly string[]>();
  readonly #pending = new Set<Pending>();
  #pendingBytes = 0;
  readonly #inFlight = new Set<Promise<void>>();
  /** Alternates the servers of a subject. */
  #turn = 0;
  #closed = false;

  constructor(options: { readonly logger: Logger; readonly clock?: Clock }) {
    this.#logger = options.logger;
    this.#clock = options.clock ?? systemClock;
  }

  get load(): TransportLoad {
    return { requests: this.#pending.size, bytes: this.#pendingBytes, unsentBytes: 0 };
  }

  async request(subject: string, body: Body, envelope: Envelope): Promise<Body> {
    if (this.#closed) throw closed();
    if (isTooLong(body)) throw refusal('payload_too_large', 'message', { bytes: body.length, max: PAYLOAD_BYTES_MAX });
    const sizeBytes = bodySizeBytes(body);
    const remainingMs = envelope.deadlineMs - this.#clock.nowMs();
    if (remainingMs < 0) throw late(subject);
    if (this.#serverOf(subject) === undefined) throw new NotServed();
    if (this.#pending.size >= REQUESTS_MAX || this.#pendingBytes + sizeBytes > BYTES_MAX) throw overloaded('messages');
    return new Promise((resolve, reject) => {
      const fail = (): void => this.#settle(pending).reject(late(subject));
      const timer = setTimeout(fail, Math.min(remainingMs, TIMER_MAX_MS));
      const pending: Pending = { subject, body, sizeBytes, envelope, timer, resolve, reject };
      this.#pending.add(pending);
      this.#pendingBytes += sizeBytes;
      setImmediate(() => this.#deliver(pending));
    });
  }

  async serve(subject: string, handler: Handler): Promise<Serving> {
    if (this.#closed) throw closed();
    const server: Server = { tokens: subject.split('.'), handler, inFlight: new Set() };
    const servers = this.#serversAt(subject);
    servers.push(server);
    return {
      stop: async () => {
        const index = servers.indexOf(server);
        if (index >= 0) servers.splice(index, 1);
        if (servers.length === 0 && this.#exact.get(subject) === servers) this.#exact.delete(subject);
        await Promise.all(server.inFlight);
      },
    };
  }

  publish(subject: string, body: Uint8Array): void {
    if (this.#closed || this.#listeners.size === 0 || body.length > PAYLOAD_BYTES_MAX) return;
    const tokens = subject.split('.');
    for (const [registered, pattern] of this.#listeners)
      if (matches(pattern, tokens)) setImmediate(() => this.#notify(registered, subject, body));
  }

  async listen(subject: string, listener: Listener): Promise<Serving> {
    if (this.#closed) throw closed();
    // A function of its own: one listener may be registered twice.
    const registered: Listener = (...published) => listener(...published);
    this.#listeners.set(registered, subject.split('.'));
    return {
      stop: async () => {
        this.#listeners.delete(registered);
      },
    };
  }

  /** Rejects unanswered requests, and resolves when no handler is running. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#exact.clear();
    this.#wildcards.length = 0;
    this.#listeners.clear();
    for (const pending of this.#pending) this.#settle(pending).reject(closed());
    await Promise.all(this.#inFlight);
  }

  #notify(registered: Listener, subject: string, body: Uint8Array): void {
    if (!this.#listeners.has(registered)) return;
    try {
      registered(subject, body);
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

  #settle(pending: Pending): Pending {
    clearTimeout(pending.timer);
    if (this.#pending.delete(pending)) this.#pendingBytes -= pending.sizeBytes;
    return pending;
  }

  #deliver(pending: Pending): void {
    if (!this.#pending.has(pending)) return;
    const { subject, envelope } = pending;
    const server = this.#serverOf(subject);
    if (this.#clock.nowMs() > envelope.deadlineMs) this.#settle(pending).reject(late(subject));
    else if (server === undefined) this.#settle(pending).reject(new NotServed());
    else this.#start(server, pending);
  }

  #start(server: Server, pending: Pending): void {
    const { subject, body, envelope } = pending;
    const { requestId, deadlineMs } = envelope;
    const handling = this.#handle(server.handler, pending, { subject, body, requestId, deadlineMs, shiftMs: 0 });
    server.inFlight.add(handling);
    this.#inFlight.add(handling);
    void handling.finally(() => {
      server.inFlight.delete(handling);
      this.#inFlight.delete(handling);
    });
  }

  async #handle(handler: Handler, pending: Pending, message: Message): Promise<void> {
    const { subject, requestId } = message;
    try {
      const answer = await handler(message);
      if (isTooLong(answer)) throw new Error(`the answer has ${answer.length} bytes`);
      this.#settle(pending).resolve(answer);
    } catch (error) {
      this.#logger.error({ subject, requestId, error: messageOf(error) }, 'a handler failed');
      this.#settle(pending).reject(unavailable(`${subject} could not answer`));
    }
  }
}

/** Values need no message that is long enough. */
const isTooLong = (body: Body): body is Uint8Array => body instanceof Uint8Array && body.length > PAYLOAD_BYTES_MAX;

const matches = (pattern: readonly string[], tokens: readonly string[]): boolean =>
  pattern.length === tokens.length && pattern.every((token, i) => token === '*' || token === tokens[i]);

const late = (subject: string): VouchError => unavailable(`${subject} did not answer before the deadline`);
const closed = (): VouchError => unavailable('the transport is closed');
