/** One simulated cluster from its start to the verdict on it. */
import { nuid } from 'nats';
import { NO_LOGIN } from '../../shared/nats/natsLogin.js';
import { AskedReads } from '../soak/access/askedReads.js';
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
import { ChurnClients } from './churn/churnClients.js';
import { churnUnsettled } from './churn/settle.js';
import { CHURN_PROJECT, PROJECT } from './cluster/projects.js';
import { calmShape, type SimulatedShape, shapeOf } from './cluster/shape.js';
import { SimulatedCluster } from './cluster/simulatedCluster.js';
import { heal, type SimulatedService } from './cluster/simulatedService.js';
import { SimulatedStandalone } from './cluster/simulatedStandalone.js';
import { FAULTS, type FaultKind } from './faults/kinds.js';
import { planFaults, randomOf } from './faults/plan.js';
import { exchangeOver } from './http/exchange.js';
import { judgeAlias } from './judges/aliasJudge.js';
import { judgeChurn } from './judges/churnJudge.js';
import { isQuotaRefusal } from './judges/quotaJudge.js';
import { Rest } from './rest.js';
import { type SweepOrder, SweepRun } from './sweep/sweepRun.js';
import { verdictOn } from './verdict.js';
import type { TraceListener } from './world/trace.js';
import './world/indexes.js';
import { forgetWork } from './world/turns.js';
import { EventReached, World } from './world/world.js';

export interface RunOptions {
  readonly seed: number;
  /** Simulated time under faults, in milliseconds. */
  readonly durationMs: number;
  /** Mean length of a calm between storms of faults, in milliseconds. 0 or without it: no calms. */
  readonly calmMs?: number;
  /** Number of fault kinds that the plan draws from, see `planFaults`. */
  readonly kinds?: number;
  /** Numbers of the planned faults that are skipped. */
  readonly without?: ReadonlySet<number>;
  /** The run ends when this many events have been noted. */
  readonly stopAtEvent?: number;
  /** The operation to sweep; then no other faults are planned. */
  readonly sweep?: SweepOrder;
  readonly onTrace?: TraceListener;
}

export interface RunResult {
  readonly seed: number;
  readonly shape: SimulatedShape;
  /** Hash over everything that happened. */
  readonly hash: string;
  readonly events: number;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly calls: number;
  readonly answered: number;
  /** Kind of fault → how often it was carried out. */
  readonly faults: ReadonlyMap<string, number>;
  /** Number of planned faults; `done` lists those that were carried out. */
  readonly planned: number;
  readonly done: readonly { readonly number: number; readonly atMs: number }[];
  /** Names of the steps of the swept operation. */
  readonly swept: readonly string[] | undefined;
  /** Every violation; empty if all is well. */
  readonly failures: readonly string[];
  /** The last events. */
  readonly tail: readonly string[];
}

/**
 * Milliseconds after the last fault within which everything is served again. A full project waits two minutes for a
 * dead owner's late appends, counted from the start of the next owner.
 */
const SERVED_AGAIN_MS = 180_000;
/**
 * Milliseconds within which a contradiction with a witness is reported; one that did not answer is asked again after at
 * most 30 s.
 */
const WITNESSED_REPORTED_WITHIN_MS = 90_000;
const CALM_MS = 300;
/** Greatest age of a list of collections: the longest cut of a NATS server, and a margin. */
const CHURN_STALE_MS = 40_000;
const CALM_THINK_MS = 300;

/** In a calm longer than both, clients rest: from SETTLE_MS after the last fault to LEAD_MS before the next. */
const SETTLE_MS = 12_000;
const LEAD_MS = 1_000;
/** Mean pause of the one client that asks during calms. */
const IDLE_THINK_MS = 10_000;

/** Compiles and warms up what a process does once, so that all later runs start equal. */
async function warmUp(): Promise<void> {
  await simulate({ seed: WARM_SEED, durationMs: 1_000 });
}

/** Seed of the cluster that warms up the process. */
const WARM_SEED = 0;

let warm: Promise<void> | undefined;

export async function runSimulation(options: RunOptions): Promise<RunResult> {
  warm ??= warmUp();
  await warm;
  return simulate(options);
}

