/** One simulated cluster from its start to the verdict on it. */
import { nuid } from 'nats';
import { NO_LOGIN } from '../../shared/nats/natsLogin.js';
import { checkHistory } from '../soak/checker/check.js';
import { describeViolation } from '../soak/checker/violations.js';
import { Draws } from '../soak/clients/choices/draws.js';
import { Client } from '../soak/clients/client.js';
import { createCollections } from '../soak/clients/createCollections.js';
import { Known } from '../soak/clients/known.js';
import { KnownIds } from '../soak/clients/knownIds.js';
import { Recorder } from '../soak/clients/recorder.js';
import type { Call } from '../soak/history.js';
import { OutdatedReader } from '../soak/outdated/outdatedReader.js';
import { seededRandom } from '../soak/random.js';
import type { LogOf } from '../soak/readLogs.js';
import { type SimulatedShape, shapeOf, sweepShape } from './cluster/shape.js';
import { SimulatedCluster } from './cluster/simulatedCluster.js';
import { crashesOf, heal, type SimulatedService } from './cluster/simulatedService.js';
import { SimulatedStandalone } from './cluster/simulatedStandalone.js';
import { FAULTS, type FaultKind } from './faults/kinds.js';
import { planFaults, randomOf } from './faults/plan.js';
import { DiskCalls, type SweepPoint } from './faults/point.js';
import { exchangeOver } from './http/exchange.js';
import { withoutDiskErrors, withSequences } from './judge.js';
import { judgeLoss, sinceLoss } from './judges/sinceLoss.js';
import type { TraceListener } from './world/trace.js';
import { World } from './world/world.js';

export interface RunOptions {
  readonly seed: number;
  /** Simulated time under faults, in milliseconds. */
  readonly durationMs: number;
  /** The time for which faults are planned, where that is longer; those that come later are left out. */
  readonly planMs?: number;
  /** Numbers of faults of the plan that are left out. */
  readonly without?: ReadonlySet<number>;
  readonly stopAtStep?: number;
  /** No faults are planned. */
  readonly isQuiet?: boolean;
  /** A standalone node is run, with one fault at one call of its disk. */
  readonly point?: SweepPoint;
  readonly onTrace?: TraceListener;
}

export interface RunResult {
  readonly seed: number;
  readonly shape: SimulatedShape;
  /** Of everything that happened. */
  readonly hash: string;
  readonly events: number;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly calls: number;
  readonly answered: number;
  /** Kind → how many there were. */
  readonly faults: ReadonlyMap<string, number>;
  /** How many faults the plan has, and those that were carried out. */
  readonly planned: number;
  readonly done: readonly { readonly number: number; readonly atMs: number }[];
  /** Calls of the disk since the clients began, and the one at which the fault of a sweep was. */
  readonly diskCalls: number;
  readonly pointPath: string | undefined;
  /** What must not be; nothing where all is well. */
  readonly failures: readonly string[];
  /** What happened last. */
  readonly tail: readonly string[];
}

/** Once nothing goes wrong any more, everything is served within this. */
const SERVED_AGAIN_MS = 120_000;
const CALM_MS = 300;
const CALM_THINK_MS = 300;

/** Compiles and warms up what a process does once, so that every later run begins alike. */
async function warmUp(): Promise<void> {
  await simulate({ seed: WARM_SEED, durationMs: 1_000 });
}

/** Of the cluster that warms the process up, before any that counts. */
const WARM_SEED = 0;

let warm: Promise<void> | undefined;

export async function runSimulation(options: RunOptions): Promise<RunResult> {
  warm ??= warmUp();
  await warm;
  return simulate(options);
}

