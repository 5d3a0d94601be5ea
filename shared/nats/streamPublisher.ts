/**
 * Publishes messages to streams and resolves when JetStream has stored them. All acknowledgements of a process go to one inbox, and one
 * timer checks all deadlines. The `publish` of nats.js makes a timer, several promises and an error with a stack for each message.
 */
import { type Msg, type MsgHdrs, MsgHdrsImpl, type NatsConnection } from 'nats';
import type { Clock } from '../clock.js';
import { unavailable, type VouchError } from '../errors/errors.js';
import { fromNats, NoJetStream, refusalOf } from './natsError.js';

/** Header with the sequence of the last message of the subject. JetStream stores no message if another one is last. */
const EXPECTED_HEADER = 'Nats-Expected-Last-Subject-Sequence';
/** Interval of checks of deadlines: a message may be reported as late so much later. */
const SWEEP_MS = 50;
const STATUS_NO_RESPONDERS = 503;

/** `io.nats.jetstream.api.v1.pub_ack_response`. */
interface Acknowledgement {
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description: string };
  readonly stream?: string;
  readonly seq: number;
}

interface Unconfirmed {
  readonly untilMs: number;
  readonly resolve: (sequence: number) => void;
  readonly reject: (error: VouchError) => void;
}

/** The connection of the process; see `natsConnection.ts`. */
interface PublishingConnection {
  readonly nc: NatsConnection;
  readonly clock: Clock;
  readonly connected: boolean;
  newInbox(): string;
  /** The error of a call while the connection is down. */
  down(): VouchError;
  /** Calls `listener` when the connection is lost, restored, or closed. */
  onChange(listener: (connected: boolean) => void): unknown;
}

interface PublishOptions {
  /** The sequence of the last message of the subject, 0 if it has no message; absent: not checked. */
  readonly after?: number | undefined;
  /** Time after which the outcome is unknown. */
  readonly withinMs: number;
}

export class StreamPublisher {
  #inbox: string | undefined;
  readonly #unconfirmed = new Map<string, Unconfirmed>();
  #lastToken = 0;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(private readonly connection: PublishingConnection) {}

  /**
   * Resolves to the sequence of the stored message. Rejects with JetStreamRefusal and NoJetStream if it is not stored, and with
   * `unavailable` if the outcome is unknown, as soon as the connection breaks.
   */
  publish(subject: string, message: Uint8Array, { after, withinMs }: PublishOptions): Promise<number> {
    const { connection } = this;
    if (!connection.connected) return Promise.reject(connection.down());
    this.#inbox ??= this.#listen();
    const inbox = this.#inbox;
    return new Promise((resolve, reject) => {
      const token = (++this.#lastToken).toString(36);
      this.#unconfirmed.set(token, { untilMs: connection.clock.monotonicMs() + withinMs, resolve, reject });
      this.#sweeping ??= setTimeout(() => this.#sweep(), SWEEP_MS);
      const headers = after === undefined ? {} : { headers: expecting(after) };
      try {
        connection.nc.publish(subject, message, { reply: `${inbox}.${token}`, ...headers });
      } catch (error) {
        this.#taken(token)?.reject(fromNats(error));
      }
    });
  }

  #listen(): string {
    const { connection } = this;
    const inbox = connection.newInbox();
    connection.nc.subscribe(`${inbox}.*`, {
      callback: (_error, msg) => this.#confirmed(msg.subject.slice(inbox.length + 1), msg),
    });
    connection.onChange((connected) => {
      if (!connected) this.#failAll();
    });
    return inbox;
  }

  #confirmed(token: string, msg: Msg): void {
    const unconfirmed = this.#taken(token);
    if (unconfirmed === undefined) return;
    try {
      unconfirmed.resolve(sequenceIn(msg));
    } catch (error) {
      unconfirmed.reject(fromNats(error));
    }
  }

  #failAll(): void {
    const all = [...this.#unconfirmed.values()];
    this.#unconfirmed.clear();
    clearTimeout(this.#sweeping);
    this.#sweeping = undefined;
    for (const { reject } of all) reject(this.connection.down());
  }

  #taken(token: string): Unconfirmed | undefined {
    const unconfirmed = this.#unconfirmed.get(token);
    this.#unconfirmed.delete(token);
    return unconfirmed;
  }

  #sweep(): void {
    const nowMs = this.connection.clock.monotonicMs();
    for (const [token, { untilMs, reject }] of this.#unconfirmed)
      if (untilMs <= nowMs) {
        this.#unconfirmed.delete(token);
        reject(unavailable('NATS did not answer in time'));
      }
    this.#sweeping = this.#unconfirmed.size > 0 ? setTimeout(() => this.#sweep(), SWEEP_MS) : undefined;
  }
}

const expecting = (sequence: number): MsgHdrs => MsgHdrsImpl.fromRecord({ [EXPECTED_HEADER]: [String(sequence)] });

/** The sequence in an acknowledgement. Throws JetStreamRefusal and NoJetStream, and other errors if it has none. */
function sequenceIn({ data, headers }: Msg): number {
  if (data.length === 0 && headers?.code === STATUS_NO_RESPONDERS) throw new NoJetStream();
  const { error, stream, seq } = JSON.parse(Buffer.from(data).toString()) as Acknowledgement;
  if (error !== undefined) throw refusalOf(error.code, error.err_code ?? 0, error.description);
  if (!stream || !Number.isSafeInteger(seq)) throw new Error('the acknowledgement names no message');
  return seq;
}
