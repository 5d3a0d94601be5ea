/**
 * The owner's side of the thread of past states: one a shard process, started when it is first needed.
 *
 *   none ──asked──▶ running ──nothing open for a while, or closed──▶ none
 *     ▲                └── dies: who waits is told to retry ──┘
 *
 * States live and are searched over there; here the logs are read, since their connections are here.
 */
import { Worker } from 'node:worker_threads';
import type { CollectionConfig } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf, unavailable, unreachable } from '../../shared/errors.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import type { Logger } from '../../shared/logger.js';
import { moved } from '../moving.js';
import type { LogPlace } from './checkLog.js';
import { newCallCount } from './checkPace.js';
import { LogFeed } from './logFeed.js';
import type { Answer, AskSearch, FromWorker, PackedFrames, PastAnswer, ToWorker } from './messages.js';
import { Opening } from './opening.js';
import { answerOf, outcomeOf } from './outcome.js';
import type { Measured } from './pastMetrics.js';
import type { PastWorkerData } from './pastWorker.js';
import type { SavedSnapshot, SetAside, SnapshotPlace } from './snapshots.js';

const IDLE_MS = 10_000;

export interface PastThreadOptions extends Pick<PastWorkerData, 'boundBytes'> {
  readonly memoryBytes?: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly measured: (what: Measured) => void;
  /** A snapshot did not verify, and was set aside. */
  readonly onSetAside?: (config: CollectionConfig, snapshot: SetAside) => void;
}

interface Waiting {
  readonly opening: Opening;
  readonly onReached: ((reached: LogPlace) => void) | undefined;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

interface Reading {
  readonly opening: Opening;
  readonly feed: LogFeed;
  /** Resolves when the log is not read any more. */
  readonly done: Promise<void>;
}

/** One worker, and what it knows and does. */
interface Running {
  readonly worker: Worker;
  readonly known: Map<number, Opening>;
  readonly waiting: Map<number, Waiting>;
  readonly readings: Map<number, Reading>;
}

export class PastThread {
  #running: Running | undefined;
  /** Of the shard. */
  readonly calls = newCallCount();
  readonly #closings = new WeakMap<Opening, Promise<void>>();
  #idle: NodeJS.Timeout | undefined;
  #openings = 0;
  #asked = 0;
  #closed = false;

  /** `program`: what the thread runs. */
  constructor(
    private readonly options: PastThreadOptions,
    private readonly program = new URL('./pastWorker.js', import.meta.url),
  ) {}

  /** The shard was called: what goes on in the background gives way. */
  called(): void {
    Atomics.add(this.calls, 0, 1);
  }