async function simulate(options: RunOptions): Promise<RunResult> {
  const { seed, durationMs, stopAtStep, onTrace } = options;
  const world = new World(seed);
  if (stopAtStep !== undefined) world.stopAtStep = stopAtStep;
  world.trace.listener = onTrace;
  const drawn = shapeOf(world.random('shape'), durationMs);
  const shape = options.isQuiet === true ? sweepShape(drawn) : drawn;
  world.lookMs = shape.lookMs;
  const run = new Run(world, shape, options);
  const failures: string[] = [];
  try {
    await world.run(() => run.all());
  } catch (error) {
    failures.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  failures.push(...run.failures);
  const { trace, steps, nowMs } = world;
  return {
    ...{ seed, shape, hash: trace.hash, events: trace.events, steps, simulatedMs: nowMs, failures, tail: trace.lines },
    ...{ faults: run.faults, planned: run.planned, done: run.done },
    ...{ diskCalls: run.diskCalls?.count ?? 0, pointPath: run.diskCalls?.pointPath },
    calls: run.calls.length,
    answered: run.calls.filter(({ outcome }) => outcome.kind !== 'unknown').length,
  };
}

/** After these an answer may tell of an error of the disk. */
const DISK_FAULTS: readonly FaultKind[] = ['disk full', 'disk fails'];

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

class Run {
  readonly failures: string[] = [];
  /** Kind → how many there were. */
  readonly faults = new Map<string, number>();
  readonly done: { readonly number: number; readonly atMs: number }[] = [];
  planned = 0;
  diskCalls: DiskCalls | undefined;
  readonly cluster: SimulatedService;
  readonly #recorder: Recorder;
  readonly #keys = new KnownIds<string>();
  readonly #known: ReadonlyMap<string, Known>;
  #key = '';
  #collections: readonly LogOf[] = [];

  constructor(
    private readonly world: World,
    private readonly shape: SimulatedShape,
    readonly options: RunOptions,
  ) {
    this.cluster = shape.servers === 0 ? new SimulatedStandalone(world, shape) : new SimulatedCluster(world, shape);
    this.#known = new Map(shape.collections.map((each) => [each.name, new Known(each, this.#keys)]));
    this.#recorder = new Recorder({ write: (line) => world.trace.text(line) });
  }

  get calls(): readonly Call[] {
    return this.#recorder.calls;
  }

  async all(): Promise<void> {
    // The names that nats.js makes begin anew.
    (nuid as unknown as { init(): void }).init();
    this.#key = await this.cluster.start();
    const clients = await this.#openClients();
    for (const client of clients) client.start();
    const outdated = await this.#openOutdated();
    outdated?.start();
    await this.#makeFaults();
    heal(this.cluster);
    const calm = this.#calmClients();
    for (const client of calm) client.start();
    await this.#servedAgain();
    await Promise.all([outdated, ...clients, ...calm].map((client) => client?.stop()));
    await this.#judge();
  }

  async #makeFaults(): Promise<void> {
    const { world, cluster, options } = this;
    const { durationMs, faultEveryMs } = this.shape;
    const begunMs = world.nowMs;
    cluster.nats?.sync();
    if (options.isQuiet === true) {
      this.diskCalls = new DiskCalls(cluster, options.point);
      await wait(durationMs);
      return;
    }
    const plan = planFaults(world.random('plan'), options.planMs ?? durationMs, faultEveryMs);
    this.planned = plan.length;
    for (const planned of plan) {
      if (options.without?.has(planned.number) || planned.atMs >= durationMs) continue;
      await wait(begunMs + planned.atMs - world.nowMs);
      const told = FAULTS[planned.kind](cluster, randomOf(planned));
      if (told === undefined) continue;
      this.done.push({ number: planned.number, atMs: planned.atMs });
      this.faults.set(planned.kind, (this.faults.get(planned.kind) ?? 0) + 1);
      world.note(`fault ${planned.number}: ${told}`);
    }
    await wait(begunMs + durationMs - world.nowMs);
  }

  async #openClients(): Promise<Client[]> {
    const { cluster, shape, world } = this;
    const { coordinators } = cluster;
    const exchange = exchangeOver(cluster.network, cluster.ports);
    const known = this.#known;
    const [via, address] = [...coordinators][0]!;
    const recorder = this.#recorder;
    const draws = new Draws(0, world.random('draws'));
    this.#collections = await createCollections(shape.collections, {
      ...{ address, via, key: this.#key, draws, recorder, exchange },
    });
    for (const call of recorder.calls) known.get(call.collection)?.learn(call);
    return Array.from({ length: shape.clients }, (_, i) => this.#client(i + 1, i, shape.thinkMs));
  }

  /** Asks the shards themselves, as a coordinator that has heard of no change. */
  async #openOutdated(): Promise<OutdatedReader | undefined> {
    const { cluster, shape, world } = this;
    if (cluster.nats === undefined || shape.outdatedEveryMs === undefined) return undefined;
    return OutdatedReader.open({
      ...{ collections: this.#collections, known: this.#known, recorder: this.#recorder },
      ...{ natsUrl: cluster.nats.url, login: NO_LOGIN, replicas: shape.servers, hasFollowers: shape.followers > 0 },
      ...{ random: world.random('outdated'), everyMs: shape.outdatedEveryMs },
    });
  }

  /** One for each collection, that asks often. */
  #calmClients(): Client[] {
    const { clients, collections } = this.shape;
    return collections.map((_, i) => this.#client(clients + i + 1, i, CALM_THINK_MS));
  }

  #client(number: number, own: number, thinkMs: number): Client {
    const { cluster, shape } = this;
    const names = shape.collections.map(({ name }) => name);
    const first = own % names.length;
    return new Client({
      ...{ number, key: this.#key, keys: this.#keys, known: this.#known, recorder: this.#recorder },
      coordinators: cluster.coordinators,
      exchange: exchangeOver(cluster.network, cluster.ports),
      collections: [...names.slice(first), ...names.slice(0, first)],
      random: seededRandom(this.options.seed + number),
      thinkMs,
      hasEventual: shape.followers > 0,
    });
  }

  /** Each collection has answered a write and a search. */
  async #servedAgain(): Promise<void> {
    const overMs = this.world.monotonicMs();
    const names = this.shape.collections.map(({ name }) => name);
    let silent = this.#silentSince(names, overMs);
    while (silent.length > 0 && this.world.monotonicMs() < overMs + SERVED_AGAIN_MS) {
      await wait(CALM_MS);
      silent = this.#silentSince(names, overMs);
    }
    for (const name of silent) this.failures.push(`${name} was not served again when all was over`);
  }

  /** Without those of which a loss was told. */
  #silentSince(names: readonly string[], sinceMs: number): string[] {
    const { nats, logs } = this.cluster;
    const silent = this.#recorder.silentSince(names, sinceMs);
    if (nats?.loss === undefined) return silent;
    const told = this.#collections.filter(({ id }) => logs.quarantined.has(id)).map(({ name }) => name);
    return silent.filter((name) => !told.includes(name));
  }

  async #judge(): Promise<void> {
    const { cluster, shape } = this;
    const logs = await cluster.readLogs(this.#collections, this.calls);
    const indexed = new Map(
      shape.collections.flatMap(({ name, index }) => (index === 'none' ? [] : [[name, 'none'] as const])),
    );
    const staleMs = Number(shape.settings.VOUCH_FOLLOWERS_STALE_MS);
    const loss = cluster.nats?.loss;
    const answered = loss === undefined ? this.calls : sinceLoss(this.calls, loss);
    const told = cluster.nats === undefined ? withSequences(answered, logs) : answered;
    const hadErrors = DISK_FAULTS.some((kind) => this.faults.has(kind)) || this.options.point !== undefined;
    const verdict = checkHistory(hadErrors ? withoutDiskErrors(told) : told, logs, { staleMs, indexed });
    this.failures.push(...verdict.violations.map((violation) => describeViolation(violation)));
    this.failures.push(...crashesOf(cluster).map((crash) => `a process ended by itself: ${crash}`));
    this.failures.push(...cluster.findings);
    const { alarms, damages, quarantined } = cluster.logs;
    if (loss !== undefined) this.failures.push(...judgeLoss(loss, this.#collections, logs, quarantined));
    // A loss is told.
    else this.failures.push(...alarms.map((alarm) => `logged as an error: ${alarm}`));
    if (!this.faults.has('bits rot')) this.failures.push(...damages.map((damage) => `no bit has rotted: ${damage}`));
    for (const { entries } of logs) this.world.trace.number(entries.length);
    this.world.note(JSON.stringify(verdict.checked));
  }
}
