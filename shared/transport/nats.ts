/** Requests and answers over NATS: the server routes by subject, and says at once where nobody serves one. */
import type { Subscription } from 'nats';
import { messageOf, unavailable, VouchError } from '../errors.js';
import type { ClusterConnection } from '../natsConnection.js';
import { NatsRequests } from './natsRequests.js';
import { headersOf, NatsServing } from './natsServing.js';
import { NotSent } from './notSent.js';
import { SenderClocks } from './senderClocks.js';
import { ServedCounts } from './servedCounts.js';
import type { Envelope, Handler, Listener, Serving, Transport, TransportLoad } from './transport.js';

/** The server's limit holds for headers and body together; a request id has at most 128 characters. */
const HEADER_ROOM_BYTES = 512;
/** What is published and not yet taken by the system. */
const UNSENT_BYTES_MAX = 64 * 1024 * 1024;

export class NatsTransport implements Transport {
  readonly counts = new ServedCounts();
  private readonly requests: NatsRequests;
  private readonly senders: SenderClocks;
  private readonly servings = new Set<NatsServing>();
  /** Of all subjects: one that is served anew may be asked after what came before. */
  private readonly replies = new Set<string>();
  private readonly listening = new Set<Subscription>();
  private closed = false;

  constructor(private readonly connection: ClusterConnection) {
    this.requests = new NatsRequests(connection);
    this.senders = new SenderClocks(connection.clock);
  }

  get maxPayloadBytes(): number {
    return this.connection.maxPayloadBytes - HEADER_ROOM_BYTES;
  }

  get load(): TransportLoad {
    return { ...this.requests.load, unsentBytes: this.connection.unsentBytes };
  }

  /** Subjects served at the moment. */
  get subjects(): number {
    return this.servings.size;
  }

  request(subject: string, body: Uint8Array, envelope: Envelope): Promise<Uint8Array> {
    const refusal = this.refusal(body, envelope);
    if (refusal) return Promise.reject(refusal);
    return this.requests.send(subject, body, headersOf(envelope, this.connection.clock.nowMs()), envelope.deadlineMs);
  }

  /**
   * The flush makes the subscription known to our server. Another server of the NATS cluster learns of it over the same
   * route, and in the same order, as of any message sent afterwards: who is told by us that the subject is served finds
   * it so; who asks unprompted may be told `NobodyServes` for as long as a message travels.
   */
  async serve(subject: string, handler: Handler): Promise<Serving> {
    if (this.closed) throw unavailable('the transport is closed');
    if (!this.connection.connected) throw this.connection.down();
    const serving = new NatsServing(subject, handler, {
      connection: this.connection,
      counts: this.counts,
      senders: this.senders,
      maxPayloadBytes: () => this.maxPayloadBytes,
      replies: this.replies,
    });
    this.servings.add(serving);
    return this.known(async () => {
      await serving.stop();
      this.servings.delete(serving);
    });
  }

  publish(subject: string, body: Uint8Array): void {
    if (this.closed || !this.connection.connected || body.length > this.maxPayloadBytes) return;
    // Whoever misses it learns of it in another way; a server that reads slowly must not make it pile up here.
    if (this.connection.unsentBytes > UNSENT_BYTES_MAX) return;
    this.connection.nc.publish(subject, body);
  }

  async listen(subject: string, listener: Listener): Promise<Serving> {
    if (this.closed) throw unavailable('the transport is closed');
    if (!this.connection.connected) throw this.connection.down();
    const subscription = this.connection.nc.subscribe(subject, {
      callback: (_error, msg) => {
        try {
          listener(msg.subject, msg.data);
        } catch (error) {
          this.connection.logger.error({ subject, error: messageOf(error) }, 'a listener failed');
        }
      },
    });
    this.listening.add(subscription);
    return this.known(async () => {
      subscription.unsubscribe();
      this.listening.delete(subscription);
    });
  }

  /** Fails what was asked here and is not answered; finishes what others have asked. */
  async close(): Promise<void> {
    this.closed = true;
    this.requests.failAll(unavailable('the transport is closed'));
    for (const subscription of this.listening) subscription.unsubscribe();
    this.listening.clear();
    await Promise.all([...this.servings].map((serving) => serving.stop()));
    this.servings.clear();
  }

  /** Resolves when the server knows of the subscription; where it cannot be told, `stop` takes it back. */
  private async known(stop: () => Promise<void>): Promise<Serving> {
    try {
      await this.connection.call(() => this.connection.nc.flush());
      return { stop };
    } catch (error) {
      await stop();
      throw error;
    }
  }

  private refusal(body: Uint8Array, { deadlineMs }: Envelope): VouchError | undefined {
    if (this.closed) return unavailable('the transport is closed');
    if (!this.connection.connected) return new NotSent(this.connection.down());
    if (deadlineMs <= this.connection.clock.nowMs()) return unavailable('the deadline has passed');
    if (body.length > this.maxPayloadBytes)
      return new VouchError('payload_too_large', `a message of ${body.length} bytes is larger than NATS takes`);
    return undefined;
  }
}
