/**
 * A whole service for tests, of real processes: nats-server, shards and a coordinator, or the one standalone process.
 * Each process can be killed and started again at will; the addresses stay.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bucket } from '../../shared/bucket/bucket.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { createKey, type Scope } from '../../shared/keys.js';
import { silentLogger } from '../../shared/logger.js';
import { openCluster } from '../../shared/natsPlatform.js';
import { ownershipOf } from '../../shared/owners.js';
import { BUCKETS, type Platform } from '../../shared/platform.js';
import { openRegistryBucket } from '../../shared/standalonePlatform.js';
import { Client } from './client.js';
import { freePort } from './freePort.js';
import { startTestNats, type TestNats } from './natsServer.js';
import { type Launched, launchNode } from './process.js';

export { Client };

export type Mode = 'cluster' | 'standalone';
export type Settings = Readonly<Record<string, string | undefined>>;

export interface Project {
  readonly name: string;
  readonly rw: Client;
  readonly ro: Client;
  readonly admin: Client;
  /** Another read_write key of the same project. */
  readonly key2: Client;
}

const script = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const READY = /"msg":"ready"/;
export const SHARDS = ['s1', 's2'] as const;

export class Service {
  readonly #processes = new Map<string, Launched>();
  #nats: TestNats | undefined;
  #platform: Platform | undefined;
  #registry: (Bucket & { close(): Promise<void> | void }) | undefined;
  #projects = 0;
  #startsMax = 1;

  private constructor(
    readonly mode: Mode,
    readonly url: string,
    readonly dataDir: string,
    private readonly settings: Settings,
  ) {}

  /** `nats`: instead of a server of its own; the service ends it all the same. */
  static async start(mode: Mode, settings: Settings = {}, nats?: TestNats): Promise<Service> {
    const port = await freePort();
    const dataDir = await mkdtemp(join(tmpdir(), 'vouch-test-'));
    const service = new Service(mode, `http://127.0.0.1:${port}`, dataDir, {
      VOUCH_RATE_LIMITS: 'off',
      VOUCH_LOG_LEVEL: 'info',
      VOUCH_DATA_DIR: dataDir,
      VOUCH_HOST: '127.0.0.1',
      VOUCH_PORT: String(port),
      VOUCH_MODE: mode,
      ...settings,
    });
    if (mode === 'cluster') service.#nats = nats ?? (await startTestNats());
    // A cluster of servers that has just begun may not be able to do all that is asked of it yet.
    if (nats !== undefined) service.#startsMax = 5;
    await Promise.all(service.processNames.map((name) => service.run(name)));
    const health = service.client(undefined);
    const shards = mode === 'cluster' ? SHARDS.length : 1;
    await service.until(async () => (await health.get('/health')).body.shard_count === shards);
    return service;
  }

  /** Of the processes besides nats-server. */
  get processNames(): readonly string[] {
    return this.mode === 'cluster' ? [...SHARDS, 'coordinator'] : ['standalone'];
  }

  get nats(): TestNats {
    if (this.#nats === undefined) throw new Error('a standalone service has no nats-server');
    return this.#nats;
  }

  /** What its processes are started with. */
  get environment(): Settings {
    return { ...this.settings, VOUCH_NATS_URL: this.#nats?.url };
  }

  /** Starts a process that does not run, and waits until it is ready: again where it ends, as a supervisor does. */
  async run(name: string): Promise<void> {
    for (let left = this.#startsMax - 1; ; left--) {
      try {
        await this.#start(name);
        return;
      } catch (error) {
        if (left <= 0) throw error;
      }
    }
  }

  async #start(name: string): Promise<void> {
    const env = this.environment;
    const launched =
      name === 'coordinator'
        ? launchNode(script('coordinator/main.js'), [], { env })
        : name === 'standalone'
          ? launchNode(script('scripts/standalone.js'), [], { env })
          : launchNode(script('shard/main.js'), ['--name', name], { env });
    this.#processes.set(name, launched);
    await launched.waitForLine(name === 'standalone' ? /http:\/\// : READY, { timeoutMs: 60_000 });
  }

  process(name: string): Launched {
    return this.#processes.get(name) as Launched;
  }

  /** kill -9. */
  async kill(name: string): Promise<void> {
    if (name === 'nats') await this.nats.kill();
    else await this.process(name).kill();
  }

  async restart(name: string): Promise<void> {
    if (name === 'nats') await this.nats.start();
    else await this.run(name);
  }

  /** The test's own way to the cluster. */
  async platform(): Promise<Platform> {
    this.#platform ??= await openCluster({
      url: this.nats.url,
      name: 'test',
      logger: silentLogger,
      replicas: Number(this.settings.VOUCH_REPLICAS ?? 1),
      logStreams: 4,
    });
    return this.#platform;
  }

  /** The shard of a collection, in cluster mode. */
  async ownerOf(collectionId: number): Promise<string> {
    const owners = await (await this.platform()).bucket(BUCKETS.owners);
    const entry = await owners.get(String(collectionId));
    if (entry === undefined) throw new Error(`nobody owns collection ${collectionId}`);
    return ownershipOf(entry).shard;
  }

  client(key: string | undefined): Client {
    return new Client(this.url, key);
  }

  async newProject(): Promise<Project> {
    const name = `p${++this.#projects}`;
    const client = async (scope: Scope): Promise<Client> => {
      const bucket = await this.#keys();
      const { key } = await createKey(bucket, { project: name, scope }, systemClock, systemEntropy);
      return this.client(key);
    };
    const [rw, ro, admin, key2] = await Promise.all([
      client('read_write'),
      client('read_only'),
      client('admin'),
      client('read_write'),
    ]);
    return { name, rw, ro, admin, key2 };
  }

  /** Waits for a condition; a throw counts as not yet. */
  async until(condition: () => Promise<boolean>, timeoutMs = 15_000): Promise<void> {
    const deadline = systemClock.monotonicMs() + timeoutMs;
    let last: unknown;
    while (systemClock.monotonicMs() < deadline) {
      try {
        if (await condition()) return;
        last = undefined;
      } catch (error) {
        last = error;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`the condition did not hold within ${timeoutMs} ms`, { cause: last });
  }

  async stop(): Promise<void> {
    await this.#platform?.close();
    await this.#registry?.close();
    await Promise.all([...this.#processes.values()].map((launched) => launched.stop()));
    await this.#nats?.stop();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  async #keys(): Promise<Bucket> {
    if (this.mode === 'standalone') {
      this.#registry ??= await openRegistryBucket({ dataDir: this.dataDir, logger: silentLogger }, BUCKETS.keys);
      return this.#registry;
    }
    return (await this.platform()).bucket(BUCKETS.keys);
  }
}
