/**
 * A cluster within one process: production shards and coordinators over buckets, logs and a transport in memory. Each
 * has its own connection to them, which can be cut, or delay changes.
 */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../../config/config.js';
import { type ConfigOverrides, loadConfig } from '../../../config/load.js';
import { ClusterBackend } from '../../../coordinator/cluster/clusterBackend.js';
import { runShard } from '../../../shard/shard.js';
import type { Bucket, Entry } from '../../../shared/bucket/bucket.js';
import { BUCKETS, type BucketName } from '../../../shared/bucket/buckets.js';
import { MemoryBucket } from '../../../shared/bucket/memory.js';
import { systemClock } from '../../../shared/clock.js';
import { unavailable } from '../../../shared/errors/errors.js';
import { type EventLog, SERVICE_LOG_ID } from '../../../shared/log/eventLog.js';
import { silentLogger } from '../../../shared/logger.js';
import { Metrics } from '../../../shared/metrics/metrics.js';
import type { MetricTable } from '../../../shared/metrics/table.js';
import type { Platform, StoreRoom } from '../../../shared/platform/platform.js';
import { InProcessTransport } from '../../../shared/transport/inProcess.js';
import type { Transport } from '../../../shared/transport/transport.js';
import { AnswerLost } from '../../../shared/transport/transportErrors.js';
import { DirectoryVault } from '../../../shared/vault/directoryVault.js';
import type { VaultStore } from '../../../shared/vault/vaultStore.js';
import { samplesNamed } from '../launch/metricSamples.js';
import { ScriptedLogs } from './scriptedLogs.js';

/** One process's connection to the cluster. */
export class Reach implements Platform {
  readonly mode = 'cluster';
  /** Whether buckets are unreachable and no further subject can be served. */
  cut = false;
  #mutes = 0;
  readonly #delayed = new Map<BucketName, (() => void)[]>();
  /**
   * Fate of the next updates of owner entries, in order. All stay unanswered; `lost` is not applied, `landed` is, and a
   * promise is applied when it resolves.
   */
  readonly ownerUpdates: ('lost' | 'landed' | Promise<unknown>)[] = [];
  /** Requests to these subjects, and their answers, are lost. */
  readonly unreachable = new Set<string>();

  constructor(private readonly cluster: MemoryCluster) {}

