/**
 * A simulated world: one clock and one queue of tasks for all of its parties. A task is one turn of an event loop. Its
 * microtasks run before the next task, and belong to the same party.
 * Time passes only between tasks, except that a look at a clock takes a moment. Everything between parties goes through
 * `at`, so an ended party sends and receives nothing.
 */
import { type SeededRandom, seededRandom } from '../../soak/random.js';
import { type Task, TaskHeap } from './heap.js';
import { Party } from './party.js';
import { realSetImmediate } from './realTimers.js';
import { Trace } from './trace.js';

/** Wall clock of a world at its start: a time in 2030. */
const EPOCH_MS = 1_900_000_000_000;
/** Longest delay of an immediate. */
const IMMEDIATE_MS = 0.01;
/** Tasks per turn of the real event loop: a turn costs more than a task. */
const TASKS_PER_TURN = 64;

/** The world itself broke a rule, whatever the product does: a defect of the simulation. */
export class WorldBroken extends Error {}

/** The run has reached the event at which it must end. */
export class EventReached extends WorldBroken {}

let running: World | undefined;

/** The world whose task is running; undefined outside of all worlds. */
export const currentWorld = (): World | undefined => running;

export class World {
  nowMs = 0;
  /** Wall clock at the start of the world, in Unix milliseconds. */
  readonly startedMs = EPOCH_MS;
  readonly trace = new Trace();
  /** Party of the world itself, which meets no faults. */
  readonly root: Party;
  readonly parties: Party[] = [];
  party: Party;
  /** Largest error of a wall clock so far, in milliseconds. */
  clockErrorMs = 0;
  /** Duration of one look at a clock, in milliseconds. */
  lookMs = 0.0005;
  /** Number of steps so far. */
  steps = 0;
  /** Ends the run at this noted event; for a replay, whose lines have these numbers. */
  stopAtEvent = Number.POSITIVE_INFINITY;
  readonly #heap = new TaskHeap();
  readonly #randoms = new Map<string, SeededRandom>();
  #order = 0;
  /** Running work of Node itself, which takes no simulated time: nothing else runs until it is done. */
  #outside = 0;
  #isDone = false;
  #finish: ((error?: Error) => void) | undefined;

  constructor(readonly seed: number) {
    this.root = this.addParty('world', 'world');
    this.party = this.root;
  }

  /** Independent random numbers per purpose, so that more draws for one do not change the others. */
  random(purpose: string): SeededRandom {
    let random = this.#randoms.get(purpose);
    if (random === undefined) {
      random = seededRandom(mixed(this.seed, purpose));
      this.#randoms.set(purpose, random);
    }
    return random;
  }

  addParty(name: string, machine: string, parent?: Party): Party {
    const party = new Party(name, this.parties.length, machine, parent);
    this.parties.push(party);
    return party;
  }

  /** Milliseconds since the Unix epoch by the party's clock. */
  wallMs(party = this.party): number {
    this.nowMs += this.lookMs;
    const { process } = party;
    const shownMs = process.clockMs(this.nowMs) + process.aheadMs;
    this.clockErrorMs = Math.max(this.clockErrorMs, Math.abs(shownMs - this.nowMs));
    return Math.floor(EPOCH_MS + shownMs);
  }

  monotonicMs(party = this.party): number {
    this.nowMs += this.lookMs;
    return party.process.clockMs(this.nowMs);
  }

