/** The platform of a cluster: messages, buckets and logs over NATS and its JetStream. */
import { BUCKETS, type BucketName } from '../bucket/buckets.js';
import { type NatsBucket, openNatsBucket } from '../bucket/nats.js';
import { bucketStreamName } from '../bucket/natsStream.js';
import { type Clock, systemClock } from '../clock.js';
import type { VouchError } from '../errors/errors.js';
import type { EventLog } from '../log/eventLog.js';
import { JetStreamLogs, openServiceLog } from '../log/jetStream.js';
import { JetStreamLosses } from '../log/jetStreamLosses.js';
import { prepareLogStreams } from '../log/jetStreamStreams.js';
import type { Logger } from '../logger.js';
import { ClusterConnection } from '../nats/natsConnection.js';
import { isRefusal, JETSTREAM, NotPermitted } from '../nats/natsError.js';
import type { NatsLogin } from '../nats/natsLogin.js';
import { inboxPrefixOf, type NatsRole } from '../nats/roles.js';
import { START_WITHIN_MS, whenAvailable } from '../process/startUp.js';
import { PROTOCOL_VERSION } from '../protocol/version.js';
import { isEntryOf } from '../registry/entryShapes.js';
import { NatsTransport } from '../transport/nats.js';
import { logStream, SERVICE_LOG_STREAM, VAULT_STREAM } from '../transport/subjects.js';
import { JetStreamVault } from '../vault/jetStreamVault.js';
import { ShredNotes } from '../vault/shredNotes.js';
import { natsServers } from './natsServers.js';
import type { NatsServerState, Platform, StoreRoom } from './platform.js';

export interface ClusterOptions extends Partial<NatsLogin> {
  /** `nats://host:port`, several separated by commas; null: the local server at its usual port. */
  readonly url: string | null;
  readonly name: string;
  /** The role of the process and so its permissions: see `config/nats.roles.conf`. The admin makes the streams and buckets. */
  readonly role: NatsRole;
  readonly logger: Logger;
  /** The replicas of each bucket and stream; at most the number of NATS servers. */
  readonly replicas: number;
  /** The streams of the logs; fixed by the first process. */
  readonly logStreams: number;
  readonly clock?: Clock;
  /** The longest wait for a server that does not answer yet. */
  readonly connectWithinMs?: number;
}

const CONNECT_WITHIN_MS = 10_000;
const NO_ROOM = [JETSTREAM.accountResourcesExceeded, JETSTREAM.insufficientResources, JETSTREAM.storageExceeded];
const KEEPS_LOGS: readonly NatsRole[] = ['shard', 'admin'];

/** Throws an Error with one line that says what is wrong and what to do. */
export async function openCluster(options: ClusterOptions): Promise<ClusterPlatform> {
  const { logger, clock = systemClock, connectWithinMs = CONNECT_WITHIN_MS } = options;
  const connection = await ClusterConnection.open({
    ...options,
    ...{ logger, clock, connectWithinMs, inboxPrefix: inboxPrefixOf(options.role) },
  });
  try {
    const streams = { count: options.logStreams, replicas: options.replicas };
    const settledMs = clock.monotonicMs() + START_WITHIN_MS;
    if (KEEPS_LOGS.includes(options.role))
      await whenAvailable('the streams of the logs', () => prepareLogStreams(connection, streams), connection, {
        isWaiting,
      });
    return new ClusterPlatform(connection, options, settledMs);
  } catch (error) {
    await connection.close();
    if (!isRefusal(error, JETSTREAM.replicasNotSupported)) throw error;
    throw new Error(`one NATS server cannot hold ${options.replicas} replicas; set VOUCH_REPLICAS to 1`);
  }
}

export class ClusterPlatform implements Platform {
  readonly mode = 'cluster';
  readonly transport: NatsTransport;
  readonly logs: JetStreamLogs;
  readonly losses: JetStreamLosses;
  readonly #buckets = new Map<BucketName, Promise<NatsBucket>>();
  #opened: Promise<JetStreamVault> | undefined;
  #openedLog: Promise<EventLog> | undefined;
  /** Whether the stream of the vault has been seen. */
  #hasVault = false;

