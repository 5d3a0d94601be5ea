/**
 * A cluster within one process: shards and coordinators as they run in production, over buckets, logs and a transport in
 * memory. Each has its own way to them, which can be cut, or made slow to tell of changes.
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

/** One process's way to the cluster. */
export class Reach implements Platform {
  readonly mode = 'cluster';
  /** The buckets cannot be reached, and no further subject can be served. */
  cut = false;
  #mutes = 0;
  readonly #held = new Map<BucketName, (() => void)[]>();
  /** Of the next updates of owner entries, in order: not answered, and not done, done, or done when the promise resolves. */
  readonly ownerUpdates: ('lost' | 'landed' | Promise<unknown>)[] = [];
  /** Requests to these subjects, and their answers, are lost. */
  readonly unheard = new Set<string>();

  constructor(private readonly cluster: MemoryCluster) {}

  get transport(): Transport {
    const { transport } = this.cluster;
    return {
      maxPayloadBytes: transport.maxPayloadBytes,
      load: transport.load,
      request: async (subject, ...asked) => {
        if (this.unheard.has(subject)) throw new AnswerLost();
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
  readonly missing = async (): Promise<string[]> => [];
  readonly natsServers = async (): Promise<[]> => [];

  get logs(): ScriptedLogs {
    return this.cluster.logs;
  }

  /** What is published is lost, until the returned function is called. */
  mute(): () => void {
    this.#mutes++;
    return () => {
      this.#mutes--;
    };
  }

  /** Watches that catch up receive the changes of a bucket at once, the others at `release`. */
  hold(name: BucketName): void {
    this.#held.set(name, []);
  }

  release(name: BucketName): void {
    this.#tellHeld(name);
    this.#held.delete(name);
  }

  #tellHeld(name: BucketName): void {
    for (const tell of this.#held.get(name)?.splice(0) ?? []) tell();
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
        const toldInTurn = (tell: () => void): void => {
          const held = this.#held.get(name);
          if (held === undefined) tell();
          else held.push(tell);
        };
        const watch = await bucket.watch((change) => toldInTurn(() => listener(change)));
        const caughtUp = (): Promise<void> => reaching(async () => this.#tellHeld(name));
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
    throw unavailable('whether the entry was changed is not known');
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

  /** In a folder: a vault is nothing that belongs in memory alone. */
  vault(): Promise<DirectoryVault> {
    this.#vault ??= DirectoryVault.open({ folder: join(this.config.dataDir, 'vault') });
    return this.#vault;
  }

  async coordinator(): Promise<{ backend: ClusterBackend; metrics: Metrics; reach: Reach }> {
    const reach = new Reach(this);
    const metrics = new Metrics('coordinator');
    const backend = await ClusterBackend.start(this.config, reach, metrics, systemClock, silentLogger);
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

/** What the coordinator measures; 0 where there is nothing yet. */
export async function metric(metrics: Metrics, name: keyof MetricTable, labels: object = {}): Promise<number> {
  const wanted = JSON.stringify(labels);
  return samplesNamed(name, await metrics.texts()).find((one) => JSON.stringify(one.labels) === wanted)?.value ?? 0;
}
