/**
 * The connection of a process to NATS.
 *
 * ```text
 * connect ──▶ connected ──lost──▶ disconnected ──▶ connected …        close() from any state ──▶ closed
 * ```
 *
 * It reconnects for ever. While it is down every call fails at once, and calls in progress fail when it breaks. Otherwise they
 * would wait in the client's buffer until their deadline.
 */
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  connect,
  ErrorCode,
  Events,
  type JetStreamClient,
  type JetStreamManager,
  MsgHdrsImpl,
  type NatsConnection,
  type ServerInfo,
} from 'nats';
import { type Clock, systemEntropy } from '../clock.js';
import { messageOf, unavailable, type VouchError } from '../errors/errors.js';
import { toHex } from '../hashing/hash.js';
import type { Logger } from '../logger.js';
import { whenAvailable } from '../process/startUp.js';
import { RETRY_MS } from '../scheduling/retry.js';
import { LoginRefused, whyRefused } from './loginRefused.js';
import { handleLongMessages } from './longMessages.js';
import { DEFAULT_NATS_URL, parseNatsUrl } from './natsAddress.js';
import { fromNats, isNatsError } from './natsError.js';
import { type LoginOptions, loginOptions, type NatsLogin, NO_LOGIN } from './natsLogin.js';
import { isRecentEnough, OLDEST_NATS_VERSION } from './serverVersion.js';
import { StreamPublisher } from './streamPublisher.js';

interface ConnectionOptions extends Partial<NatsLogin> {
  /** Null: the local server at its usual port. */
  readonly url: string | null;
  /** The name in `nats server report connections`. */
  readonly name: string;
  /** Prefix of the subjects on which this process receives answers. */
  readonly inboxPrefix: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Longest wait for a server that does not answer yet. */
  readonly connectWithinMs: number;
}

/** Prefix of JetStream's API as imported by `config/nats.roles.conf`, and on servers without accounts. */
const IMPORTED_API = 'vouch.api';
const OWN_API = '$JS.API';
const PROBE_MS = 1_000;
const INBOX_ENTROPY_BYTES = 16;

const DIAL_MS = 2_000;
const SECOND_MS = 1_000;
/** Interval of pings: a server that vanishes without closing its socket is detected within three. */
const PING_MS = 5_000;
/** Longest wait for an answer of JetStream's API. */
const API_MS = 5_000;
/** Longest wait of a close for unsent bytes. */
const FLUSH_MS = 1_000;

/**
 * Makes malformed headers read as empty. An error in headers, which nats.js decodes while it reads from the socket, would close
 * the connection. The server stores their length without a checksum. So one damaged bit would close the connection on every read
 * of the message.
 */
const { decode } = MsgHdrsImpl;
MsgHdrsImpl.decode = (bytes) => {
  try {
    return decode(bytes);
  } catch {
    return new MsgHdrsImpl();
  }
};

type Reject = (error: VouchError) => void;

export class ClusterConnection {
  readonly js: JetStreamClient;
  readonly streams = new StreamPublisher(this);
  /** Prefix of the subjects of JetStream's API. */
  readonly api: string;
  /** Prefix of writes to a key-value bucket, before `$KV`. */
  readonly kvPrefix: string;
  readonly #inFlight = new Set<Reject>();
  readonly #listeners = new Set<(connected: boolean) => void>();
  readonly #onTick = new Set<() => void>();
  #ticks: NodeJS.Timeout | undefined;
  #state: 'connected' | 'disconnected' | 'closed' = 'connected';
  #payloadBytes: number;
  /** Servers that were found unusable since the connection was lost. */
  readonly #faultyServers = new Set<string>();

  readonly logger: Logger;
  readonly clock: Clock;
  readonly #inboxPrefix: string;

  private constructor(
    readonly nc: NatsConnection,
    readonly jsm: JetStreamManager,
    api: string,
    { logger, clock, inboxPrefix }: ConnectionOptions,
  ) {
    this.logger = logger;
    this.clock = clock;
    this.#inboxPrefix = inboxPrefix;
    this.js = nc.jetstream({ timeout: API_MS, apiPrefix: api });
    this.api = api;
    this.kvPrefix = api === OWN_API ? '' : `${api}.`;
    this.#payloadBytes = nc.info!.max_payload;
    void this.#follow();
  }

