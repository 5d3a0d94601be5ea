/** One served subject: hands its messages to the handler, answers them, and counts. */
import {
  type Msg,
  type MsgHdrs,
  MsgHdrsImpl,
  ServiceErrorCodeHeader,
  ServiceErrorHeader,
  type Subscription,
} from 'nats';
import { DURATION_MAX_MS } from '../../config/config.js';
import { messageOf } from '../errors/errors.js';
import { reuseLong } from '../longMemory.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { isAnswerable } from '../nats/roles.js';
import { ASKS_AFTER_HEADER, packTokens, unpackTokens } from './askingAfter.js';
import {
  CONFIRMATION,
  DividedBody,
  isConfirmation,
  isDivided,
  type PartialRequests,
  type PartPlace,
  partPlaceOf,
} from './natsParts.js';
import type { SenderClocks } from './senderClocks.js';
import { ENDPOINTS, type Endpoint, endpointOf } from './subjects.js';
import { type Envelope, type Handler, packedBody, type Serving } from './transport.js';
import { speaksAnother } from './transportErrors.js';

const REQUEST_ID_HEADER = 'Vouch-Request-Id';
/** `<time of sending> <milliseconds left then>`, by the sender's clock: see `senderClocks.ts`. */
const DEADLINE_HEADER = 'Vouch-Deadline';
/** The sender's `PROTOCOL_VERSION`. */
const PROTOCOL_HEADER = 'Vouch-Protocol';
/** Processes before 0.2 state no version. */
const UNSTATED = '0';

/** Queue group: if several processes serve a subject, one of them gets each message. */
const GROUP = 'vouch';

/** Counts of an endpoint's messages, for `nats micro stats`. */
export interface Served {
  /** Received messages; each has one or more calls. */
  requests: number;
  failed: number;
  lastFailure: string;
  /** Messages that arrived after their deadline and were dropped. */
  late: number;
  inFlight: number;
  /** Time from arrival to answer, of all messages together. */
  tookMs: number;
}

export const newServed = (): Served => ({ requests: 0, failed: 0, lastFailure: '', late: 0, inFlight: 0, tookMs: 0 });

/** The counts of every endpoint. */
export type ServedCounts = ReadonlyMap<Endpoint, Served>;

export const newServedCounts = (): ServedCounts =>
  new Map((Object.keys(ENDPOINTS) as Endpoint[]).map((endpoint) => [endpoint, newServed()]));

/** The state that all served subjects of a transport share. */
interface ServingContext {
  readonly connection: ClusterConnection;
  readonly counts: ServedCounts;
  readonly senders: SenderClocks;
  readonly protocol: number;
  /** Versions of refused senders: the first call of each is logged. */
  readonly otherVersions: Set<string>;
  readonly maxPayloadBytes: () => number;
  /** Reply subjects of the requests in progress. */
  readonly replies: Set<string>;
  readonly partial: PartialRequests;
}

export class NatsServing implements Serving {
  readonly #subscription: Subscription;
  /** Reply subject → its answer, while the parts are sent. */
  readonly #answers = new Map<string, DividedBody>();
  #inFlight = 0;
  #idle: (() => void) | undefined;
  #stopping: Promise<void> | undefined;

