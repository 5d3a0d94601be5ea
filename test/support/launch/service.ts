/**
 * A whole service for tests, of real processes: nats-server with any number of shards and coordinators, or one
 * standalone process. Each process can be killed and restarted at will, and others can join; addresses stay.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Bucket } from '../../../shared/bucket/bucket.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { DirectoryBucket } from '../../../shared/bucket/directory.js';
import { systemClock, systemEntropy } from '../../../shared/clock.js';
import { silentLogger } from '../../../shared/logger.js';
import { openCluster } from '../../../shared/platform/natsPlatform.js';
import type { Platform } from '../../../shared/platform/platform.js';
import { createKey, type Scope } from '../../../shared/registry/keys.js';
import { type Ownership, ownershipOf } from '../../../shared/registry/owners.js';
import { openSigner } from '../../../shared/signing/signer.js';
import { ED25519, formatVerifierKey, verifierKey } from '../../../verifier/index.js';
import { PATIENCE_MS, pauseMs } from '../patience.js';
import { Client } from './client.js';
import { type Mode, usualEngine } from './engines.js';
import { freePort } from './freePort.js';
import { startTestNats, type TestNats } from './natsServer.js';
import { type Ended, type Launched, launchNode } from './process.js';

export { Client, type Mode };

export type Settings = Readonly<Record<string, string | undefined>>;

export interface Project {
  readonly name: string;
  readonly rw: Client;
  readonly ro: Client;
  readonly admin: Client;
  /** Another read_write key of the same project. */
  readonly key2: Client;
}

const script = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const READY = /"msg":"ready"/;

/** Processes at the start of a cluster. */
export interface Members {
  /** Number of shards, named s1, s2, …; default 2. */
  readonly shards?: number;
  /** Number of coordinators, named coordinator, coordinator2, …, each on its own port; default 1. */
  readonly coordinators?: number;
  /** Replaces the service's own server; the service still stops it at its end. */
  readonly nats?: TestNats;
}

/** Times so long that a busy machine fails over no shard; tests of failover set their own. */
const PATIENT: Settings = { VOUCH_HEARTBEAT_MS: '500', VOUCH_LEASE_MS: '6000', VOUCH_FAILOVER_MS: '9000' };

/** Interval of looks at the folder of keys for keys that other processes make: no test waits for one. */
const LOOK_MS = 3_600_000;

/** Milliseconds for which a coordinator repeats the metrics it has read. */
const METRICS_MS = 1_000;

const FIRST_COORDINATOR = 'coordinator';
const isCoordinator = (name: string): boolean => name.startsWith(FIRST_COORDINATOR);
const numbered = (name: string, i: number): string => (i === 0 ? name : `${name}${i + 1}`);

export class Service {
  readonly #processes = new Map<string, Launched>();
  /** Environment that a process has besides the common one, for each process ever started. */
  readonly #own = new Map<string, Settings>();
  #nats: TestNats | undefined;
  #platform: Platform | undefined;
  #registry: (Bucket & { close(): Promise<void> | void }) | undefined;
  #projects = 0;

  private constructor(
    readonly mode: Mode,
    readonly url: string,
    readonly dataDir: string,
    private readonly settings: Settings,
  ) {}