  get transport(): Transport {
    const { transport } = this.cluster;
    return {
      maxPayloadBytes: transport.maxPayloadBytes,
      load: transport.load,
      request: async (subject, ...asked) => {
        if (this.unreachable.has(subject)) throw new AnswerLost();
        return transport.request(subject, ...asked);
      },
      publish: (...published) => {
        if (!this.cut && this.#mutes === 0) transport.publish(...published);
      },
      listen: (...asked) => transport.listen(...asked),
      serve: async (...served) => {
        if (this.cut) throw unavailable('cut off');
        return transport.serve(...served);
      },
    };
  }

  readonly losses = { look: async () => [] };
  readonly storeRoom = async (): Promise<StoreRoom> => ({ usedBytes: 0, freeBytes: undefined });
  readonly refusesWrites = (): boolean => false;
  readonly missing = async (): Promise<string[]> => [];
  readonly natsServers = async (): Promise<[]> => [];

  get logs(): ScriptedLogs {
    return this.cluster.logs;
  }

  /** Loses everything published until the returned function is called. */
  mute(): () => void {
    this.#mutes++;
    return () => {
      this.#mutes--;
    };
  }

  /** Watches that catch up receive the changes of a bucket at once, other watches at `release`. */
  hold(name: BucketName): void {
    this.#delayed.set(name, []);
  }

  release(name: BucketName): void {
    this.#deliverDelayed(name);
    this.#delayed.delete(name);
  }

  #deliverDelayed(name: BucketName): void {
    for (const deliver of this.#delayed.get(name)?.splice(0) ?? []) deliver();
  }

  async bucket(name: BucketName, options: { ttlMs?: number } = {}): Promise<Bucket> {
    const bucket = this.cluster.bucket(name, options.ttlMs);
    const reaching = async <T>(work: () => Promise<T>): Promise<T> => {
      if (this.cut) throw unavailable('cut off');
      return work();
    };
    return {
      get: (key) => reaching(() => bucket.get(key)),
      create: (...created) => reaching(() => bucket.create(...created)),
      update: (key, value, revision) => reaching(() => this.#fated(name, () => bucket.update(key, value, revision))),
      put: (key, value) => reaching(() => bucket.put(key, value)),
      clear: (key) => reaching(() => bucket.clear(key)),
      next: (key, above) => reaching(() => bucket.next(key, above)),
      delete: (key, revision) => reaching(() => bucket.delete(key, revision)),
      watch: async (listener) => {
        const inTurn = (deliver: () => void): void => {
          const delayed = this.#delayed.get(name);
          if (delayed === undefined) deliver();
          else delayed.push(deliver);
        };
        const watch = await bucket.watch((change) => inTurn(() => listener(change)));
        const caughtUp = (): Promise<void> => reaching(async () => this.#deliverDelayed(name));
        const read = (key: string): Promise<Entry | undefined> => caughtUp().then(() => watch.read(key));
        return { caughtUp, read, stop: () => watch.stop() };
      },
    };
  }

  async #fated<T>(name: BucketName, update: () => Promise<T>): Promise<T> {
    const fate = name === BUCKETS.owners ? this.ownerUpdates.shift() : undefined;
    if (fate === undefined) return update();
    if (fate === 'landed') await update();
    else if (fate !== 'lost') void fate.then(update);
    throw unavailable('the outcome of the update is unknown');
  }

  async serviceLog(): Promise<EventLog> {
    return this.cluster.logs.open(SERVICE_LOG_ID);
  }

  async vault(): Promise<VaultStore> {
    const vault = await this.cluster.vault();
    const reaching = async <T>(work: () => Promise<T>): Promise<T> => {
      if (this.cut) throw unavailable('cut off');
      return work();
    };
    return {
      get: (...key) => reaching(() => vault.get(...key)),
      create: (...created) => reaching(() => vault.create(...created)),
      replace: (...replaced) => reaching(() => vault.replace(...replaced)),
      replaceDamaged: (...replaced) => reaching(() => vault.replaceDamaged(...replaced)),
      settle: (...key) => reaching(() => vault.settle(...key)),
      writeOff: (...key) => reaching(() => vault.writeOff(...key)),
      list: (onDamage) => vault.list(onDamage),
      inspect: (...asked) => reaching(() => vault.inspect(...asked)),
      close: async () => {},
    };
  }

  async close(): Promise<void> {}
}

export const TIMES = { heartbeatMs: 40, leaseMs: 250, failoverMs: 400 } as const;

export class MemoryCluster {
  readonly transport = new InProcessTransport({ logger: silentLogger });
  readonly logs = new ScriptedLogs();
  readonly config: Config;
  readonly #buckets = new Map<BucketName, MemoryBucket>();
  readonly #stops: (() => Promise<void>)[] = [];
  #vault: Promise<DirectoryVault> | undefined;

  constructor(overrides: ConfigOverrides = {}) {
    const dataDir = mkdtempSync(join(tmpdir(), 'vouch-memory-'));
    this.config = loadConfig({}, { placement: TIMES, dataDir, ...overrides });
  }

  bucket(name: BucketName, ttlMs?: number): MemoryBucket {
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      bucket = new MemoryBucket({ logger: silentLogger, ...(ttlMs === undefined ? {} : { ttlMs }) });
      this.#buckets.set(name, bucket);
    }
    return bucket;
  }

  /** In a folder, because a vault must not be only in memory. */
  vault(): Promise<DirectoryVault> {
    this.#vault ??= DirectoryVault.open({ folder: join(this.config.dataDir, 'vault') });
    return this.#vault;
  }

  async coordinator(): Promise<{ backend: ClusterBackend; metrics: Metrics; reach: Reach }> {
    const reach = new Reach(this);
    const metrics = new Metrics('coordinator');
    const backend = await ClusterBackend.start(this.config, reach, {
      metrics,
      clock: systemClock,
      logger: silentLogger,
    });
    this.#stops.push(() => backend.stop());
    return { backend, metrics, reach };
  }

  async shard(
    name: string,
    onTakenOver?: () => void,
    reach = new Reach(this),
  ): Promise<{ reach: Reach; leave(): Promise<void>; stop(): Promise<void> }> {
    const shard = await runShard({
      config: this.config,
      name,
      platform: reach,
      logger: silentLogger,
      ...(onTakenOver === undefined ? {} : { onTakenOver }),
    });
    let stopped: Promise<void> | undefined;
    const stop = (): Promise<void> => {
      stopped ??= shard.stop();
      return stopped;
    };
    this.#stops.push(stop);
    return { reach, leave: () => shard.leave(), stop };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#stops.map((stop) => stop()));
    await this.transport.close();
    for (const bucket of this.#buckets.values()) bucket.close();
    await (await this.#vault)?.close();
    await rm(this.config.dataDir, { recursive: true, force: true });
  }
}

/** Value of a coordinator's metric; 0 before its first measurement. */
export async function metric(metrics: Metrics, name: keyof MetricTable, labels: object = {}): Promise<number> {
  const wanted = JSON.stringify(labels);
  return samplesNamed(name, await metrics.texts()).find((one) => JSON.stringify(one.labels) === wanted)?.value ?? 0;
}
