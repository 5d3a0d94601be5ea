/** A simulated standalone node: the whole service in one process, with its data in files. */
import { loadConfig } from '../../../config/load.js';
import { runCoordinator } from '../../../coordinator/coordinator.js';
import { runShard } from '../../../shard/shard.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { openFolderVault, openStandalone } from '../../../shared/platform/standalonePlatform.js';
import { openSigner } from '../../../shared/signing/signer.js';
import type { AccessHead } from '../../../verifier/index.js';
import { LogFolder } from '../../../verifier/node/index.js';
import type { CollectionLog } from '../../soak/checker/log.js';
import type { Call } from '../../soak/history.js';
import { type LogOf, readLog, rootSequences } from '../../soak/readLogs.js';
import type { ChurnClients } from '../churn/churnClients.js';
import { DISKS, type Disks, disksIn } from '../disk/simulatedFiles.js';
import { HttpPorts } from '../http/engine.js';
import { Findings } from '../judges/findings.js';
import { judgeIndexes } from '../judges/indexJudge.js';
import { judgeMemory } from '../judges/memoryJudge.js';
import { quotaJudgeOf } from '../judges/quotaJudge.js';
import { StatesJudge } from '../judges/statesJudge.js';
import { type Network, networkIn } from '../network/network.js';
import type { World } from '../world/world.js';
import { createKeys } from './projects.js';
import type { SimulatedShape } from './shape.js';
import { SimulatedLogs } from './simulatedLogger.js';
import { SimulatedProcess } from './simulatedProcess.js';
import { HTTP_PORT, type SimulatedService } from './simulatedService.js';

const NAME = 'v1';
const ADDRESS = '10.0.3.1';
const DATA = `${DISKS}${NAME}/data`;
const LOOK_AGAIN_MS = 50;

export class SimulatedStandalone implements SimulatedService {
  readonly network: Network;
  readonly disks: Disks;
  readonly ports: HttpPorts;
  readonly logs: SimulatedLogs;
  readonly processes: ReadonlyMap<string, SimulatedProcess>;
  readonly shardNames = [NAME];
  readonly coordinatorNames = [NAME];
  readonly witness = undefined;
  readonly nats = undefined;
  readonly findings: readonly string[];
  readonly states: StatesJudge;
  readonly coordinators = new Map([[NAME, `http://${ADDRESS}:${HTTP_PORT}`]]);
  churn: ChurnClients | undefined;
  #projects: readonly string[] = [];
  #keys: ReadonlyMap<string, string> | undefined;

  constructor(
    readonly world: World,
    private readonly shape: SimulatedShape,
  ) {
    const findings = new Findings(world);
    this.findings = findings.all;
    this.states = new StatesJudge(findings, quotaJudgeOf(findings, shape.settings));
    judgeMemory(findings);
    judgeIndexes(findings);
    this.network = networkIn(world);
    this.disks = disksIn(world);
    this.ports = new HttpPorts(world);
    this.logs = new SimulatedLogs(world);
    this.processes = new Map([[NAME, new SimulatedProcess(world, NAME, () => this.#begin())]]);
  }

  async start(projects: readonly string[]): Promise<ReadonlyMap<string, string>> {
    this.#projects = projects;
    this.processes.get(NAME)!.start();
    while (this.#keys === undefined) await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    return this.#keys;
  }

  async openVault() {
    const vault = await openFolderVault(DATA);
    return { vault, close: async () => vault.close() };
  }

  async readLogs(collections: readonly LogOf[], calls: readonly Call[]): Promise<CollectionLog[]> {
    const logs: CollectionLog[] = [];
    for (const { name, id } of collections)
      logs.push(await readLog(name, await LogFolder.open(DATA, BigInt(id)), rootSequences(calls, name)));
    return logs;
  }

  async *accessFrames(collectionId: number): AsyncGenerator<Uint8Array, void, undefined> {
    const folder = await LogFolder.openAccess(DATA, BigInt(collectionId));
    try {
      for await (const { bytes } of folder.frames()) yield bytes;
    } finally {
      await folder.close();
    }
  }

  accessClaims(): readonly AccessHead[] {
    return [];
  }

  async #begin(): Promise<() => Promise<void>> {
    const config = loadConfig({
      ...{ VOUCH_MODE: 'standalone', VOUCH_DATA_DIR: DATA, VOUCH_HOST: ADDRESS, VOUCH_PORT: String(HTTP_PORT) },
      VOUCH_INSECURE_HTTP: 'true',
      ...this.shape.settings,
    });
    const logger = this.logs.logger(NAME);
    const platform = await openStandalone({ dataDir: config.dataDir, logger, segmentBytes: this.shape.segmentBytes });
    await openSigner(config.serviceLog.keyFile);
    const shard = await runShard({ config, name: 's1', platform, logger });
    const coordinator = await runCoordinator({ config, platform, logger, engine: this.ports.engine() });
    this.#keys ??= await createKeys(await platform.bucket(BUCKETS.keys), this.#projects);
    return async () => {
      await coordinator.stop();
      await shard.stop();
      await platform.close();
    };
  }
}
