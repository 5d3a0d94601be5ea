/** The platform of a cluster: messages, buckets and logs over NATS and its JetStream. */
import { type NatsBucket, openNatsBucket } from './bucket/nats.js';
import { type Clock, systemClock } from './clock.js';
import type { VouchError } from './errors.js';
import { JetStreamLogs } from './log/jetStream.js';
import { prepareLogStreams } from './log/jetStreamStreams.js';
import type { Logger } from './logger.js';
import { ClusterConnection } from './natsConnection.js';
import { isRefusal, JETSTREAM } from './natsError.js';
import { BUCKETS, type BucketName, type Platform } from './platform.js';
import { START_WITHIN_MS, whenAvailable } from './startUp.js';
import { NatsTransport } from './transport/nats.js';
import { JetStreamVault } from './vault/jetStreamVault.js';
import { ShredMarks } from './vault/shredMarks.js';

export interface ClusterOptions {
  /** `nats://host:port`, several separated by commas; null: the local server at its usual port. */
  readonly url: string | null;
  readonly name: string;
  readonly logger: Logger;
  /** Servers that hold each bucket and stream; at most as many as the NATS cluster has. */
  readonly replicas: number;
  /** Streams that the logs are spread over; fixed by whoever comes first. */
  readonly logStreams: number;
  readonly clock?: Clock;
  /** How long to wait for a server that does not answer yet, and then for JetStream. */
  readonly connectWithinMs?: number;
}

const CONNECT_WITHIN_MS = 10_000;

/** Throws an Error with one line that says what is wrong and what to do. */
export async function openCluster(options: ClusterOptions): Promise<ClusterPlatform> {
  const { logger, clock = systemClock, connectWithinMs = CONNECT_WITHIN_MS } = options;
  const connection = await ClusterConnection.open({ ...options, logger, clock, connectWithinMs });
  try {
    const streams = { count: options.logStreams, replicas: options.replicas };
    const settledMs = clock.monotonicMs() + START_WITHIN_MS;
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
  private readonly buckets = new Map<BucketName, Promise<NatsBucket>>();
  private opened: Promise<JetStreamVault> | undefined;

  constructor(
    readonly connection: ClusterConnection,
    private readonly options: ClusterOptions,
    /** Until then the cluster may still be starting, and what it refuses for the moment is asked for again. */
    private readonly settledMs: number,
  ) {
    this.transport = new NatsTransport(connection);
    this.logs = new JetStreamLogs(connection, options.logStreams);
  }

  /** False while no NATS server is reached: every call then fails at once. */
  get connected(): boolean {
    return this.connection.connected;
  }

  bucket(name: BucketName, { ttlMs }: { ttlMs?: number } = {}): Promise<NatsBucket> {
    let opened = this.buckets.get(name);
    if (!opened) {
      const { replicas } = this.options;
      opened = this.whileStarting(`the bucket ${name}`, () =>
        openNatsBucket(this.connection, { name, ttlMs, replicas }),
      );
      this.buckets.set(name, opened);
      // The next who asks tries again.
      opened.catch(() => this.buckets.delete(name));
    }
    return opened;
  }

  vault(): Promise<JetStreamVault> {
    this.opened ??= this.openVault();
    return this.opened;
  }

  async close(): Promise<void> {
    await this.opened?.then((vault) => vault.close()).catch(() => undefined);
    await this.transport.close();
    await this.connection.close();
  }

  private whileStarting<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const { connection, settledMs } = this;
    return whenAvailable(what, attempt, connection, {
      withinMs: settledMs - connection.clock.monotonicMs(),
      isWaiting: (error) => this.connected && isWaiting(error),
    });
  }

  private async openVault(): Promise<JetStreamVault> {
    try {
      const { connection, options } = this;
      const onPartly = async (project: string, keyId: string): Promise<void> =>
        new ShredMarks(await this.bucket(BUCKETS.shreds), connection.clock).set(project, keyId);
      return await this.whileStarting('the vault', () =>
        JetStreamVault.open({ connection, replicas: options.replicas, onPartly }),
      );
    } catch (error) {
      // The next who asks tries again.
      this.opened = undefined;
      throw error;
    }
  }
}

/** A single server will never be three. */
const isWaiting = (error: VouchError): boolean => !isRefusal(error, JETSTREAM.replicasNotSupported);