  /**
   * Throws VouchError `unavailable` if no server answers in time, or the server refuses the login, cannot be trusted, is too old, or
   * has no JetStream. Throws an Error of one line if a file of the login cannot be used.
   */
  static async open(options: ConnectionOptions): Promise<ClusterConnection> {
    const { servers } = parseNatsUrl(options.url ?? DEFAULT_NATS_URL);
    const login = await loginOptions({ ...NO_LOGIN, ...options });
    const nc = await whenAvailable(`NATS at ${servers}`, () => dial(options, login), options, {
      withinMs: options.connectWithinMs,
      isWaiting: (error) => !(error instanceof LoginRefused),
    });
    // A closed connection has no `info`.
    const fault = faultOf(nc.info!);
    if (fault !== undefined) {
      await nc.close();
      throw unavailable(`the NATS server at ${servers} ${fault}`);
    }
    try {
      const api = await apiOf(nc);
      const jsm = await nc.jetstreamManager({ checkAPI: false, timeout: API_MS, apiPrefix: api });
      handleLongMessages(nc);
      return new ClusterConnection(nc, jsm, api, options);
    } catch (error) {
      await nc.close();
      throw error;
    }
  }

  /** A new subject for answers to this process. Unlike those of nats.js, it cannot be guessed from other inboxes of the process. */
  newInbox(): string {
    return `${this.#inboxPrefix}.${toHex(systemEntropy(INBOX_ENTROPY_BYTES))}`;
  }