  constructor(
    subject: string,
    private readonly handler: Handler,
    private readonly context: ServingContext,
  ) {
    this.#subscription = context.connection.nc.subscribe(subject, {
      queue: GROUP,
      callback: (_error, msg) => void this.#take(msg),
    });
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#finish();
    return this.#stopping;
  }

  async #finish(): Promise<void> {
    for (const answer of this.#answers.values()) answer.hurry();
    // A drain waits until the server confirms the end, which a broken connection cannot.
    if (this.context.connection.connected) await this.#subscription.drain().catch(() => undefined);
    else this.#subscription.unsubscribe();
    if (this.#inFlight > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
  }

  async #take(msg: Msg): Promise<void> {
    if (!isAnswerable(msg)) {
      if (isConfirmation(msg.headers)) this.#answers.get(Buffer.from(msg.data).toString())?.confirm();
      return;
    }
    const { connection, senders, replies } = this.context;
    const { clock } = connection;
    const sent = sentOf(msg);
    if (!sent && msg.headers?.has(ASKS_AFTER_HEADER)) return this.#answerLost(msg);
    // Another subject under a served wildcard is not an endpoint, and has no counts.
    const served = this.context.counts.get(endpointOf(msg.subject)) ?? newServed();
    const place = partPlaceOf(msg, this.context.maxPayloadBytes());
    if (place === undefined || place.offset === 0) served.requests++;
    if (!sent)
      return this.#refuse(
        msg,
        served,
        `the headers ${REQUEST_ID_HEADER} and ${DEADLINE_HEADER} are missing or malformed`,
      );
    const { requestId, sentMs, protocol } = sent;
    if (protocol !== String(this.context.protocol)) return this.#refuse(msg, served, this.#otherVersion(protocol, msg));
    const shiftMs = senders.shiftMs(senderOf(msg), sentMs);
    const deadlineMs = sentMs + Math.min(sent.leftMs, DURATION_MAX_MS) + shiftMs;
    if (deadlineMs <= clock.nowMs()) {
      served.late++;
      return;
    }
    if (place?.offset === 0 && !this.context.partial.hasRoom(place.bodyBytes))
      return this.#refuse(msg, served, 'the process that serves this request has too many long ones; retry shortly');
    const { reply = '' } = msg;
    replies.add(reply);
    const request = place === undefined ? msg.data : this.#whole(msg, place, deadlineMs);
    if (request === undefined) return;
    const cameMs = clock.monotonicMs();
    this.#inFlight++;
    served.inFlight++;
    try {
      const body = await this.handler({ subject: msg.subject, body: request, requestId, deadlineMs, shiftMs });
      const answer = packedBody(body);
      await this.#answer(msg, answer, deadlineMs);
      // The calls are over, and what outlives them was copied.
      if (place !== undefined && answer.buffer !== request.buffer) reuseLong(request);
    } catch (error) {
      connection.logger.error({ error, subject: msg.subject, requestId }, 'a handler failed');
      this.#refuse(msg, served, 'the process that serves this request failed; retry shortly');
    } finally {
      replies.delete(reply);
      served.tookMs += clock.monotonicMs() - cameMs;
      served.inFlight--;
      if (--this.#inFlight === 0) this.#idle?.();
    }
  }

  async #answer(msg: Msg, body: Uint8Array, deadlineMs: number): Promise<void> {
    const { connection } = this.context;
    if (body.length > this.context.maxPayloadBytes())
      throw new Error(`an answer of ${body.length} bytes is larger than a message can be`);
    // The sender may be connected to another server of the cluster, and waits for our reconnection.
    if (!connection.connected) await connection.untilConnected(deadlineMs - connection.clock.nowMs());
    if (!connection.connected) return;
    if (!isDivided(msg.subject, body)) {
      msg.respond(body);
      return;
    }
    const { reply = '' } = msg;
    const divided: DividedBody = new DividedBody(body, new MsgHdrsImpl(), (part, headers) => {
      // Without its last parts the answer is lost. The sender of the request learns that when it asks after the answer.
      if (connection.connected) msg.respond(part, { headers });
      else divided.cancel();
    });
    if (this.#stopping !== undefined) divided.hurry();
    this.#answers.set(reply, divided);
    await divided.send().finally(() => this.#answers.delete(reply));
  }

  /** Returns the body of a request; undefined before its last part. Confirms the other parts. */
  #whole(msg: Msg, place: PartPlace, deadlineMs: number): Uint8Array | undefined {
    const { connection, partial } = this.context;
    const body = partial.add(msg.reply ?? '', msg.data, place, deadlineMs - connection.clock.nowMs());
    if (body === undefined) this.#respond(msg, undefined, CONFIRMATION);
    return body;
  }

  #otherVersion(protocol: string, { subject }: Msg): string {
    const { connection, otherVersions } = this.context;
    const reason = speaksAnother('the sender of a call', protocol, this.context.protocol);
    if (!otherVersions.has(protocol)) connection.logger.error({ subject }, reason);
    otherVersions.add(protocol);
    return reason;
  }

  /** Answers which of these requests are not in progress here: see `askingAfter.ts`. */
  #answerLost(msg: Msg): void {
    const { replies } = this.context;
    const sender = senderOf(msg);
    const lost = unpackTokens(msg.data).filter((token) => !replies.has(`${sender}.${token}`));
    if (lost.length > 0) this.#respond(msg, packTokens(lost));
  }

  #refuse(msg: Msg, served: Served, reason: string): void {
    served.failed++;
    served.lastFailure = reason;
    this.#respond(msg, undefined, serviceError(reason));
  }

  /** Sends an answer. If that fails, the sender asks about its request, or waits until its deadline. */
  #respond(msg: Msg, body: Uint8Array | undefined, headers?: MsgHdrs): void {
    const { connection } = this.context;
    if (!connection.connected) return;
    try {
      msg.respond(body, headers && { headers });
    } catch (error) {
      connection.logger.warn({ error: messageOf(error) }, 'an answer could not be sent');
    }
  }
}

/** The headers of an error in the form of NATS' service framework, so that its tools show it. */
export const serviceError = (reason: string): MsgHdrs =>
  MsgHdrsImpl.fromRecord({ [ServiceErrorCodeHeader]: ['503'], [ServiceErrorHeader]: [reason] });

/** Encodes the headers of a request. */
export const headersOf = ({ requestId, deadlineMs }: Envelope, nowMs: number, protocol: number): MsgHdrs =>
  MsgHdrsImpl.fromRecord({
    [REQUEST_ID_HEADER]: [requestId],
    [DEADLINE_HEADER]: [`${nowMs} ${deadlineMs - nowMs}`],
    [PROTOCOL_HEADER]: [String(protocol)],
  });

interface SentMessage {
  readonly requestId: string;
  readonly sentMs: number;
  readonly leftMs: number;
  readonly protocol: string;
}

/** Decodes the headers in one pass: each look-up by name goes through all of them. */
function sentOf(msg: Msg): SentMessage | undefined {
  let requestId: string | undefined;
  let times: string | undefined;
  let protocol = UNSTATED;
  for (const [name, values] of msg.headers ?? []) {
    if (name === REQUEST_ID_HEADER) requestId = values[0];
    else if (name === DEADLINE_HEADER) times = values[0];
    else if (name === PROTOCOL_HEADER) protocol = values[0] ?? UNSTATED;
  }
  if (requestId === undefined || times === undefined) return undefined;
  const space = times.indexOf(' ');
  const sentMs = Number(times.slice(0, space));
  const leftMs = Number(times.slice(space + 1));
  return space > 0 && Number.isFinite(sentMs) && Number.isFinite(leftMs)
    ? { requestId, sentMs, leftMs, protocol }
    : undefined;
}

/** The sender's inbox; each of its requests has a token below it. */
function senderOf({ reply = '' }: Msg): string {
  return reply.slice(0, reply.lastIndexOf('.'));
}
