/**
 * Requests under way over one inbox. Deadlines are swept together: a timer a request, as nats.js sets one, costs as
 * much as everything else about it (measured: 33,000 against 60,000 requests/s between two connections of a process).
 */
import { createInbox, type Msg, type MsgHdrs, ServiceErrorCodeHeader, ServiceErrorHeader } from 'nats';
import { unavailable, type VouchError } from '../errors.js';
import type { ClusterConnection } from '../natsConnection.js';
import { fromNats } from '../natsError.js';
import { overloaded } from '../overloaded.js';
import { NobodyServes } from './nobodyServes.js';

interface Asked {
  readonly sizeBytes: number;
  readonly deadlineMs: number;
  readonly resolve: (body: Uint8Array) => void;
  readonly reject: (error: VouchError) => void;
}

/** How much later than its deadline a request may be given up. */
const SWEEP_MS = 10;
const STATUS_NO_RESPONDERS = 503;
/** Unanswered, and so what waits in the socket where the server reads slowly. */
const REQUESTS_MAX = 65_536;
const BYTES_MAX = 256 * 1024 * 1024;

export class NatsRequests {
  private readonly inbox = createInbox();
  private readonly asked = new Map<string, Asked>();
  private askedBytes = 0;
  private lastToken = 0;
  private sweeping: NodeJS.Timeout | undefined;

  constructor(private readonly connection: ClusterConnection) {
    connection.nc.subscribe(`${this.inbox}.*`, { callback: (_error, msg) => this.answered(msg) });
    connection.onChange((connected) => {
      if (!connected) this.failAll(connection.down());
    });
  }

  /** Unanswered. */
  get load(): { readonly requests: number; readonly bytes: number } {
    return { requests: this.asked.size, bytes: this.askedBytes };
  }

  send(subject: string, body: Uint8Array, headers: MsgHdrs, deadlineMs: number): Promise<Uint8Array> {
    const sizeBytes = body.length;
    if (this.asked.size >= REQUESTS_MAX || this.askedBytes + sizeBytes > BYTES_MAX)
      return Promise.reject(overloaded('messages'));
    return new Promise((resolve, reject) => {
      const token = (++this.lastToken).toString(36);
      this.asked.set(token, { sizeBytes, deadlineMs, resolve, reject });
      this.askedBytes += sizeBytes;
      this.sweeping ??= setTimeout(() => this.sweep(), SWEEP_MS);
      try {
        this.connection.nc.publish(subject, body, { reply: `${this.inbox}.${token}`, headers });
      } catch (error) {
        this.settled(token);
        reject(fromNats(error));
      }
    });
  }

  failAll(error: VouchError): void {
    for (const { reject } of this.asked.values()) reject(error);
    this.asked.clear();
    this.askedBytes = 0;
    clearTimeout(this.sweeping);
    this.sweeping = undefined;
  }

  private answered(msg: Msg): void {
    const token = msg.subject.slice(this.inbox.length + 1);
    const asked = this.settled(token);
    if (!asked) return;
    const body = msg.data;
    // An error travels in the headers of an empty answer; whole answers have none, and are not searched for them.
    const headers = body.length === 0 ? msg.headers : undefined;
    if (headers?.code === STATUS_NO_RESPONDERS) asked.reject(new NobodyServes());
    else if (headers?.has(ServiceErrorCodeHeader)) asked.reject(unavailable(headers.get(ServiceErrorHeader)));
    else asked.resolve(body);
  }

  private settled(token: string): Asked | undefined {
    const asked = this.asked.get(token);
    if (asked !== undefined) {
      this.asked.delete(token);
      this.askedBytes -= asked.sizeBytes;
    }
    return asked;
  }

  private sweep(): void {
    const nowMs = this.connection.clock.nowMs();
    for (const [token, { deadlineMs, reject }] of this.asked)
      if (deadlineMs <= nowMs) {
        this.settled(token);
        reject(unavailable('no answer came before the deadline'));
      }
    this.sweeping = this.asked.size > 0 ? setTimeout(() => this.sweep(), SWEEP_MS) : undefined;
  }
}