  constructor(
    readonly connection: ClusterConnection,
    private readonly options: ClusterOptions,
    /** Time until which the cluster may be starting, so that its refusals are retried. */
    private readonly settledMs: number,
  ) {
    this.transport = new NatsTransport(connection, PROTOCOL_VERSION);
    this.logs = new JetStreamLogs(connection, options.logStreams);
    this.losses = new JetStreamLosses(connection, options.logStreams);
  }

  /** Whether a NATS server is reached; otherwise every call fails at once. */
  get connected(): boolean {
    return this.connection.connected;
  }

  bucket(name: BucketName, { ttlMs }: { ttlMs?: number } = {}): Promise<NatsBucket> {
    let opened = this.#buckets.get(name);
    if (!opened) {
      const { replicas } = this.options;
      opened = this.#whileStarting(`the bucket ${name}`, () =>
        openNatsBucket(this.connection, {
          ...{ name, ttlMs, replicas },
          isEntry: (key, value) => isEntryOf(name, key, value),
        }),
      );
      this.#buckets.set(name, opened);
      // The next call tries again.
      opened.catch(() => this.#buckets.delete(name));
    }
    return opened;
  }

  vault(): Promise<JetStreamVault> {
    const { connection, options } = this;
    const onPartly = async (project: string, keyId: string): Promise<void> =>
      new ShredNotes(await this.bucket(BUCKETS.shreds), connection.clock).set(project, keyId);
    this.#opened ??= this.#whileStarting('the vault', () =>
      JetStreamVault.open({ connection, replicas: options.replicas, onPartly }),
    ).catch((error: unknown) => {
      // The next call tries again.
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  serviceLog(): Promise<EventLog> {
    const { connection, options } = this;
    this.#openedLog ??= this.#whileStarting('the service log', () =>
      openServiceLog(connection, options.replicas),
    ).catch((error: unknown) => {
      // The next call tries again.
      this.#openedLog = undefined;
      throw error;
    });
    return this.#openedLog;
  }

  /** The store's room, with copies on other servers. Sums up the streams, since the account's figure may include purged messages. */
  async storeRoom(): Promise<StoreRoom> {
    const { jsm } = this.connection;
    return this.connection.call(async () => {
      const { limits } = await jsm.getAccountInfo();
      let usedBytes = 0;
      for await (const { state, config } of jsm.streams.list()) usedBytes += state.bytes * config.num_replicas;
      return { usedBytes, freeBytes: limits.max_storage > 0 ? Math.max(limits.max_storage - usedBytes, 0) : undefined };
    });
  }

  refusesWrites(error: Error): boolean {
    return NO_ROOM.some((code) => isRefusal(error, code));
  }

  async missing(): Promise<string[]> {
    const { connection, options } = this;
    const parts = Array.from({ length: options.logStreams }, (_, part) => logStream(part));
    const there = await connection.call(async () => {
      const found = new Set<string>();
      for await (const name of connection.jsm.streams.names()) found.add(name);
      return found;
    });
    // Another process may have made the vault's stream.
    this.#hasVault ||= there.has(VAULT_STREAM);
    const names = [
      ...[...parts, ...[...this.#buckets.keys()].map(bucketStreamName)],
      ...(this.#hasVault ? [VAULT_STREAM] : []),
      ...(this.#openedLog === undefined ? [] : [SERVICE_LOG_STREAM]),
    ];
    return names.filter((name) => !there.has(name));
  }

  natsServers(timeoutMs: number): Promise<NatsServerState[]> {
    return natsServers(this.connection, this.options.url, timeoutMs);
  }

  async close(): Promise<void> {
    await this.#opened?.then((vault) => vault.close()).catch(() => undefined);
    await this.#openedLog?.then((log) => log.close()).catch(() => undefined);
    await this.transport.close();
    await this.connection.close();
  }

  #whileStarting<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const { connection, settledMs } = this;
    return whenAvailable(what, attempt, connection, {
      withinMs: settledMs - connection.clock.monotonicMs(),
      isWaiting: (error) => this.connected && isWaiting(error),
    });
  }
}

/** Whether the error is temporary: not for lack of servers for the replicas, or of permissions. */
const isWaiting = (error: VouchError): boolean =>
  !isRefusal(error, JETSTREAM.replicasNotSupported) && !(error instanceof NotPermitted);
