/**
 * One connection to NATS, shared by everything a platform is made of.
 *
 *   connect ──▶ connected ──lost──▶ disconnected ──▶ connected …        close() from any state ──▶ closed
 *
 * It reconnects for ever. While it is down every call fails at once, and what was under way when it broke fails with
 * it: a caller learns within a millisecond what would else wait for its deadline in the client's buffer.
 */
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  connect,
  ErrorCode,
  Events,
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
} from 'nats';
import type { Clock } from './clock.js';
import { messageOf, unavailable, type VouchError } from './errors.js';
import type { Logger } from './logger.js';
import { DEFAULT_NATS_URL, parseNatsUrl } from './natsAddress.js';
import { fromNats } from './natsError.js';
import './natsHeaders.js';
import { whenAvailable } from './startUp.js';

export interface ConnectionOptions {
  /** Null: the local server at its usual port. */
  readonly url: string | null;
  /** Shown by `nats server report connections`. */
  readonly name: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** How long to wait for a server that does not answer yet. */
  readonly connectWithinMs: number;
}

const DIAL_MS = 2_000;
const RETRY_MS = 200;
/** A server that is gone without closing its socket is noticed within three of these. */
const PING_MS = 5_000;
/** How long JetStream's API may take to answer. */
const API_MS = 5_000;

/** How long a close waits until what was published has been sent. */
const FLUSH_MS = 1_000;

type Reject = (error: VouchError) => void;

export class ClusterConnection {
  readonly js: JetStreamClient;
  private readonly underWay = new Set<Reject>();
  private readonly listeners = new Set<(connected: boolean) => void>();
  private state: 'connected' | 'disconnected' | 'closed' = 'connected';
  private payloadBytes: number;

  private constructor(
    readonly nc: NatsConnection,
    readonly jsm: JetStreamManager,
    readonly logger: Logger,
    readonly clock: Clock,
  ) {
    this.js = nc.jetstream({ timeout: API_MS });
    this.payloadBytes = nc.info!.max_payload;
    void this.follow();
  }

  /** Throws VouchError `unavailable` where no server answers in time, or it refuses, or has no JetStream. */
  static async open(options: ConnectionOptions): Promise<ClusterConnection> {
    const nc = await firstConnection(options);
    if (nc.info?.jetstream !== true) {
      await nc.close();
      throw unavailable('the NATS server runs without JetStream; start it with JetStream enabled (nats-server -js)');
    }
    const jsm = await nc.jetstreamManager({ checkAPI: false, timeout: API_MS });
    return new ClusterConnection(nc, jsm, options.logger, options.clock);
  }

  get connected(): boolean {
    return this.state === 'connected';
  }

  get closed(): boolean {
    return this.state === 'closed';
  }

  /** The largest message, headers included, that the server takes. */
  get maxPayloadBytes(): number {
    return this.payloadBytes;
  }

  /** What was written to the socket and the system has not taken yet; nats.js does not tell. */
  get unsentBytes(): number {
    const { protocol } = this.nc as unknown as { readonly protocol?: { readonly transport?: { socket?: Socket } } };
    return protocol?.transport?.socket?.writableLength ?? 0;
  }

  /** Why a call cannot be made now. */
  down(): VouchError {
    return unavailable(
      this.closed ? 'the connection to NATS is closed' : 'the connection to NATS is lost; retry shortly',
    );
  }

  /**
   * Makes one exchange with the server. Rejects with VouchErrors alone: at once while the connection is down, and as
   * soon as it breaks or is closed.
   */
  call<T>(exchange: () => Promise<T>): Promise<T> {
    if (!this.connected) return Promise.reject(this.down());
    return new Promise<T>((resolve, reject) => {
      this.underWay.add(reject);
      // Within an async function, so that what throws at once is a rejection too.
      (async () => exchange())()
        .then(resolve, (error: unknown) => reject(fromNats(error)))
        .finally(() => this.underWay.delete(reject));
    });
  }

  /** Calls `listener` whenever the connection is lost, restored, or closed; returns how to end that. */
  onChange(listener: (connected: boolean) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Resolves when the connection stands, is closed, or `timeoutMs` have passed. */
  async untilConnected(timeoutMs: number): Promise<void> {
    if (this.state !== 'disconnected') return;
    const ended = new AbortController();
    const off = this.onChange(() => ended.abort());
    await delay(timeoutMs, undefined, { signal: ended.signal }).catch(() => undefined);
    off();
  }

  /** Fails what is under way, sends what has been published, and leaves nothing open. */
  async close(): Promise<void> {
    if (this.closed) return;
    const wasConnected = this.connected;
    this.become('closed');
    // Bounded: a server that is gone without a word never confirms.
    if (wasConnected)
      await Promise.race([this.nc.flush().catch(() => undefined), delay(FLUSH_MS, undefined, { ref: false })]);
    await this.nc.close();
  }

  private async follow(): Promise<void> {
    for await (const { type, data } of this.nc.status()) {
      if (this.closed) return;
      if (type === Events.Disconnect) {
        this.logger.warn({ server: data }, 'the connection to NATS is lost');
        this.become('disconnected');
      } else if (type === Events.Reconnect) {
        this.logger.info({ server: data }, 'the connection to NATS is restored');
        this.payloadBytes = this.nc.info?.max_payload ?? this.payloadBytes;
        this.become('connected');
      } else if (type === Events.Error) this.logger.warn({ error: data }, 'NATS reports an error');
    }
  }

  private become(state: 'connected' | 'disconnected' | 'closed'): void {
    this.state = state;
    if (state !== 'connected') {
      const error = this.down();
      for (const reject of this.underWay) reject(error);
      this.underWay.clear();
    }
    for (const listener of [...this.listeners]) listener(state === 'connected');
  }
}

/** Waits for a server that is not there yet, and says so. */
function firstConnection(options: ConnectionOptions): Promise<NatsConnection> {
  const url = options.url ?? DEFAULT_NATS_URL;
  const { servers } = parseNatsUrl(url);
  return whenAvailable(`NATS at ${servers}`, () => dial(url, options), options, {
    withinMs: options.connectWithinMs,
    isWaiting: ({ cause }) => !isRefusedLogin(cause),
  });
}

/** Throws `unavailable`, in one line that says what to do. */
async function dial(url: string, { name, url: given }: ConnectionOptions): Promise<NatsConnection> {
  const { servers, tls, ...credentials } = parseNatsUrl(url);
  try {
    return await connect({
      ...credentials,
      ...(tls ? { tls: {} } : {}),
      servers: [...servers],
      name,
      timeout: DIAL_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RETRY_MS,
      // A server that is being restarted may refuse its users for a moment.
      ignoreAuthErrorAbort: true,
      pingInterval: PING_MS,
      maxPingOut: 2,
      // A stack for every request costs more than the request.
      noAsyncTraces: true,
    });
  } catch (error) {
    if (isRefusedLogin(error)) throw unavailable(`the NATS server at ${servers} refuses the credentials`, error);
    const remedy = `start one or ${given === null ? 'set' : 'correct'} VOUCH_NATS_URL`;
    throw unavailable(`no NATS server answers at ${servers} (${messageOf(error)}); ${remedy}`, error);
  }
}

const isRefusedLogin = (error: unknown): boolean =>
  error instanceof NatsError && (error.isAuthError() || error.code === ErrorCode.BadAuthentication);