  static async start(mode: Mode, settings: Settings = {}, members: Members = {}): Promise<Service> {
    const port = await freePort();
    const dataDir = await mkdtemp(join(tmpdir(), 'vouch-test-'));
    const service = new Service(mode, `http://127.0.0.1:${port}`, dataDir, {
      VOUCH_RATE_LIMITS: 'off',
      VOUCH_LOG_LEVEL: 'info',
      VOUCH_DATA_DIR: dataDir,
      VOUCH_HOST: '127.0.0.1',
      VOUCH_PORT: String(port),
      VOUCH_MODE: mode,
      VOUCH_METRICS_OPEN: 'true',
      VOUCH_HTTP_ENGINE: await usualEngine(mode),
      ...PATIENT,
      ...settings,
    });
    const { shards = 2, coordinators = 1, nats } = members;
    if (mode === 'cluster') {
      service.#nats = nats ?? (await startTestNats());
      await openSigner(service.#logKeyFile);
    }
    const names =
      mode === 'standalone'
        ? ['standalone']
        : [
            ...Array.from({ length: shards }, (_, i) => `s${i + 1}`),
            ...Array.from({ length: coordinators }, (_, i) => numbered(FIRST_COORDINATOR, i)),
          ];
    await Promise.all(names.map((name) => service.run(name)));
    await service.untilShards(mode === 'cluster' ? shards : 1);
    return service;
  }

  /** Processes except nats-server, running or not: shards first. */
  get processNames(): readonly string[] {
    return [...this.#own.keys()].sort((a, b) => Number(isCoordinator(a)) - Number(isCoordinator(b)));
  }

  get nats(): TestNats {
    if (this.#nats === undefined) throw new Error('a standalone service has no nats-server');
    return this.#nats;
  }

  /** Environment of all its processes. */
  get environment(): Settings {
    return { ...this.settings, VOUCH_NATS_URL: this.#nats?.url };
  }

  /**
   * Starts a process that does not run, and waits until it is ready. A new name that begins with `coordinator` joins as
   * a coordinator, any other as a shard. `own`: its environment besides the common one.
   */
  async run(name: string, own?: Settings): Promise<void> {
    await this.#setOwn(name, own);
    await this.#start(name);
  }

  async #setOwn(name: string, own: Settings | undefined): Promise<void> {
    const before = this.#own.get(name);
    if (before !== undefined && own === undefined) return;
    const isFirst = name === FIRST_COORDINATOR || !isCoordinator(name);
    const port = isFirst ? {} : { VOUCH_PORT: before?.VOUCH_PORT ?? String(await freePort()) };
    this.#own.set(name, { ...port, ...own });
  }

  async #start(name: string): Promise<void> {
    const env = { ...this.environment, ...this.#own.get(name) };
    const launched = isCoordinator(name)
      ? launchNode(script('coordinator/main.js'), [], { env })
      : name === 'standalone'
        ? launchNode(script('scripts/standalone.js'), [], { env })
        : launchNode(script('shard/main.js'), ['--name', name], { env });
    this.#processes.set(name, launched);
    await launched.waitForLine(name === 'standalone' ? /http:\/\// : READY);
  }

  /** Address of a coordinator; `url` is the first one's. */
  urlOf(coordinator: string): string {
    const port = this.#own.get(coordinator)?.VOUCH_PORT ?? this.settings.VOUCH_PORT;
    return `http://127.0.0.1:${port}`;
  }

  /** Resolves when the coordinator knows exactly that many live shards. */
  async untilShards(count: number, coordinator = FIRST_COORDINATOR): Promise<void> {
    const health = this.client(undefined, coordinator);
    await this.until(async () => (await health.get('/health')).body.shard_count === count);
  }

  process(name: string): Launched {
    return this.#processes.get(name) as Launched;
  }

  /** kill -9. */
  async kill(name: string): Promise<void> {
    if (name === 'nats') await this.nats.kill();
    else await this.process(name).kill();
  }

  /** SIGTERM, and waits for its end: a shard first hands its collections over. */
  end(name: string): Promise<Ended> {
    const launched = this.process(name);
    launched.signal('SIGTERM');
    return launched.waitForEnd();
  }

  async restart(name: string): Promise<void> {
    if (name === 'nats') await this.nats.start();
    else await this.run(name);
  }

  /** The test's own connection to the cluster. */
  async platform(): Promise<Platform> {
    this.#platform ??= await openCluster({
      url: this.nats.url,
      name: 'test',
      role: 'admin',
      logger: silentLogger,
      replicas: Number(this.settings.VOUCH_REPLICAS ?? 1),
      logStreams: 4,
    });
    return this.#platform;
  }

  /** Owner of a collection, in cluster mode. */
  async ownerOf(collectionId: number): Promise<string> {
    const owners = await (await this.platform()).bucket(BUCKETS.owners);
    const entry = await owners.get(String(collectionId));
    if (entry === undefined) throw new Error(`collection ${collectionId} has no owner`);
    return ownershipOf(entry).shard;
  }

  /** Every owner entry, by collection id. */
  async ownerships(): Promise<ReadonlyMap<number, Ownership>> {
    const owners = await (await this.platform()).bucket(BUCKETS.owners);
    const found = new Map<number, Ownership>();
    const watch = await owners.watch(({ key, entry }) => {
      if (entry !== undefined) found.set(Number(key), ownershipOf(entry));
    });
    watch.stop();
    return found;
  }

  get #logKeyFile(): string {
    return this.settings.VOUCH_LOG_KEY_FILE ?? join(this.dataDir, 'log.key');
  }

  /** Verifier key of the service log, once the log has an entry. */
  async logKey(): Promise<string> {
    const { publicKey } = await openSigner(this.#logKeyFile);
    let text = '';
    await this.until(async () => {
      const answer = await this.client(undefined).get('/log/checkpoint');
      text = answer.text;
      return answer.status === 200;
    });
    return formatVerifierKey(verifierKey(text.slice(0, text.indexOf('\n')), ED25519, publicKey));
  }

  /** Resolves when these shards own all collections evenly, and nothing moves. */
  async untilSpread(shards: readonly string[]): Promise<void> {
    await this.until(async () => {
      const ownerships = [...(await this.ownerships()).values()];
      const counts = shards.map((shard) => ownerships.filter((one) => one.shard === shard).length);
      const isAll = counts.reduce((sum, count) => sum + count, 0) === ownerships.length;
      return isAll && Math.max(...counts) - Math.min(...counts) <= 1 && !(await this.#isMoving());
    });
  }

  async #isMoving(): Promise<boolean> {
    const running = this.processNames.filter((name) => isCoordinator(name) && this.process(name).running);
    const underWay = await Promise.all(running.map((name) => this.metric('vouch_placement_moves_in_flight', '', name)));
    return underWay.some((count) => count > 0);
  }

  /**
   * Sum of all samples with that name and `labels`, in any order, from a coordinator's metrics: its own and all
   * shards'.
   */
  async metric(name: string, labels = '', coordinator = FIRST_COORDINATOR): Promise<number> {
    const text = await this.metrics(coordinator);
    const wanted = labels.split(',');
    return text
      .split('\n')
      .filter(
        (line) =>
          (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) && wanted.every((label) => line.includes(label)),
      )
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  /** Metrics read no earlier than now: for a second, a coordinator repeats what it has read. */
  async metrics(coordinator = FIRST_COORDINATOR): Promise<string> {
    const nowMs = systemClock.nowMs();
    const client = this.client(undefined, coordinator);
    let text = '';
    await this.until(async () => {
      text = (await client.get('/metrics')).text;
      const readMs = 1000 * Number(/^vouch_metrics_timestamp_seconds (\S+)$/m.exec(text)?.[1]);
      if (readMs < nowMs) await delay(readMs + METRICS_MS - systemClock.nowMs());
      return readMs >= nowMs;
    });
    return text;
  }

  client(key: string | undefined, coordinator = FIRST_COORDINATOR): Client {
    return new Client(this.urlOf(coordinator), key);
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

  /** Waits for a condition; a throw means "not yet". `everyMs`: pause between two looks, if it must not grow. */
  async until(condition: () => Promise<boolean>, { everyMs }: { readonly everyMs?: number } = {}): Promise<void> {
    const beganMs = systemClock.monotonicMs();
    const waitedMs = (): number => systemClock.monotonicMs() - beganMs;
    let last: unknown;
    while (waitedMs() < PATIENCE_MS) {
      try {
        if (await condition()) return;
        last = undefined;
      } catch (error) {
        last = error;
      }
      await delay(everyMs ?? pauseMs(waitedMs()));
    }
    throw new Error(`the condition was not met within ${PATIENCE_MS} ms`, { cause: last });
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
      const folder = join(this.dataDir, 'registry', BUCKETS.keys);
      this.#registry ??= await DirectoryBucket.open({ folder, logger: silentLogger, lookMs: LOOK_MS });
      return this.#registry;
    }
    return (await this.platform()).bucket(BUCKETS.keys);
  }
}
