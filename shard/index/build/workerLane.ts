/**
 * One worker thread and those who wait for it. Each has it alone for a turn; what is urgent goes before what is not.
 *
 *   none ──► busy ◄──► idle ──► none     ended when idle for a while; one that dies takes its order with it, and the
 *     ▲       │                          next order starts another
 *     └───────┘
 *
 * A worker is never ended while it is busy: where that happens within a native library, the whole process aborts.
 */
import { Worker } from 'node:worker_threads';
import { codeOf } from '../../../shared/durable.js';
import { messageOf } from '../../../shared/errors.js';
import type { Logger } from '../../../shared/logger.js';
import { answerOf, type Outcome } from './outcome.js';
import { Cancelled } from './progress.js';

const IDLE_MS = 10_000;
/** Of JavaScript objects; vectors and tables of rows lie outside it. */
const WORKER_HEAP_MB = 1_024;

/** Gives the worker an order and resolves to its answer. Throws as `answerOf`; Error where the worker dies of it. */
export type Ask<Order, Answer> = (order: Order) => Promise<Answer>;

export interface TurnOptions {
  readonly urgent: boolean;
  /** Called where a turn is cancelled that has begun: makes the worker give up its order. */
  readonly stop: () => void;
}

export interface Turn<T> {
  /** Rejects with Cancelled after `cancel`, unless the turn had succeeded. Need not be awaited. */
  readonly done: Promise<T>;
  cancel(): void;
}

interface Waiting extends TurnOptions {
  cancelled: boolean;
  readonly run: () => Promise<void>;
  readonly reject: (error: Error) => void;
}

interface Asked<Answer> {
  readonly worker: Worker;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export class WorkerLane<Order, Answer> {
  readonly #queue: Waiting[] = [];
  #current: Waiting | undefined;
  #running: Promise<void> | undefined;
  #worker: Worker | undefined;
  #asked: Asked<Answer> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  /** `program`: a file that calls `serveOrders`. */
  constructor(
    private readonly program: URL,
    private readonly logger: Logger,
  ) {}

  /** `work` runs in its turn; the next turn comes when it has settled. */
  take<T>(work: (ask: Ask<Order, Answer>) => Promise<T>, options: TurnOptions): Turn<T> {
    let waiting: Waiting | undefined;
    const done = new Promise<T>((resolve, reject) => {
      const run = (): Promise<void> => work((order) => this.#ask(order)).then(resolve, reject);
      waiting = { ...options, cancelled: false, run, reject };
      this.#enqueue(waiting);
    });
    done.catch(() => undefined);
    return { done, cancel: () => this.#cancel(waiting!) };
  }

  /** Cancels all turns. Resolves when they have settled and the worker has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of [...this.#queue]) this.#cancel(waiting);
    if (this.#current !== undefined) this.#cancel(this.#current);
    await this.#running;
    await this.#end();
  }

  #enqueue(waiting: Waiting): void {
    if (this.#closed) {
      waiting.reject(new Cancelled());
      return;
    }
    const firstPatient = waiting.urgent ? this.#queue.findIndex(({ urgent }) => !urgent) : -1;
    this.#queue.splice(firstPatient < 0 ? this.#queue.length : firstPatient, 0, waiting);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    clearTimeout(this.#idle);
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      this.#current = next;
      await next.run();
      this.#current = undefined;
    }
    this.#running = undefined;
    this.#worker?.unref();
    this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
  }

  #cancel(waiting: Waiting): void {
    waiting.cancelled = true;
    const at = this.#queue.indexOf(waiting);
    if (at >= 0) {
      this.#queue.splice(at, 1);
      waiting.reject(new Cancelled());
    } else if (this.#current === waiting) waiting.stop();
  }

  #ask(order: Order): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#current?.cancelled) throw new Cancelled();
      this.#worker ??= this.#start();
      this.#worker.ref();
      this.#worker.postMessage(order);
      this.#asked = { worker: this.#worker, resolve, reject };
    });
  }

  #start(): Worker {
    const worker = new Worker(this.program, { resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB } });
    let cause = 'it was ended';
    worker.on('message', (outcome: Outcome<Answer>) => this.#settle(worker, outcome));
    worker.on('error', (error) => {
      cause = codeOf(error) ?? messageOf(error).split('\n')[0]!;
      this.logger.error({ error }, 'a thread that builds indexes failed');
    });
    worker.on('exit', () => this.#bury(worker, cause));
    return worker;
  }

  #settle(worker: Worker, outcome: Outcome<Answer>): void {
    const asked = this.#asked;
    if (asked?.worker !== worker) return;
    this.#asked = undefined;
    try {
      asked.resolve(answerOf(outcome));
    } catch (error) {
      asked.reject(error as Error);
    }
  }

  #bury(worker: Worker, cause: string): void {
    if (this.#worker === worker) this.#worker = undefined;
    const asked = this.#asked;
    if (asked?.worker !== worker) return;
    this.#asked = undefined;
    asked.reject(new Error(`the build thread died: ${cause}`));
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}
