/** A simulated cluster: NATS servers n1…, shards s1… and coordinators c1…, each on a machine of its own. */
import { loadConfig } from '../../../config/load.js';
import { coordinatorProcess } from '../../../coordinator/coordinator.js';
import { logVerifierKey } from '../../../coordinator/serviceLog/serviceLog.js';
import { prepareStore } from '../../../scripts/local/natsServer/prepareStore.js';
import { shardProcess } from '../../../shard/shard.js';
import { createMasterKeyFile, MASTER_KEY_BYTES, masterKeyOf } from '../../../shard/vault/masterKeyFile.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { systemEntropy } from '../../../shared/clock.js';
import { readBarrier } from '../../../shared/log/barrier.js';
import { NO_LOGIN } from '../../../shared/nats/natsLogin.js';
import type { NatsRole } from '../../../shared/nats/roles.js';
import { startClusterProcess } from '../../../shared/platform/clusterProcess.js';
import { type ClusterPlatform, openCluster } from '../../../shared/platform/natsPlatform.js';
import { openSigner } from '../../../shared/signing/signer.js';
import type { AccessHead } from '../../../verifier/index.js';
import type { CollectionLog } from '../../soak/checker/log.js';
import type { Call } from '../../soak/history.js';
import { type LogOf, readLogs, rootSequences } from '../../soak/readLogs.js';
import type { ChurnClients } from '../churn/churnClients.js';
import { DISKS, type Disks, disksIn } from '../disk/simulatedFiles.js';
import { HttpPorts } from '../http/engine.js';
import { ClusterJudge } from '../judges/clusterJudge.js';
import type { StatesJudge } from '../judges/statesJudge.js';
import { Broker } from '../nats/broker.js';
import { JetStream } from '../nats/jetStream.js';
import { type Network, networkIn } from '../network/network.js';
import type { Party } from '../world/party.js';
import type { World } from '../world/world.js';
import { createKeys } from './projects.js';
import type { SimulatedShape } from './shape.js';
import { SimulatedLogs } from './simulatedLogger.js';
import { SimulatedProcess } from './simulatedProcess.js';
import { SimulatedServers } from './simulatedServers.js';
import { HTTP_PORT, type SimulatedService } from './simulatedService.js';
import { SimulatedWitness } from './simulatedWitness.js';

const ACCESS_LOG = /^vouch\.log\.\d+\.(\d+)-access$/;

