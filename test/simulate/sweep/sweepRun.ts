/**
 * One operation again and again in one small service, each time with a fault at a later step, until it ends before it comes
 * to that step. After each fault everything must be served again.
 */
import { nuid } from 'nats';
import { Draws } from '../../soak/clients/choices/draws.js';
import { createCollections } from '../../soak/clients/createCollections.js';
import { Recorder } from '../../soak/clients/recorder.js';
import type { Call } from '../../soak/history.js';
import type { LogOf } from '../../soak/readLogs.js';
import { type SimulatedShape, sweepShape } from '../cluster/shape.js';
import { SimulatedCluster } from '../cluster/simulatedCluster.js';
import { heal, type SimulatedService } from '../cluster/simulatedService.js';
import { SimulatedStandalone } from '../cluster/simulatedStandalone.js';
import { exchangeOver } from '../http/exchange.js';
import { verdictOn } from '../verdict.js';
import type { World } from '../world/world.js';
import { Asker } from './asker.js';
import { OPERATIONS, type SweepMode, type SweptOperation } from './operations.js';
import { SweepPoint, type SweepWay, type Victim } from './point.js';
import { COLLECTION, DIMENSION, type Stage } from './stage.js';
import { Tool } from './tool.js';

export interface SweepOrder {
  readonly mode: SweepMode;
  /** A name of `OPERATIONS`. */
  readonly operation: string;
  readonly way: SweepWay;
  /** The first step with a fault, from 1, and how much later each next one is. */
  readonly from: number;
  readonly every: number;
  /** Faults at most. */
  readonly most: number;
}

export interface Swept {
  /** Faults that were made. */
  readonly faults: number;
  /** The steps of the operation, where the last fault came behind them; else the step of the last fault. */
  readonly steps: number;
  /** Whether the last fault came behind the end. */
  readonly isWhole: boolean;
  /** The step of the last fault. */
  readonly reached: string | undefined;
}

/** An operation under a fault takes at most so long, and everything is served again within the other. */
const RUN_MS = 20_000;
const SERVED_WITHIN_MS = 60_000;
const LOOK_AGAIN_MS = 200;
/** An operation does not take the same steps each time, so it must end before the step of the fault so often. */
const ENDED_TIMES = 2;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class SweepRun {
  readonly failures: string[] = [];
  swept: Swept = { faults: 0, steps: 0, isWhole: false, reached: undefined };
  readonly shape: SimulatedShape;
  readonly #service: SimulatedService;
  readonly #operation: SweptOperation;
  readonly #recorder: Recorder;
  readonly #tool: Tool;
  #collections: readonly LogOf[] = [];
  /** How often in a row the operation has ended before the step of the fault. */
  #ended = 0;

  constructor(
    private readonly world: World,
    drawn: SimulatedShape,
    private readonly order: SweepOrder,
  ) {
    const operation = OPERATIONS[order.operation];
    if (operation === undefined) throw new Error(`there is no operation ${order.operation}`);
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
    // The names that nats.js makes begin anew.
    (nuid as unknown as { init(): void }).init();
    const stage = await this.#openStage();
    await this.#served(stage);
    const { from, every, most } = this.order;
    for (let at = from; this.swept.faults < most && !this.swept.isWhole; at += every) {
      stage.number++;
      await this.#fault(stage, at);
    }
    const hadErrors = this.order.way === 'EIO' || this.order.way === 'ENOSPC';
    const { shape, calls } = this;
    const judged = { service: this.#service, shape, collections: this.#collections, calls, hadErrors, hasRot: false };
    this.failures.push(...(await verdictOn(judged)));
  }

  /** Throws an Error where the service does not recover. */
  async #fault(stage: Stage, at: number): Promise<void> {
    const operation = this.#operation;
    await operation.prepare?.(stage);
    const point = new SweepPoint(this.#service, this.#victim(), this.order.way, at);
    await Promise.race([operation.run(stage), wait(RUN_MS)]);
    await wait(operation.settleMs);
    point.stop();
    const { reached } = point;
    if (reached === undefined) {
      const steps = Math.max(this.swept.steps, point.count);
      this.swept = { ...this.swept, steps, isWhole: ++this.#ended >= ENDED_TIMES };
      return;
    }
    this.#ended = 0;
    this.swept = { faults: this.swept.faults + 1, steps: at, isWhole: false, reached };
    heal(this.#service);
    await this.#served(stage);
    await operation.complete?.(stage);
  }

  #victim(): Victim {
    const { victim } = this.#operation;
    const { processes, shardNames } = this.#service;
    if (victim === 'tool') return this.#tool;
    const process = processes.get(shardNames[victim === 'first' ? 0 : 1]!)!;
    return { machine: process.name, party: () => process.party, kill: () => process.kill(LOOK_AGAIN_MS) };
  }

  async #openStage(): Promise<Stage> {
    const { world, shape } = this;
    const service = this.#service;
    const key = await service.start();
    const [via, address] = [...service.coordinators][0]!;
    const draws = new Draws(0, world.random('draws'));
    const exchange = exchangeOver(service.network, service.ports);
    const asking = { address, via, key, draws, recorder: this.#recorder, exchange };
    this.#collections = await createCollections(shape.collections, asking);
    return { service, ask: new Asker(asking), number: 0, tool: (work) => this.#tool.run(work) };
  }

  /** A write and a search are answered. Throws an Error where they are not. */
  async #served({ ask }: Stage): Promise<void> {
    const overMs = this.world.monotonicMs() + SERVED_WITHIN_MS;
    const search = { query: ask.draws.vector(DIMENSION), k: 5, color: null, isEventual: false, asOf: null };
    for (;;) {
      const calls = [
        await ask.call({ op: 'insert', collection: COLLECTION, row: ask.draws.row(DIMENSION) }),
        await ask.call({ op: 'search', collection: COLLECTION, ...search }),
      ];
      if (calls.every(({ outcome }) => outcome.kind === 'ok')) return;
      if (this.world.monotonicMs() > overMs)
        throw new Error(`${COLLECTION} is not served again: ${JSON.stringify(calls.map(({ outcome }) => outcome))}`);
      await wait(LOOK_AGAIN_MS);
    }
  }
}