  /** Costs nothing before something is asked of it. */
  open(config: CollectionConfig, log: EventLog, place?: SnapshotPlace): Opening {
    return new Opening(++this.#openings, config, log, place);
  }

  /**
   * Searches the state after `sequence` events, which have been committed. Throws Damaged, `capacity_exceeded`, and
   * `unavailable` where too many wait, the deadline passes, the collection closes or the thread dies.
   */
  async search(opening: Opening, ask: Omit<AskSearch, 'op' | 'id' | 'opening'>): Promise<PastAnswer> {
    return (await this.#ask(opening, (id) => ({ op: 'search', id, opening: opening.number, ...ask }))) as PastAnswer;
  }

  /**
   * Makes a snapshot of the newest frame end at or before event `upTo`, which has been committed; undefined where there is
   * one already. Throws as `search`, and what writing it throws. Of a collection that was opened with a place for them.
   */
  async snapshot(opening: Opening, upTo: number): Promise<SavedSnapshot | undefined> {
    const answer = this.#ask(opening, (id) => ({ op: 'snapshot', id, opening: opening.number, upTo }));
    return (await answer) as SavedSnapshot | undefined;
  }

  /** As `checkLog`, at a pace that gives way to calls. Throws `unavailable` too where the collection closes or the thread dies. */
  async check(
    opening: Opening,
    from: LogPlace,
    upTo: LogPlace,
    onReached: (reached: LogPlace) => void,
  ): Promise<boolean> {
    const { number } = opening;
    return (await this.#ask(opening, (id) => ({ op: 'check', id, opening: number, from, upTo }), onReached)) as boolean;
  }

  /**
   * Who waits for something of the opening is given the reason; what is kept of it is given up. Resolves when its log is
   * not read, and none of its snapshots written, any more. Repeated, it waits for the same.
   */
  close(opening: Opening, reason: Error): Promise<void> {
    const closing = this.#closings.get(opening) ?? this.#close(opening, reason);
    this.#closings.set(opening, closing);
    return closing;
  }

  /** Ends the thread. All that was opened has been closed. */
  async end(): Promise<void> {
    this.#closed = true;
    await this.#stop();
  }

  async #close(opening: Opening, reason: Error): Promise<void> {
    opening.close(reason);
    const running = this.#running;
    if (!running?.known.has(opening.number)) return;
    for (const [id, waiting] of running.waiting)
      if (waiting.opening === opening) this.#settle(running, id, () => waiting.reject(reason));
    const readings = [...running.readings.values()].filter((reading) => reading.opening === opening);
    for (const { feed } of readings) feed.enough();
    const closed = new Promise<Answer>((resolve, reject) => {
      const id = ++this.#asked;
      running.waiting.set(id, { opening, onReached: undefined, resolve, reject });
      running.worker.ref();
      running.worker.postMessage({ op: 'close', id, opening: opening.number } satisfies ToWorker);
    }).catch(() => undefined);
    running.known.delete(opening.number);
    await Promise.all([closed, ...readings.map(({ done }) => done)]);
  }

  #ask(opening: Opening, message: (id: number) => ToWorker, onReached?: Waiting['onReached']): Promise<Answer> {
    opening.closing.throwIfAborted();
    if (this.#closed) throw moved();
    clearTimeout(this.#idle);
    this.#running ??= this.#start();
    const { worker, known, waiting } = this.#running;
    const { number, config, place } = opening;
    worker.ref();
    if (!known.has(number)) {
      known.set(number, opening);
      worker.postMessage({ op: 'open', opening: number, config, place } satisfies ToWorker);
    }
    const id = ++this.#asked;
    return new Promise((resolve, reject) => {
      waiting.set(id, { opening, onReached, resolve, reject });
      worker.postMessage(message(id));
    });
  }

  #start(): Running {
    const { boundBytes, memoryBytes, logger } = this.options;
    const workerData: PastWorkerData = { boundBytes, memoryBytes, calls: this.calls };
    const worker = new Worker(this.program, { workerData });
    const running: Running = { worker, known: new Map(), waiting: new Map(), readings: new Map() };
    worker.on('message', (message: FromWorker) => this.#take(running, message));
    worker.on('error', (error) => logger.error({ error: messageOf(error) }, 'the thread of past states failed'));
    worker.on('exit', () => this.#bury(running));
    return running;
  }

  #take(running: Running, message: FromWorker): void {
    switch (message.op) {
      case 'answer':
        this.#answered(running, message);
        return;
      case 'read':
        this.#read(running, message);
        return;
      case 'checked':
        running.waiting.get(message.id)?.onReached?.(message.reached);
        return;
      case 'taken':
        running.readings.get(message.feed)?.feed.taken(message.sizeBytes);
        return;
      case 'enough':
        running.readings.get(message.feed)?.feed.enough();
        return;
      case 'measured':
        this.options.measured(message.measured);
        return;
      case 'setAside': {
        const opening = running.known.get(message.opening);
        if (opening !== undefined) this.options.onSetAside?.(opening.config, message.snapshot);
        return;
      }
      default:
        unreachable(message);
    }
  }

  #answered(running: Running, { id, outcome }: FromWorker & { op: 'answer' }): void {
    const waiting = running.waiting.get(id);
    if (waiting === undefined) return;
    if (outcome.ended === 'badly')
      this.options.logger.error({ error: outcome.detail }, 'the thread of past states failed at a request');
    this.#settle(running, id, () => {
      try {
        waiting.resolve(answerOf(outcome));
      } catch (error) {
        waiting.reject(error);
      }
    });
  }

  #settle(running: Running, id: number, settle: () => void): void {
    running.waiting.delete(id);
    settle();
    if (running.waiting.size > 0) return;
    running.worker.unref();
    if (running.known.size > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#stop(), IDLE_MS).unref();
  }

  #read(running: Running, asked: FromWorker & { op: 'read' }): void {
    const { feed: number, opening: openingNumber, after, upTo, inFlightBytes } = asked;
    const post = (message: ToWorker, transfer: ArrayBuffer[] = []): void =>
      running.worker.postMessage(message, transfer);
    const opening = running.known.get(openingNumber);
    const send = (frames: PackedFrames): void => post({ op: 'frames', feed: number, ...frames }, [frames.bytes.buffer]);
    const feed = new LogFeed(opening?.log ?? NOTHING, this.options.clock, send, inFlightBytes);
    const done = outcomeOf(async () => {
      await feed.run(after, upTo);
      return null;
    }).then((outcome) => {
      running.readings.delete(number);
      post({ op: 'end', feed: number, outcome });
    });
    if (opening !== undefined) running.readings.set(number, { opening, feed, done });
  }

  #bury(running: Running): void {
    if (this.#running === running) {
      this.#running = undefined;
      this.options.measured({ what: 'died' });
    }
    for (const { feed } of running.readings.values()) feed.enough();
    const waiting = [...running.waiting.values()];
    running.waiting.clear();
    for (const { reject } of waiting) reject(unavailable('the thread of past states ended; retry shortly'));
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#idle);
    const running = this.#running;
    this.#running = undefined;
    await running?.worker.terminate();
  }
}

/** Of a collection that is closed. */
const NOTHING = { read: async function* () {} };