const namesOf = (letter: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${letter}${i + 1}`);

export class SimulatedCluster implements SimulatedService {
  readonly network: Network;
  readonly nats: SimulatedServers;
  churn: ChurnClients | undefined;
  readonly disks: Disks;
  readonly ports: HttpPorts;
  readonly logs: SimulatedLogs;
  readonly findings: readonly string[];
  readonly states: StatesJudge;
  readonly processes = new Map<string, SimulatedProcess>();
  witness: SimulatedWitness | undefined;
  readonly #judge: ClusterJudge;
  readonly shardNames: readonly string[];
  readonly coordinatorNames: readonly string[];

  constructor(
    readonly world: World,
    readonly shape: SimulatedShape,
  ) {
    this.network = networkIn(world);
    this.disks = disksIn(world);
    this.shardNames = namesOf('s', shape.shards);
    this.coordinatorNames = namesOf('c', shape.coordinators);
    const names = namesOf('n', shape.servers);
    const broker = new Broker(this.network, { isClustered: shape.servers > 1 });
    const jetStream = new JetStream(broker, this.network, names);
    const judge = new ClusterJudge(world, broker, jetStream, shape.settings);
    this.#judge = judge;
    this.findings = judge.findings.all;
    this.states = judge.states;
    this.nats = new SimulatedServers(world, names, { broker, jetStream, judge, isSynced: shape.syncs });
    this.ports = new HttpPorts(world);
    this.logs = new SimulatedLogs(world);
  }

  /** Name → base address. */
  get coordinators(): ReadonlyMap<string, string> {
    return new Map(this.coordinatorNames.map((name) => [name, `http://${addressOf(name)}:${HTTP_PORT}`]));
  }

  async start(projects: readonly string[]): Promise<ReadonlyMap<string, string>> {
    for (const name of this.nats.names) this.nats.start(name);
    await this.#asRole('admin', (platform) => prepareStore(platform, Number(this.shape.settings.VOUCH_LEASE_MS)));
    await this.#makeKeyFiles();
    for (const name of [...this.shardNames, ...this.coordinatorNames]) {
      const process = new SimulatedProcess(this.world, name, (party) => this.#startProcess(name, party));
      this.processes.set(name, process);
      process.start();
    }
    return this.#asRole('coordinator', async (platform) => {
      return createKeys(await platform.bucket(BUCKETS.keys), projects);
    });
  }

  async openVault() {
    const platform = await this.#openAs('shard');
    return { vault: await platform.vault(), close: () => platform.close() };
  }

  readLogs(collections: readonly LogOf[], calls: readonly Call[]): Promise<CollectionLog[]> {
    const sequencesOf = (name: string): number[] => rootSequences(calls, name);
    return readLogs(this.nats.url.split(',')[0]!, NO_LOGIN, collections, sequencesOf);
  }

  async *accessFrames(collectionId: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (const { subject, body } of this.nats.jetStream.stored())
      if (ACCESS_LOG.exec(subject)?.[1] === String(collectionId) && readBarrier(body) === undefined) yield body;
  }

  accessClaims(collectionId: number): readonly AccessHead[] {
    const { accessLogs } = this.#judge.serviceLog;
    return accessLogs.filter((entry) => entry.collectionId === collectionId);
  }

  async #startProcess(name: string, party: Party): Promise<() => Promise<void>> {
    const isShard = name.startsWith('s');
    const config = loadConfig({
      VOUCH_MODE: 'cluster',
      VOUCH_DATA_DIR: `${DISKS}${name}/data`,
      VOUCH_HOST: addressOf(name),
      VOUCH_PORT: String(HTTP_PORT),
      VOUCH_INSECURE_HTTP: 'true',
      VOUCH_NATS_URL: this.nats.url,
      ...this.shape.settings,
      ...(this.witness !== undefined && !isShard && { VOUCH_WITNESSES: `${DISKS}${name}/data/witnesses` }),
    });
    const logger = this.logs.logger(name);
    const wanted = { config, name, logger };
    const start = isShard ? shardProcess(wanted) : coordinatorProcess({ ...wanted, engine: this.ports.engine() });
    const end = (exitCode: number): void => this.processes.get(name)!.ends(party, exitCode);
    return startClusterProcess({ role: isShard ? 'shard' : 'coordinator', ...wanted }, start, end);
  }

  /** Writes the shards' master key and the service log's key, which their machines share. */
  async #makeKeyFiles(): Promise<void> {
    const key = masterKeyOf(systemEntropy(MASTER_KEY_BYTES));
    for (const name of [...this.shardNames, ...this.coordinatorNames])
      await createMasterKeyFile(`${DISKS}${name}/data/master.key`, masterKeyOf(Uint8Array.from(key.bytes)));
    const [first, ...others] = this.coordinatorNames;
    const { publicKey } = await openSigner(`${DISKS}${first}/data/log.key`);
    const source = this.disks.of(first!).open('/data/log.key', 'r', 0);
    const bytes = Buffer.from(source.disk.read(source, 0, source.node.size));
    for (const name of others) this.#write(name, '/data/log.key', bytes);
    if (this.shape.hasWitness) await this.#startWitness(logVerifierKey('', publicKey));
  }

  async #startWitness(logKey: string): Promise<void> {
    const { serviceLog, findings } = this.#judge;
    const hasLost = (): boolean => this.nats.loss !== undefined;
    this.witness = new SimulatedWitness(this.world, serviceLog, findings, hasLost, logKey);
    const policy = Buffer.from(await this.witness.policy());
    for (const name of this.coordinatorNames) this.#write(name, '/data/witnesses', policy);
    this.processes.set(this.witness.process.name, this.witness.process);
    this.witness.process.start();
  }

  #write(machine: string, path: string, bytes: Buffer): void {
    const disk = this.disks.of(machine);
    const file = disk.open(path, 'w', 0o600);
    disk.write(file, bytes, 0);
    disk.sync(file, 'fsync');
  }

  async #asRole<T>(role: NatsRole, work: (platform: ClusterPlatform) => Promise<T>): Promise<T> {
    const platform = await this.#openAs(role);
    try {
      return await work(platform);
    } finally {
      await platform.close();
    }
  }

  #openAs(role: NatsRole): Promise<ClusterPlatform> {
    const { servers, settings } = this.shape;
    return openCluster({
      ...{ url: this.nats.url, role, name: `simulated-${role}`, logger: this.logs.logger(role) },
      ...{ replicas: servers, logStreams: Number(settings.VOUCH_LOG_STREAMS) },
    });
  }
}

/** Address of a coordinator. */
const addressOf = (name: string): string => `10.0.2.${name.slice(1)}`;
