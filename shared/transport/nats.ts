/** A transport over NATS, whose server routes by subject and reports at once if no process serves it. */
import type { Subscription } from 'nats';
import { messageOf, refusal, unavailable, type VouchError } from '../errors/errors.js';
import { LONG_BYTES, reuseLong } from '../longMemory.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { PartialRequests } from './natsParts.js';
import { NatsRequests } from './natsRequests.js';
import { headersOf, NatsServing, newServedCounts } from './natsServing.js';
import { SenderClocks } from './senderClocks.js';
import {
  type Body,
  type Envelope,
  type Handler,
  type Listener,
  packedBody,
  type Serving,
  type Transport,
  type TransportLoad,
} from './transport.js';
import { NotSent } from './transportErrors.js';

/** Room for headers, since the server's limit holds for headers and body together. A request id has at most 128 characters. */
const HEADER_ROOM_BYTES = 512;
/** Largest number of published bytes that may wait in the socket. */
const UNSENT_BYTES_MAX = 64 * 1024 * 1024;

export class NatsTransport implements Transport {
  readonly counts = newServedCounts();
  readonly #requests: NatsRequests;
  readonly #senders: SenderClocks;
  readonly #servings = new Set<NatsServing>();
  /** Reply subjects of the requests in progress of all servings. A new serving of a subject is also asked about earlier requests. */
  readonly #replies = new Set<string>();
  readonly #partial = new PartialRequests(this.#replies);
  readonly #listening = new Set<Subscription>();
  readonly #otherVersions = new Set<string>();
  #closed = false;

  /** `protocol`: the version of the messages; other versions are refused. */
  constructor(
    private readonly connection: ClusterConnection,
    private readonly protocol: number,
  ) {
    this.#requests = new NatsRequests(connection);
    this.#senders = new SenderClocks(connection.clock);
  }

  get maxPayloadBytes(): number {
    return this.connection.maxPayloadBytes - HEADER_ROOM_BYTES;
  }

  get load(): TransportLoad {
    return { ...this.#requests.load, unsentBytes: this.connection.unsentBytes };
  }

  request(subject: string, body: Body, envelope: Envelope): Promise<Uint8Array> {
    const bytes = packedBody(body);
    const refusal = this.#refusal(bytes, envelope);
    if (refusal) return Promise.reject(refusal);
    const headers = headersOf(envelope, this.connection.clock.nowMs(), this.protocol);
    const answering = this.#requests.send(subject, bytes, headers, envelope.deadlineMs);
    // Bytes that were not packed here are those of the caller.
    if (bytes.length < LONG_BYTES || bytes === body) return answering;
    return answering.then((answer) => {
      // An answered request has arrived whole.
      reuseLong(bytes);
      return answer;
    });
  }

  /**
   * Flushes, which makes the subscription known to our server. Other servers learn of it before any later message of ours. So a
   * process that learns of the subject from such a message reaches it. Other processes may get `NotServed` for a moment more.
   */
  async serve(subject: string, handler: Handler): Promise<Serving> {
    this.#assertOpen();
    const serving = new NatsServing(subject, handler, {
      connection: this.connection,
      counts: this.counts,
      senders: this.#senders,
      protocol: this.protocol,
      otherVersions: this.#otherVersions,
      maxPayloadBytes: () => this.maxPayloadBytes,
      replies: this.#replies,
      partial: this.#partial,
    });
    this.#servings.add(serving);
    return this.#known(async () => {
      await serving.stop();
      this.#servings.delete(serving);
    });
  }

  publish(subject: string, body: Uint8Array): void {
    if (this.#closed || !this.connection.connected || body.length > this.maxPayloadBytes) return;
    // A slow server must not make messages pile up here; listeners can get missed ones in another way.
    if (this.connection.unsentBytes > UNSENT_BYTES_MAX) return;
    this.connection.nc.publish(subject, body);
  }

  async listen(subject: string, listener: Listener): Promise<Serving> {
    this.#assertOpen();
    const subscription = this.connection.nc.subscribe(subject, {
      callback: (_error, msg) => {
        try {
          listener(msg.subject, msg.data);
        } catch (error) {
          this.connection.logger.error({ subject, error: messageOf(error) }, 'a listener failed');
        }
      },
    });
    this.#listening.add(subscription);
    return this.#known(async () => {
      subscription.unsubscribe();
      this.#listening.delete(subscription);
    });
  }

  /** Rejects our unanswered requests, and answers the received ones. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#requests.failAll(unavailable('the transport is closed'));
    for (const subscription of this.#listening) subscription.unsubscribe();
    this.#listening.clear();
    await Promise.all([...this.#servings].map((serving) => serving.stop()));
    this.#servings.clear();
  }

  #assertOpen(): void {
    if (this.#closed) throw unavailable('the transport is closed');
    if (!this.connection.connected) throw this.connection.down();
  }

  /** Resolves when the server knows of the subscription; calls `stop` if that fails. */
  async #known(stop: () => Promise<void>): Promise<Serving> {
    try {
      await this.connection.call(() => this.connection.nc.flush());
      return { stop };
    } catch (error) {
      await stop();
      throw error;
    }
  }

  #refusal(body: Uint8Array, { deadlineMs }: Envelope): VouchError | undefined {
    if (this.#closed) return unavailable('the transport is closed');
    if (!this.connection.connected) return new NotSent(this.connection.down());
    if (deadlineMs <= this.connection.clock.nowMs()) return unavailable('the deadline has passed');
    if (body.length > this.maxPayloadBytes)
      return refusal('payload_too_large', 'message', { bytes: body.length, max: this.maxPayloadBytes });
    return undefined;
  }
}
