/**
 * A push consumer without acknowledgements. It delivers the messages of a stream from one server, and sends heartbeats
 * while it has no messages. Deliveries may arrive late, from a stale replica, or never. A slow connection makes
 * nats-server drop messages, which leaves a gap in its numbers (`shared/nats/natsDelivery.ts`).
 */
import type { Stream } from './stream.js';
import type { StreamState } from './streamState.js';

export interface ConsumerSettings {
  readonly name: string;
  readonly deliver_subject: string;
  readonly filter_subject: string;
  readonly deliver_policy: string;
  readonly opt_start_seq: number;
  /** Nanoseconds; 0: no heartbeats. */
  readonly idle_heartbeat: number;
}

const NANOS_PER_MS = 1e6;

export interface Delivered {
  readonly subject: string;
  readonly reply: string;
  readonly headers: Buffer;
  readonly body: Buffer;
}

export class Consumer {
  /** Sequences to deliver of messages from before its creation; then follows everything after `#passed`. */
  #initial: number[];
  #passed: number;
  #delivered = 0;
  #lastStreamSeq = 0;
  lastSentMs = 0;
  /** Number of messages to deliver when it was created. */
  readonly pending: number;

  constructor(
    readonly stream: Stream,
    readonly settings: ConsumerSettings,
    readonly server: string,
  ) {
    const { deliver_policy: policy, filter_subject: filter, opt_start_seq: start } = settings;
    const state = this.#state;
    this.#passed = state.lastSeq;
    if (policy === 'last_per_subject') this.#initial = state.newest(filter);
    else if (policy === 'new') this.#initial = [];
    else this.#initial = state.from(policy === 'by_start_sequence' ? start : 0, filter);
    this.pending = this.#initial.length;
  }

  get heartbeatMs(): number {
    return this.settings.idle_heartbeat / NANOS_PER_MS;
  }

  get delivered(): { readonly consumer_seq: number; readonly stream_seq: number } {
    return { consumer_seq: this.#delivered, stream_seq: this.#lastStreamSeq };
  }

  /** The next message; undefined if its server has none. */
  next(): Delivered | undefined {
    const state = this.#state;
    for (;;) {
      const seq = this.#initial.shift();
      const message = seq === undefined ? this.#after(state) : state.get(seq);
      if (message === undefined && seq === undefined) return undefined;
      if (message === undefined) continue;
      this.#delivered++;
      this.#lastStreamSeq = message.seq;
      const { subject, headers, body, timeMs } = message;
      const pending = this.#initial.length + (state.lastSeq > this.#passed ? 1 : 0);
      const nanos = `${timeMs}000000`;
      const { name } = this.settings;
      const reply = `$JS.ACK.${this.stream.name}.${name}.1.${message.seq}.${this.#delivered}.${nanos}.${pending}`;
      return { subject, reply, headers, body };
    }
  }

  /** The headers of a heartbeat. */
  heartbeat(): Record<string, string> {
    return { 'Nats-Last-Consumer': String(this.#delivered), 'Nats-Last-Stream': String(this.#lastStreamSeq) };
  }

  get #state(): StreamState {
    return this.stream.stateAt(this.server);
  }

  #after(state: StreamState) {
    const message = state.next(this.#passed + 1, this.settings.filter_subject);
    this.#passed = message?.seq ?? state.lastSeq;
    return message;
  }
}