async function simulate(options: RunOptions): Promise<RunResult> {
  const { seed, durationMs, stopAtEvent, onTrace } = options;
  forgetWork();
  const world = new World(seed);
  if (stopAtEvent !== undefined) world.stopAtEvent = stopAtEvent;
  world.trace.listener = onTrace;
  const drawn = shapeOf(world.random('shape'), durationMs);
  world.lookMs = drawn.lookMs;
  const run =
    options.sweep === undefined
      ? new Run(world, options.calmMs ? calmShape(drawn, world.random('calm')) : drawn, options)
      : new SweepRun(world, drawn, options.sweep);
  const failures: string[] = [];
  try {
    await world.run(() => run.all());
  } catch (error) {
    if (!(error instanceof EventReached))
      failures.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  failures.push(...run.failures);
  const { trace, steps, nowMs } = world;
  return {
    ...{
      seed,
      shape: run.shape,
      hash: trace.hash,
      events: trace.events,
      steps,
      simulatedMs: nowMs,
      failures,
      tail: trace.lines,
    },
    ...(run instanceof SweepRun
      ? { faults: new Map(), planned: 0, done: [], swept: run.steps }
      : { faults: run.faults, planned: run.planned, done: run.done, swept: undefined }),
    calls: run.calls.length,
    answered: run.calls.filter(({ outcome }) => outcome.kind !== 'unknown').length,
  };
}

/** Faults after which an answer may name a disk error. */
const DISK_FAULTS: readonly FaultKind[] = ['disk full', 'disk fails'];

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Parameters of a client. `own`: the index of its collection. */
interface Asking {
  readonly number: number;
  readonly own: number;
  readonly thinkMs: number;
  readonly restOver?: (() => Promise<void> | undefined) | undefined;
}

class Run {
  readonly failures: string[] = [];
  /** Kind of fault → how often it was carried out. */
  readonly faults = new Map<string, number>();
  readonly done: { readonly number: number; readonly atMs: number }[] = [];
  planned = 0;
  readonly cluster: SimulatedService;
  readonly #recorder: Recorder;
  readonly #reads: AskedReads;
  readonly #rest = new Rest();
  readonly #keys = new KnownIds<string>();
  readonly #known: ReadonlyMap<string, Known>;
  #key = '';
  #collections: readonly LogOf[] = [];

  constructor(
    private readonly world: World,
    readonly shape: SimulatedShape,
    readonly options: RunOptions,
  ) {
    this.cluster = shape.servers === 0 ? new SimulatedStandalone(world, shape) : new SimulatedCluster(world, shape);
    this.#known = new Map(shape.collections.map((each) => [each.name, new Known(each, this.#keys)]));
    const audited = shape.collections.filter(({ auditReads }) => auditReads).map(({ name }) => name);
    this.#reads = new AskedReads(new Set(audited));
    const isServed = (call: Call): boolean => call.outcome.kind === 'ok' || isQuotaRefusal(call);
    this.#recorder = new Recorder({ write: (line) => world.trace.text(line) }, isServed);
  }

  get #hasCalms(): boolean {
    return (this.options.calmMs ?? 0) > 0;
  }

  get calls(): readonly Call[] {
    return this.#recorder.calls;
  }

  async all(): Promise<void> {
    // nats.js restarts its sequence of names.
    (nuid as unknown as { init(): void }).init();
    const keys = await this.cluster.start(this.#hasChurn ? [PROJECT, CHURN_PROJECT] : [PROJECT]);
    this.#key = keys.get(PROJECT)!;
    this.cluster.churn = this.#churnClients(keys.get(CHURN_PROJECT));
    const clients = await this.#openClients();
    for (const client of clients) client.start();
    const outdated = await this.#openOutdated();
    outdated?.start();
    await this.#makeFaults();
    heal(this.cluster);
    const calm = this.#calmClients();
    for (const client of calm) client.start();
    await this.#servedAgain();
    await this.#witnessedReported();
    await this.#churnSettled();
    await Promise.all([outdated, ...clients, ...calm].map((client) => client?.stop()));
    await this.#judge();
  }

  /** Whether collections come and go. Plans from before that fault kind existed have none. */
  get #hasChurn(): boolean {
    return Object.keys(FAULTS)
      .slice(0, this.options.kinds)
      .includes('collections come and go' satisfies FaultKind);
  }

  #churnClients(key: string | undefined): ChurnClients | undefined {
    const { network, ports, coordinators } = this.cluster;
    if (key === undefined) return undefined;
    const note = (line: string): void => this.world.note(line, 'churn');
    return new ChurnClients({ key, coordinators, exchange: exchangeOver(network, ports), note });
  }

  async #churnSettled(): Promise<void> {
    const { churn, nats } = this.cluster;
    // Lost server data may include collections, or their deletion.
    if (churn === undefined || churn.calls.length === 0 || nats?.loss !== undefined) return;
    const others = this.#collections.map(({ id }) => id);
    this.failures.push(...(await churnUnsettled(this.cluster, churn, others)));
    const rules = {
      collectionsMax: Number(this.shape.settings.VOUCH_MAX_COLLECTIONS),
      coordinators: this.cluster.coordinatorNames.length,
      staleMs: CHURN_STALE_MS,
    };
    this.failures.push(...judgeChurn(churn.calls, rules), ...judgeAlias(churn.calls));
  }

  async #makeFaults(): Promise<void> {
    const { world, cluster, options } = this;
    const { durationMs, faultEveryMs } = this.shape;
    const begunMs = world.nowMs;
    cluster.nats?.sync();
    const plan = planFaults(world.random('plan'), {
      ...{ untilMs: durationMs, everyMs: faultEveryMs, calmMs: options.calmMs ?? 0, kinds: options.kinds },
    });
    this.planned = plan.length;
    for (const planned of plan) {
      if (planned.atMs >= durationMs) break;
      await this.#until(begunMs + planned.atMs);
      if (options.without?.has(planned.number)) continue;
      const what = FAULTS[planned.kind](cluster, randomOf(planned));
      if (what === undefined) continue;
      this.done.push({ number: planned.number, atMs: planned.atMs });
      this.faults.set(planned.kind, (this.faults.get(planned.kind) ?? 0) + 1);
      world.note(`fault ${planned.number}: ${what}`);
    }
    await this.#until(begunMs + durationMs);
    this.#rest.end();
  }

  /** Waits until that time; during a long wait the clients rest. */
  async #until(atMs: number): Promise<void> {
    const { world } = this;
    if (this.#hasCalms && atMs - world.nowMs > SETTLE_MS + LEAD_MS) {
      await wait(SETTLE_MS);
      this.#rest.begin();
      await wait(atMs - LEAD_MS - world.nowMs);
      this.#rest.end();
    }
    await wait(atMs - world.nowMs);
  }

  async #openClients(): Promise<Client[]> {
    const { cluster, shape, world } = this;
    const { coordinators } = cluster;
    const exchange = exchangeOver(cluster.network, cluster.ports, this.#reads);
    const known = this.#known;
    const [via, address] = [...coordinators][0]!;
    const recorder = this.#recorder;
    const draws = new Draws(0, world.random('draws'));
    this.#collections = await createCollections(shape.collections, {
      ...{ address, via, key: this.#key, draws, recorder, exchange },
    });
    for (const call of recorder.calls) known.get(call.collection)?.learn(call);
    const restOver = this.#hasCalms ? this.#rest.over : undefined;
    const clients = Array.from({ length: shape.clients }, (_, i) =>
      this.#client({ number: i + 1, own: i, thinkMs: shape.thinkMs, restOver }),
    );
    if (!this.#hasCalms) return clients;
    const number = shape.clients + shape.collections.length + 1;
    return [...clients, this.#client({ number, own: 0, thinkMs: IDLE_THINK_MS })];
  }

  /** Reader that asks shards directly, as a coordinator does that missed every change. */
  async #openOutdated(): Promise<OutdatedReader | undefined> {
    const { cluster, shape, world } = this;
    if (cluster.nats === undefined || shape.outdatedEveryMs === undefined) return undefined;
    return OutdatedReader.open({
      ...{ collections: this.#collections, known: this.#known, recorder: this.#recorder },
      ...{ natsUrl: cluster.nats.url, login: NO_LOGIN, replicas: shape.servers, hasFollowers: shape.followers > 0 },
      ...{ random: world.random('outdated'), everyMs: shape.outdatedEveryMs },
      ...(this.#hasCalms && { restOver: this.#rest.over }),
    });
  }

  /** One busy client per collection. */
  #calmClients(): Client[] {
    const { clients, collections } = this.shape;
    return collections.map((_, i) => this.#client({ number: clients + i + 1, own: i, thinkMs: CALM_THINK_MS }));
  }

  #client({ own, ...asking }: Asking): Client {
    const { cluster, shape } = this;
    const names = shape.collections.map(({ name }) => name);
    const first = own % names.length;
    return new Client({
      ...asking,
      ...{ key: this.#key, keys: this.#keys, known: this.#known, recorder: this.#recorder },
      coordinators: cluster.coordinators,
      exchange: exchangeOver(cluster.network, cluster.ports, this.#reads),
      collections: [...names.slice(first), ...names.slice(0, first)],
      random: seededRandom(this.options.seed + asking.number),
      // The clients of collections that come and go have an alias.
      ...{ hasEventual: shape.followers > 0, aliased: [] },
    });
  }

  /** Waits until each collection has answered a write and a search. */
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

  /** Collections without an answer since then, except those whose loss was reported. */
  #silentSince(names: readonly string[], sinceMs: number): string[] {
    const { nats, logs } = this.cluster;
    const silent = this.#recorder.silentSince(names, sinceMs);
    if (nats?.loss === undefined) return silent;
    const reported = this.#collections.filter(({ id }) => logs.quarantined.has(id)).map(({ name }) => name);
    return silent.filter((name) => !reported.includes(name));
  }

  /** If a witness has cosigned entries that the servers lost, a coordinator must report it in time. */
  async #witnessedReported(): Promise<void> {
    const { witness, logs } = this.cluster;
    const untilMs = this.world.monotonicMs() + WITNESSED_REPORTED_WITHIN_MS;
    while (witness?.isContradicted && !logs.isRolledBack) {
      if (this.world.monotonicMs() > untilMs) {
        this.failures.push(
          'a witness has seen entries that the service log does not hold, and no coordinator reports it',
        );
        return;
      }
      await wait(CALM_MS);
    }
  }

  async #judge(): Promise<void> {
    const { cluster: service, shape, calls } = this;
    const hadErrors = DISK_FAULTS.some((kind) => this.faults.has(kind));
    const hasRot = this.faults.has('bits rot');
    this.failures.push(
      ...(await verdictOn({
        service,
        shape,
        collections: this.#collections,
        calls,
        reads: this.#reads.all,
        hadErrors,
        hasRot,
      })),
    );
  }
}
