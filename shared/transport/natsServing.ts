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
import type { Envelope, Handler, Serving } from './transport.js';

export const REQUEST_ID_HEADER = 'Vouch-Request-Id';
export const DEADLINE_HEADER = 'Vouch-Deadline';

/** Where several processes serve a subject for a moment, one of them gets a message. */
const GROUP = 'vouch';

/** Shared by everything that a transport serves. */
export interface ServedCounts {
  answered: number;
  failed: number;
  /** Past their deadline when they came, and dropped. */
  late: number;
  underWay: number;
}

export interface ServingContext {
  readonly connection: ClusterConnection;
  readonly counts: ServedCounts;
  readonly maxPayloadBytes: () => number;
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
    const { counts, connection } = this.context;
    const envelope = envelopeOf(msg);
    if (!envelope) return this.refuse(msg, `the headers ${REQUEST_ID_HEADER} and ${DEADLINE_HEADER} are missing`);
    if (envelope.deadlineMs <= connection.clock.nowMs()) {
      counts.late++;
      return;
    }
    this.underWay++;
    counts.underWay++;
    try {
      const { requestId, deadlineMs } = envelope;
      const body = await this.handler({ subject: msg.subject, body: msg.data, requestId, deadlineMs });
      this.answer(msg, body);
    } catch (error) {
      connection.logger.error({ error, subject: msg.subject, requestId: envelope.requestId }, 'a handler failed');
      this.refuse(msg, 'the process that serves this request failed; retry shortly');
    } finally {
      counts.underWay--;
      if (--this.underWay === 0) this.idle?.();
    }
  }

  private answer(msg: Msg, body: Uint8Array): void {
    if (body.length > this.context.maxPayloadBytes())
      throw new Error(`an answer of ${body.length} bytes is larger than a message can be`);
    // Over a lost connection an answer reaches nobody, and the one who asked has been told so already.
    if (this.context.connection.connected) msg.respond(body);
    this.context.counts.answered++;
  }

  /** As NATS' service framework answers errors, so that its tools show them. */
  private refuse(msg: Msg, reason: string): void {
    this.context.counts.failed++;
    if (!this.context.connection.connected) return;
    const headers = MsgHdrsImpl.fromRecord({ [ServiceErrorCodeHeader]: ['503'], [ServiceErrorHeader]: [reason] });
    try {
      msg.respond(undefined, { headers });
    } catch (error) {
      this.context.connection.logger.warn({ error: messageOf(error) }, 'an answer could not be sent');
    }
  }
}

export const headersOf = ({ requestId, deadlineMs }: Envelope): MsgHdrs =>
  MsgHdrsImpl.fromRecord({ [REQUEST_ID_HEADER]: [requestId], [DEADLINE_HEADER]: [String(deadlineMs)] });

/** One pass over the headers: look-ups by name go through all of them each. */
function envelopeOf(msg: Msg): Envelope | undefined {
  let requestId: string | undefined;
  let deadlineMs: number | undefined;
  for (const [name, values] of msg.headers ?? []) {
    if (name === REQUEST_ID_HEADER) requestId = values[0];
    else if (name === DEADLINE_HEADER) deadlineMs = Number(values[0]);
  }
  return requestId === undefined || deadlineMs === undefined || Number.isNaN(deadlineMs)
    ? undefined
    : { requestId, deadlineMs };
}
