/**
 * Delivers the messages of a stream in order, without a gap, by an ephemeral push consumer. The delivery ends at the first sign
 * of a loss: a gap in its numbers, no heartbeat, a broken connection. The reader then starts another one from its position.
 *
 * Measured on one local server: 300,000 small messages/s, 700 MB/s of large ones, against 9,000/s with one
 * `direct get` a message.
 */
import { AckPolicy, DeliverPolicy, JsHeaders, type Msg, type MsgHdrs, ReplayPolicy, type Subscription } from 'nats';
import { unavailable, type VouchError } from '../errors/errors.js';
import type { ClusterConnection } from './natsConnection.js';

export interface StreamMessage {
  readonly sequence: number;
  /** When the server stored it. */
  readonly timeMs: number;
  /** The number of messages that the server still has for this reader. */
  readonly pending: number;
  readonly message: Msg;
}

/** Item that means: the server has no more messages now. */
export const IDLE = 'idle';

interface DeliverySource {
  readonly stream: string;
  readonly subject: string;
  /** The sequence to begin at, or the newest message of every subject. */
  readonly from: number | 'newest';
}

/** Interval of heartbeats of a server without messages. */
const HEARTBEAT_MS = 1_000;
/** Longest time without a message, in seconds. */
const SILENT_TICKS_MAX = 3;
const NANOS_PER_MS = 1e6;
const STATUS_CONTROL = 100;
/** The tokens of a reply subject without domain and account. */
const PLAIN_TOKENS = 9;

type Queued = StreamMessage | typeof IDLE | { readonly flowControl: Msg };

export class Delivery implements AsyncIterable<StreamMessage | typeof IDLE> {
  readonly #subscription: Subscription;
  readonly #ends: (() => void)[] = [];
  #queue: Queued[] = [];
  #wake: (() => void) | undefined;
  #ended: VouchError | 'stopped' | undefined;
  #consumer: string | undefined;
  #received = 0;
  #flowOwed = 0;
  #silentTicks = 0;
  /** The number of messages at the start. */
  #initially = 0;

  private constructor(
    private readonly connection: ClusterConnection,
    private readonly stream: string,
    inbox: string,
  ) {
    this.#subscription = connection.nc.subscribe(inbox, { callback: (error, msg) => this.#take(error, msg) });
    this.#ends.push(connection.onChange(() => this.#end(connection.down())));
    this.#ends.push(connection.everySecond(() => this.#checkHeartbeat()));
  }

  static async start(connection: ClusterConnection, source: DeliverySource): Promise<Delivery> {
    if (!connection.connected) throw connection.down();
    const inbox = connection.newInbox();
    const delivery = new Delivery(connection, source.stream, inbox);
    try {
      const created = await connection.call(() =>
        connection.jsm.consumers.add(source.stream, consumerOf(source, inbox)),
      );
      delivery.#consumer = created.name;
      delivery.#initially = created.num_pending + created.delivered.consumer_seq;
      return delivery;
    } catch (error) {
      delivery.stop();
      throw error;
    }
  }

  /** Whether the first `count` messages include all that existed at the start, unless they were replaced meanwhile. */
  hasBegun(count: number): boolean {
    return count >= this.#initially;
  }

  /** Throws VouchError `unavailable` at a sign of a loss. Leaving the loop stops the delivery. */
  async *[Symbol.asyncIterator](): AsyncGenerator<StreamMessage | typeof IDLE, void, undefined> {
    try {
      for (;;) {
        const batch = this.#queue;
        this.#queue = [];
        for (const item of batch) {
          if (this.#ended) break;
          // Answered when the reader reaches it, so that a slow reader has at most the server's window in memory.
          if (typeof item !== 'object' || !('flowControl' in item)) yield item;
          else {
            this.#flowOwed--;
            item.flowControl.respond();
          }
        }
        if (this.#ended === 'stopped') return;
        if (this.#ended) throw this.#ended;
        if (this.#queue.length === 0)
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      this.stop();
    }
  }

  stop(): void {
    this.#end('stopped');
  }

  #end(how: VouchError | 'stopped'): void {
    if (this.#ended) return;
    this.#ended = how;
    this.#subscription.unsubscribe();
    for (const end of this.#ends) end();
    this.#wake?.();
    // Otherwise the server drops the consumer after five seconds.
    if (this.#consumer && this.connection.connected)
      this.connection.nc.publish(`${this.connection.api}.CONSUMER.DELETE.${this.stream}.${this.#consumer}`);
  }

  #take(error: Error | null, msg: Msg): void {
    if (this.#ended) return;
    this.#silentTicks = 0;
    // A status has an empty body; reading the headers of every message would halve the speed.
    const status = error || msg.data.length > 0 ? 0 : (msg.headers?.code ?? 0);
    if (error) this.#end(unavailable('the delivery of a stream failed', error));
    else if (status === 0) this.#takeMessage(msg);
    else if (status !== STATUS_CONTROL) this.#end(unavailable(`a delivery ended: ${msg.headers!.description}`));
    else if (msg.reply) this.#takeFlowControl(msg);
    else this.#takeHeartbeat(msg.headers!);
  }

  #takeMessage(message: Msg): void {
    // $JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<tries>.<stream sequence>.<consumer sequence>.<time>.<pending>[.<token>]
    const tokens = message.reply!.split('.');
    const at = tokens.length > PLAIN_TOKENS ? 7 : 5;
    this.#received++;
    if (Number(tokens[at + 1]) !== this.#received) this.#endAtGap();
    const timeMs = Number(tokens[at + 2]) / NANOS_PER_MS;
    this.#push({ sequence: Number(tokens[at]), timeMs, pending: Number(tokens[at + 3]), message });
  }

  #takeFlowControl(flowControl: Msg): void {
    this.#flowOwed++;
    this.#push({ flowControl });
  }

  #takeHeartbeat(headers: MsgHdrs): void {
    if (Number(headers.get(JsHeaders.LastConsumerSeqHdr)) !== this.#received) this.#endAtGap();
    const stalled = headers.get(JsHeaders.ConsumerStalledHdr);
    if (!stalled) this.#push(IDLE);
    // The server's flow control was lost, and it waits for the answer.
    else if (this.#flowOwed === 0) this.connection.nc.publish(stalled);
  }

  #push(item: Queued): void {
    if (this.#ended) return;
    this.#queue.push(item);
    this.#wake?.();
    this.#wake = undefined;
  }

  #endAtGap(): void {
    this.#end(unavailable('messages of a stream were lost on the way; retry shortly'));
  }

  /** Counts ticks instead of time: a busy process has not listened. */
  #checkHeartbeat(): void {
    if (++this.#silentTicks > SILENT_TICKS_MAX)
      this.#end(unavailable('the delivery of a stream fell silent; retry shortly'));
  }
}

function consumerOf({ subject, from }: DeliverySource, inbox: string): Record<string, unknown> {
  return {
    deliver_subject: inbox,
    filter_subject: subject,
    ...(from === 'newest'
      ? { deliver_policy: DeliverPolicy.LastPerSubject }
      : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: from }),
    ack_policy: AckPolicy.None,
    replay_policy: ReplayPolicy.Instant,
    max_deliver: 1,
    flow_control: true,
    idle_heartbeat: HEARTBEAT_MS * NANOS_PER_MS,
    mem_storage: true,
    num_replicas: 1,
  };
}