  at(party: Party, delayMs: number, kind: string, run: () => void): Task {
    const task: Task = { timeMs: this.nowMs + delayMs, order: this.#order++, party, kind, run };
    this.#heap.push(task);
    return task;
  }

  /** Runs in order of the calls, each a moment later. */
  immediate(party: Party, run: () => void): Task {
    const from = Math.max(this.nowMs, party.lastImmediateMs);
    party.lastImmediateMs = from + this.random('immediate').next() * IMMEDIATE_MS;
    return this.at(party, party.lastImmediateMs - this.nowMs, 'immediate', run);
  }

  /**
   * Runs `work` as a task of the party, and notifies the caller's party of its end. Never resolves if the party ends.
   */
  runIn<T>(party: Party, work: () => Promise<T> | T): Promise<T> {
    const { party: caller } = this;
    return new Promise<T>((resolve, reject) => {
      this.at(party, 0, 'call', () => {
        const notify = (settle: () => void): void => void this.at(caller, 0, 'told', settle);
        // An async function turns a synchronous throw into a rejection too.
        (async () => work())().then(
          (value) => notify(() => resolve(value)),
          (error: unknown) => notify(() => reject(error)),
        );
      });
    });
  }

  /** Stops time until the work, which is Node's own, is done. */
  async outside<T>(work: () => Promise<T>): Promise<T> {
    const { party } = this;
    this.#outside++;
    try {
      return await work();
    } finally {
      this.party = party;
      this.#outside--;
      if (this.#outside === 0) realSetImmediate(() => this.#schedule());
    }
  }

  note(what: string, who = this.party.name): void {
    this.trace.note(this.nowMs, who, what);
  }

  /** Runs the world until `main`, a task of the root party, is done. Throws what it throws. */
  async run<T>(main: () => Promise<T>): Promise<T> {
    if (running !== undefined) throw new WorldBroken('another world is running');
    running = this;
    const failed = (error: unknown): void => this.#failed(error);
    process.on('uncaughtException', failed);
    process.on('unhandledRejection', failed);
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#finish = (error) => reject(error ?? new WorldBroken('the world ended'));
        this.at(this.root, 0, 'main', () => {
          main().then(
            (value) => this.#end(() => resolve(value)),
            (error: unknown) => this.#end(() => reject(error as Error)),
          );
        });
        this.#schedule();
      });
    } finally {
      process.off('uncaughtException', failed);
      process.off('unhandledRejection', failed);
      running = undefined;
    }
  }

  #end(settle: () => void): void {
    this.#isDone = true;
    settle();
  }

  #schedule(): void {
    if (this.#isDone || this.#outside > 0) return;
    for (let i = 1; i < TASKS_PER_TURN; i++) realSetImmediate(this.#step);
    realSetImmediate(() => {
      this.#step();
      this.#schedule();
    });
  }

  readonly #step = (): void => {
    if (this.#isDone || this.#outside > 0) return;
    const task = this.#next();
    if (task === undefined) {
      this.#end(() => this.#finish?.(new WorldBroken('nothing is left to happen')));
      return;
    }
    this.nowMs = Math.max(this.nowMs, task.timeMs);
    this.party = task.party;
    this.steps++;
    this.trace.step(this.nowMs, task.party.number, task.kind);
    if (this.trace.events >= this.stopAtEvent) {
      this.#end(() => this.#finish?.(new EventReached(`event ${this.trace.events} is reached`)));
      return;
    }
    const { run } = task;
    task.run = undefined;
    try {
      run!();
    } catch (error) {
      this.#failed(error);
    }
  };

  #next(): Task | undefined {
    for (;;) {
      const task = this.#heap.pop();
      if (task === undefined) return undefined;
      if (task.run === undefined || !task.party.alive) continue;
      const { pausedUntilMs } = task.party.process;
      if (pausedUntilMs <= task.timeMs) return task;
      // Tasks of one party keep their order.
      task.timeMs = pausedUntilMs;
      task.order = this.#order++;
      this.#heap.push(task);
    }
  }

  #failed(error: unknown): void {
    const { party } = this;
    if (error instanceof WorldBroken || party === this.root || party.onFailure === undefined) {
      this.#end(() => this.#finish?.(error instanceof Error ? error : new Error(String(error))));
      return;
    }
    party.end();
    party.onFailure(error);
  }
}

/** FNV-1a over the purpose, starting from the seed. */
function mixed(seed: number, purpose: string): number {
  let hash = (seed ^ 0x811c9dc5) >>> 0;
  for (let i = 0; i < purpose.length; i++) hash = Math.imul(hash ^ purpose.charCodeAt(i), 0x01000193) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> 0;
  return (hash ^ (hash >>> 13)) >>> 0;
}
