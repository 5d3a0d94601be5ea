/** One served subject: hands its messages to the handler, answers them, and counts. */
import {
  type Msg,
  type MsgHdrs,
  MsgHdrsImpl,
  ServiceErrorCodeHeader,
  ServiceErrorHeader,
  type Subscription,
} from 'nats';
import { messageOf } from '../errors.js';
import type { ClusterConnection } from '../natsConnection.js';
import { ASKS_AFTER_HEADER, packTokens, unpackTokens } from './askingAfter.js';
import type { SenderClocks } from './senderClocks.js';
import type { Served, ServedCounts } from './servedCounts.js';
import type { Envelope, Handler, Serving } from './transport.js';

const REQUEST_ID_HEADER = 'Vouch-Request-Id';
/** `<when it was sent> <milliseconds left by then>`, by the sender's clock: see `senderClocks.ts`. */
const DEADLINE_HEADER = 'Vouch-Deadline';

/** Where several processes serve a subject for a moment, one of them gets a message. */
const GROUP = 'vouch';

/** Shared by everything that a transport serves. */
export interface ServingContext {
  readonly connection: ClusterConnection;
  readonly counts: ServedCounts;
  readonly senders: SenderClocks;
  readonly maxPayloadBytes: () => number;
  /** Where the answers to what is under way go. */
  readonly replies: Set<string>;
}

export class NatsServing implements Serving {
  private readonly subscription: Subscription;
  private underWay = 0;
  private idle: (() => void) | undefined;
  private stopping: Promise<void> | undefined;

  constructor(
    subject: string,
    private readonly handler: Handler,
    private readonly context: ServingContext,
  ) {
    this.subscription = context.connection.nc.subscribe(subject, {
      queue: GROUP,
      callback: (_error, msg) => void this.take(msg),
    });
  }

  stop(): Promise<void> {
    this.stopping ??= this.finish();
    return this.stopping;
  }

  private async finish(): Promise<void> {
    // A drain waits for the server's word that nothing more will come; a broken connection cannot bring anything.
    if (this.context.connection.connected) await this.subscription.drain().catch(() => undefined);
    else this.subscription.unsubscribe();
    if (this.underWay > 0)
      await new Promise<void>((resolve) => {
        this.idle = resolve;
      });
  }

  private async take(msg: Msg): Promise<void> {
    const { connection, senders, replies } = this.context;
    const { clock } = connection;
    const sent = sentOf(msg);
    if (!sent && msg.headers?.has(ASKS_AFTER_HEADER)) return this.tellLost(msg);
    const served = this.context.counts.ofSubject(msg.subject);
    served.requests++;
    if (!sent) return this.refuse(msg, served, `the headers ${REQUEST_ID_HEADER} and ${DEADLINE_HEADER} are missing`);
    const { requestId, sentMs } = sent;
    const shiftMs = senders.shiftMs(senderOf(msg), sentMs);
    const deadlineMs = sentMs + sent.leftMs + shiftMs;
    if (deadlineMs <= clock.nowMs()) {
      served.late++;
      return;
    }
    const cameMs = clock.monotonicMs();
    const { reply = '' } = msg;
    replies.add(reply);
    this.underWay++;
    served.underWay++;
    try {
      const body = await this.handler({ subject: msg.subject, body: msg.data, requestId, deadlineMs, shiftMs });
      await this.answer(msg, body, deadlineMs);
    } catch (error) {
      connection.logger.error({ error, subject: msg.subject, requestId }, 'a handler failed');
      this.refuse(msg, served, 'the process that serves this request failed; retry shortly');
    } finally {
      replies.delete(reply);
      served.tookMs += clock.monotonicMs() - cameMs;
      served.underWay--;
      if (--this.underWay === 0) this.idle?.();
    }
  }

  private async answer(msg: Msg, body: Uint8Array, deadlineMs: number): Promise<void> {
    const { connection } = this.context;
    if (body.length > this.context.maxPayloadBytes())
      throw new Error(`an answer of ${body.length} bytes is larger than a message can be`);
    // Whoever asked may be at another server of the cluster, and waits for us to be back.
    if (!connection.connected) await connection.untilConnected(deadlineMs - connection.clock.nowMs());
    if (connection.connected) msg.respond(body);
  }

  /** Which of these questions this process does not have: see `askingAfter.ts`. */
  private tellLost(msg: Msg): void {
    const { connection, replies } = this.context;
    const sender = senderOf(msg);
    const lost = unpackTokens(msg.data).filter((token) => !replies.has(`${sender}.${token}`));
    if (lost.length > 0 && connection.connected) msg.respond(packTokens(lost));
  }

  /** As NATS' service framework answers errors, so that its tools show them. */
  private refuse(msg: Msg, served: Served, reason: string): void {
    served.failed++;
    served.lastFailure = reason;
    if (!this.context.connection.connected) return;
    const headers = MsgHdrsImpl.fromRecord({ [ServiceErrorCodeHeader]: ['503'], [ServiceErrorHeader]: [reason] });
    try {
      msg.respond(undefined, { headers });
    } catch (error) {
      this.context.connection.logger.warn({ error: messageOf(error) }, 'an answer could not be sent');
    }
  }
}

export const headersOf = ({ requestId, deadlineMs }: Envelope, nowMs: number): MsgHdrs =>
  MsgHdrsImpl.fromRecord({
    [REQUEST_ID_HEADER]: [requestId],
    [DEADLINE_HEADER]: [`${nowMs} ${deadlineMs - nowMs}`],
  });

interface SentMessage {
  readonly requestId: string;
  readonly sentMs: number;
  readonly leftMs: number;
}

/** One pass over the headers: look-ups by name go through all of them each. */
function sentOf(msg: Msg): SentMessage | undefined {
  let requestId: string | undefined;
  let times: string | undefined;
  for (const [name, values] of msg.headers ?? []) {
    if (name === REQUEST_ID_HEADER) requestId = values[0];
    else if (name === DEADLINE_HEADER) times = values[0];
  }
  if (requestId === undefined || times === undefined) return undefined;
  const space = times.indexOf(' ');
  const sentMs = Number(times.slice(0, space));
  const leftMs = Number(times.slice(space + 1));
  return space < 0 || Number.isNaN(sentMs + leftMs) ? undefined : { requestId, sentMs, leftMs };
}

/** Answers to one process come to one inbox, under a token each. */
function senderOf({ reply = '' }: Msg): string {
  return reply.slice(0, reply.lastIndexOf('.'));
}
