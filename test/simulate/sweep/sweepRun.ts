/**
 * Runs one operation in one small service, with a fault at one of its steps. Afterwards everything must be served
 * again.
 */
import { nuid } from 'nats';
import { rotateMaster } from '../../../scripts/keys/rotateMaster.js';
import { systemEntropy } from '../../../shared/clock.js';
import { Draws } from '../../soak/clients/choices/draws.js';
import { createCollections } from '../../soak/clients/createCollections.js';
import { Recorder } from '../../soak/clients/recorder.js';
import type { Call } from '../../soak/history.js';
import type { LogOf } from '../../soak/readLogs.js';
import { PROJECT } from '../cluster/projects.js';
import { type SimulatedShape, sweepShape } from '../cluster/shape.js';
import { SimulatedCluster } from '../cluster/simulatedCluster.js';
import { heal, type SimulatedService } from '../cluster/simulatedService.js';
import { SimulatedStandalone } from '../cluster/simulatedStandalone.js';
import { DISKS } from '../disk/simulatedFiles.js';
import { exchangeOver } from '../http/exchange.js';
import { verdictOn } from '../verdict.js';
import type { World } from '../world/world.js';
import { Asker } from './asker.js';
import { OPERATIONS, type SweepMode, type SweptOperation } from './operations.js';
import { isDiskError, type SweepFault, SweepPoint, type Victim } from './point.js';
import { servedAgain } from './served.js';
import type { Stage } from './stage.js';
import { Tool } from './tool.js';

export interface SweepOrder {
  readonly mode: SweepMode;
  /** Key of `OPERATIONS`. */
  readonly operation: string;
  /** Without a fault the steps are counted. */
  readonly fault?: SweepFault;
}

/** Longest time of an operation under a fault. */
export const RUN_MS = 20_000;
/** Milliseconds until an ended process restarts. */
const DOWN_MS = 300;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class SweepRun {
  readonly failures: string[] = [];
  /** Names of the operation's steps, until some time after the fault. */
  steps: readonly string[] = [];
  readonly shape: SimulatedShape;
  readonly #service: SimulatedService;
  readonly #operation: SweptOperation;
  readonly #recorder: Recorder;
  readonly #tool: Tool;
  #collections: readonly LogOf[] = [];

  constructor(
    private readonly world: World,
    drawn: SimulatedShape,
    private readonly order: SweepOrder,
  ) {
    const operation = OPERATIONS[order.operation];
    if (operation === undefined) throw new Error(`unknown operation ${order.operation}`);
    this.#operation = operation;
    this.shape = sweepShape(drawn, order.mode, operation);
    const { shape } = this;
    this.#service = shape.servers === 0 ? new SimulatedStandalone(world, shape) : new SimulatedCluster(world, shape);
    this.#recorder = new Recorder({ write: (line) => world.trace.text(line) });
    this.#tool = new Tool(world, this.#service.shardNames[0]!);
  }

  get calls(): readonly Call[] {
    return this.#recorder.calls;
  }

  async all(): Promise<void> {
    // nats.js restarts its sequence of names.
    (nuid as unknown as { init(): void }).init();
    const { fault } = this.order;
    const stage = await this.#openStage();
    await servedAgain(stage);
    await this.#operate(stage);
    const hadErrors = fault !== undefined && isDiskError(fault.way);
    const { shape, calls } = this;
    const history = { collections: this.#collections, calls, reads: [], hadErrors, hasRot: false };
    const judged = { service: this.#service, shape, ...history };
    this.failures.push(...(await verdictOn(judged)));
  }

  /** Throws an Error if the service does not recover. */
  async #operate(stage: Stage): Promise<void> {
    const operation = this.#operation;
    await operation.prepare?.(stage);
    const point = new SweepPoint(this.#service, this.#victim(), this.order.fault);
    this.steps = point.steps;
    await Promise.race([operation.run(stage), wait(RUN_MS)]);
    await wait(operation.settleMs);
    point.stop();
    heal(this.#service);
    await servedAgain(stage);
    await operation.complete?.(stage);
  }

  #victim(): Victim {
    const { victim } = this.#operation;
    const { processes, shardNames } = this.#service;
    if (victim === 'tool') return this.#tool;
    const process = processes.get(shardNames[victim === 'first' ? 0 : 1]!)!;
    return { machine: process.name, party: () => process.party, kill: () => process.kill(DOWN_MS) };
  }

  async #openStage(): Promise<Stage> {
    const { world, shape } = this;
    const service = this.#service;
    const key = (await service.start([PROJECT])).get(PROJECT)!;
    const [via, address] = [...service.coordinators][0]!;
    const draws = new Draws(0, world.random('draws'));
    const exchange = exchangeOver(service.network, service.ports);
    const asking = { address, via, key, draws, recorder: this.#recorder, exchange };
    this.#collections = await createCollections(shape.collections, asking);
    return {
      ...{ ask: new Asker(asking), number: 1 },
      rotate: () => this.#tool.run(() => this.#rotate()),
      restart: async (way) => {
        service.processes.get(service.shardNames[0]!)![way](DOWN_MS);
        await wait(2 * DOWN_MS);
      },
    };
  }

  async #rotate(): Promise<void> {
    const opened = await this.#service.openVault();
    try {
      const masterKeyFile = `${DISKS}${this.#tool.machine}/data/master.key`;
      const options = { vault: opened.vault, masterKeyFile, entropy: systemEntropy, onProgress: () => undefined };
      await rotateMaster({ ...options, prepareOnly: false, forgetDamaged: false });
    } finally {
      await opened.close();
    }
  }
}