  get connected(): boolean {
    return this.#state === 'connected';
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  /** The server's largest message, headers included. */
  get maxPayloadBytes(): number {
    return this.#payloadBytes;
  }

  /** Bytes that wait in the socket, which nats.js does not report. */
  get unsentBytes(): number {
    const { protocol } = this.nc as unknown as { readonly protocol?: { readonly transport?: { socket?: Socket } } };
    return protocol?.transport?.socket?.writableLength ?? 0;
  }

  /** The error of a call while the connection is down. */
  down(): VouchError {
    return unavailable(
      this.closed ? 'the connection to NATS is closed' : 'the connection to NATS is lost; retry shortly',
    );
  }

  /**
   * Makes one exchange with the server. Rejects with a VouchError: at once while the connection is down, and as soon as it
   * breaks or is closed.
   */
  call<T>(exchange: () => Promise<T>): Promise<T> {
    if (!this.connected) return Promise.reject(this.down());
    return new Promise<T>((resolve, reject) => {
      this.#inFlight.add(reject);
      // The async function turns a synchronous throw into a rejection.
      (async () => exchange())()
        .then(resolve, (error: unknown) => reject(fromNats(error)))
        .finally(() => this.#inFlight.delete(reject));
    });
  }

  /** Calls `listener` when the connection is lost, restored, or closed, until the returned function is called. */
  onChange(listener: (connected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `listener` every second, until the returned function is called. All listeners share one timer. */
  everySecond(listener: () => void): () => void {
    this.#onTick.add(listener);
    this.#ticks ??= setInterval(() => {
      for (const each of [...this.#onTick]) each();
    }, SECOND_MS).unref();
    return () => {
      this.#onTick.delete(listener);
      if (this.#onTick.size > 0) return;
      clearInterval(this.#ticks);
      this.#ticks = undefined;
    };
  }

  /** Resolves when it is connected or closed, or `timeoutMs` have passed. */
  async untilConnected(timeoutMs: number): Promise<void> {
    if (this.#state !== 'disconnected') return;
    const ended = new AbortController();
    const off = this.onChange(() => ended.abort());
    await delay(timeoutMs, undefined, { signal: ended.signal }).catch(() => undefined);
    off();
  }

  /** Fails the calls in progress, sends what was published, and closes the connection. */
  async close(): Promise<void> {
    if (this.closed) return;
    const wasConnected = this.connected;
    this.#become('closed');
    // With a time limit: a server that vanished never confirms.
    if (wasConnected)
      await Promise.race([this.nc.flush().catch(() => undefined), delay(FLUSH_MS, undefined, { ref: false })]);
    await this.nc.close();
  }

  async #follow(): Promise<void> {
    for await (const { type, data } of this.nc.status()) {
      if (this.closed) return;
      if (type === Events.Disconnect) {
        // Only an unusable server was left.
        if (!this.connected) continue;
        this.logger.warn({ server: data }, 'the connection to NATS is lost');
        this.#become('disconnected');
      } else if (type === Events.Reconnect) this.#reconnected(String(data));
      else if (type === Events.Error) this.logger.warn({ error: data }, 'NATS reports an error');
    }
  }

  /** Leaves a server that cannot be used for the next one of the list, and stays disconnected. */
  #reconnected(server: string): void {
    const { info } = this.nc;
    const fault = info && faultOf(info);
    if (fault !== undefined) {
      // The list may be tried several times a second.
      if (!this.#faultyServers.has(server)) this.logger.error({ server }, `a NATS server is not used: it ${fault}`);
      this.#faultyServers.add(server);
      // In a later turn: in this one nats.js would take the end of the new connection for that of the previous one.
      setImmediate(() => void this.nc.reconnect().catch(() => undefined));
      return;
    }
    this.#faultyServers.clear();
    this.logger.info({ server, endsAlarm: true }, 'the connection to NATS is restored');
    this.#payloadBytes = info?.max_payload ?? this.#payloadBytes;
    this.#become('connected');
  }

  #become(state: 'connected' | 'disconnected' | 'closed'): void {
    this.#state = state;
    if (state !== 'connected') {
      const error = this.down();
      for (const reject of this.#inFlight) reject(error);
      this.#inFlight.clear();
    }
    for (const listener of [...this.#listeners]) listener(state === 'connected');
  }
}

/** The reason why this server cannot be used, with the remedy; undefined for a usable one. */
function faultOf({ jetstream, version }: ServerInfo): string | undefined {
  if (jetstream !== true) return 'runs without JetStream; start it with JetStream enabled (nats-server -js)';
  return isRecentEnough(version) ? undefined : `is ${version}; replace it by ${OLDEST_NATS_VERSION} or newer`;
}

/**
 * Returns a check of a server's certificate by the address that the process connects to. For an IP address nats.js does not pass
 * that on, and Node compares with `localhost`. Then the certificate must be for one of the configured servers.
 */
const identityCheck =
  (servers: readonly string[]) =>
  (name: string, certificate: PeerCertificate): Error | undefined => {
    const hosts = servers.map((server) => new URL(`nats://${server}`).hostname.replace(/^\[|\]$/g, ''));
    const candidates = name === 'localhost' ? hosts : [name];
    const errors = candidates.map((host) => checkServerIdentity(host, certificate));
    return errors.includes(undefined) ? undefined : errors[0];
  };

/**
 * Returns the prefix of JetStream's subjects for this user: the roles of `config/nats.roles.conf` are in an account that imports
 * them under another name. Any answer on a prefix shows that it is right, and so does none, from a cluster without a leader.
 */
async function apiOf(nc: NatsConnection): Promise<string> {
  try {
    await nc.request(`${IMPORTED_API}.INFO`, '', { timeout: PROBE_MS });
  } catch (error) {
    if (isNatsError(error, ErrorCode.NoResponders, ErrorCode.PermissionsViolation)) return OWN_API;
    if (!isNatsError(error, ErrorCode.Timeout)) throw fromNats(error);
  }
  return IMPORTED_API;
}

/** Throws `unavailable` with one line that says what to do. */
async function dial({ name, url, inboxPrefix }: ConnectionOptions, login: LoginOptions): Promise<NatsConnection> {
  const { servers, tls, ...credentials } = parseNatsUrl(url ?? DEFAULT_NATS_URL);
  try {
    return await connect({
      ...credentials,
      ...login,
      ...(tls || login.tls ? { tls: Object.assign({ checkServerIdentity: identityCheck(servers) }, login.tls) } : {}),
      servers: [...servers],
      name,
      inboxPrefix,
      timeout: DIAL_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RETRY_MS.connection,
      // A server that is being restarted may refuse its users for a moment.
      ignoreAuthErrorAbort: true,
      pingInterval: PING_MS,
      maxPingOut: 2,
      // A stack for every request costs more than the request.
      noAsyncTraces: true,
    });
  } catch (error) {
    const hasLogin = login.authenticator !== undefined || 'user' in credentials || 'token' in credentials;
    const hasCertificate = login.tls?.certFile !== undefined;
    const reason = await whyRefused(error, servers, { hasLogin, hasCertificate });
    if (reason !== undefined) throw new LoginRefused(`the NATS server at ${servers} ${reason}`, error);
    const remedy = `start one or ${url === null ? 'set' : 'correct'} VOUCH_NATS_URL`;
    throw unavailable(`no NATS server answers at ${servers} (${messageOf(error)}); ${remedy}`, error);
  }
}
