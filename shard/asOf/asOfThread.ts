/**
 * The owner's side of the thread of past states: one thread per shard process, started on first use.
 * States are kept and searched in the other thread. Logs are read in this one, which has their connections.
 *
 * ```text
 * None ──first request──▶ running ──no opening for a while, or closed──▶ none.
 *   ▲                        └── dies: its callers must retry ──┘
 * ```
 */
import { type MessagePort, Worker } from 'node:worker_threads';
import type { Clock } from '../../shared/clock.js';
import { messageOf, unavailable, unreachable } from '../../shared/errors/errors.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import type { Logger } from '../../shared/logger.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { newCallCount } from '../../shared/scheduling/checkPace.js';
import { moved } from '../../shared/transport/transportErrors.js';
import type { LogPlace } from '../snapshot/checkLog.js';
import { Opening, type OpeningSources } from '../snapshot/opening.js';
import type { SetAside } from '../snapshot/savedSnapshots.js';
import type { KeySource } from '../vault/contentKeys.js';
import type { AsOfWorkerData } from './asOfWorker.js';
import { feedKeys } from './keyFeed.js';
import { feedLog } from './logFeed.js';
import type { Measured } from './measured.js';
import { type AsOfAnswers, type AsOfReply, type FromWorker, type ToWorker, unwrapAsOf } from './messages.js';

const IDLE_MS = 10_000;

interface AsOfThreadOptions extends Pick<AsOfWorkerData, 'cacheBytesMax'> {
  readonly vectorBytesMax?: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly measured: (what: Measured) => void;
  /** Called when a snapshot did not verify and was set aside. */
  readonly onSetAside?: (config: CollectionConfig, snapshot: SetAside) => void;
}

interface Request {
  readonly opening: Opening;
  readonly onReached?: ((reached: LogPlace) => void) | undefined;
  resolve(answer: AsOfReply): void;
  reject(error: unknown): void;
}

/** A worker with its openings, its requests, and the logs that are read for it. `done` resolves at its end. */
interface Running {
  readonly worker: Worker;
  readonly openings: Map<number, Opening>;
  readonly requests: Map<number, Request>;
  readonly readings: Map<MessagePort, { readonly opening: Opening; readonly done: Promise<void> }>;
}

export class AsOfThread {
  #running: Running | undefined;
  /** Count of the shard's calls. */
  readonly calls = newCallCount();
  #idle: NodeJS.Timeout | undefined;
  #openings = 0;
  #requests = 0;
  #closed = false;

  /** `program`: the program of the thread. */
  constructor(
    private readonly options: AsOfThreadOptions,
    private readonly program = new URL('./asOfWorker.js', import.meta.url),
  ) {}

  /** Counts a call of the shard, to which background work yields. */
  called(): void {
    Atomics.add(this.calls, 0, 1);
  }

  /** Opens a collection. Costs nothing before its first request. */
  open(config: CollectionConfig, log: EventLog, sources: OpeningSources = {}): Opening {
    return new Opening(++this.#openings, config, log, sources);
  }

  /**
   * Makes a request about a collection. Throws errors of the work, and `unavailable` if the collection closes or the
   * thread dies. `onReached`: receives the progress of a check.
   */
  async ask<Op extends keyof AsOfAnswers>(
    opening: Opening,
    request: { op: Op } & Omit<Extract<ToWorker, { op: Op }>, 'id' | 'opening'>,
    onReached?: Request['onReached'],
  ): Promise<AsOfAnswers[Op]> {
    opening.closing.throwIfAborted();
    if (this.#closed) throw moved();
    clearTimeout(this.#idle);
    this.#running ??= this.#start();
    const { worker, openings } = this.#running;
    const { number, config, place } = opening;
    if (!openings.has(number)) {
      openings.set(number, opening);
      worker.postMessage({ op: 'open', opening: number, config, place } satisfies ToWorker);
    }
    return (await this.#request(this.#running, opening, request, onReached)) as AsOfAnswers[Op];
  }

  /**
   * Rejects the requests of the opening with `reason`, and drops its states. Resolves when its log is no longer read
   * and none of its snapshots is being written.
   */
  async close(opening: Opening, reason: Error): Promise<void> {
    opening.close(reason);
    const running = this.#running;
    if (!running?.openings.has(opening.number)) return;
    for (const [id, request] of running.requests)
      if (request.opening === opening) this.#finish(running, id, () => request.reject(reason));
    const readings = [...running.readings].filter(([, reading]) => reading.opening === opening);
    for (const [port] of readings) port.close();
    const closed = this.#request(running, opening, { op: 'close' }).catch(() => undefined);
    running.openings.delete(opening.number);
    await Promise.all([closed, ...readings.map(([, { done }]) => done)]);
  }

  /** Ends the thread. All openings must be closed. */
  async end(): Promise<void> {
    this.#closed = true;
    await this.#stop();
  }

  #request(running: Running, opening: Opening, request: object, onReached?: Request['onReached']): Promise<AsOfReply> {
    const id = ++this.#requests;
    running.worker.ref();
    return new Promise((resolve, reject) => {
      running.requests.set(id, { opening, onReached, resolve, reject });
      running.worker.postMessage({ ...request, id, opening: opening.number });
    });
  }

  #start(): Running {
    const { cacheBytesMax, vectorBytesMax, logger } = this.options;
    const workerData: AsOfWorkerData = { cacheBytesMax, vectorBytesMax, calls: this.calls };
    const worker = new Worker(this.program, { workerData });
    const running: Running = { worker, openings: new Map(), requests: new Map(), readings: new Map() };
    worker.on('message', (message: FromWorker) => this.#take(running, message));
    worker.on('error', (error) => logger.error({ error: messageOf(error) }, 'the thread of past states failed'));
    worker.on('exit', () => this.#died(running));
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
      case 'keys': {
        const { keys } = running.openings.get(message.opening) ?? {};
        void feedKeys(keys ?? noKeys, message);
        return;
      }
      case 'checked':
        running.requests.get(message.id)?.onReached?.(message.reached);
        return;
      case 'measured':
        this.options.measured(message.measured);
        return;
      case 'setAside': {
        const opening = running.openings.get(message.opening);
        if (opening !== undefined) this.options.onSetAside?.(opening.config, message.snapshot);
        return;
      }
      default:
        unreachable(message);
    }
  }

  #answered(running: Running, { id, outcome }: FromWorker & { op: 'answer' }): void {
    const request = running.requests.get(id);
    if (request === undefined) return;
    if (outcome.ended === 'badly')
      this.options.logger.error({ error: outcome.detail }, 'the thread of past states failed at a request');
    this.#finish(running, id, () => {
      try {
        request.resolve(unwrapAsOf(outcome));
      } catch (error) {
        request.reject(error);
      }
    });
  }

  #finish(running: Running, id: number, answer: () => void): void {
    running.requests.delete(id);
    answer();
    if (running.requests.size > 0) return;
    running.worker.unref();
    if (running.openings.size > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#stop(), IDLE_MS).unref();
  }

  #read({ openings, readings }: Running, asked: FromWorker & { op: 'read' }): void {
    const opening = openings.get(asked.opening);
    const feeding = feedLog(opening?.log ?? NO_FRAMES, this.options.clock, asked);
    const done = feeding.finally(() => readings.delete(asked.port));
    if (opening !== undefined) readings.set(asked.port, { opening, done });
  }

  #died(running: Running): void {
    if (this.#running === running) {
      this.#running = undefined;
      this.options.measured({ what: 'died' });
    }
    const requests = [...running.requests.values()];
    running.requests.clear();
    for (const { reject } of requests) reject(unavailable('the thread of past states ended; retry shortly'));
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#idle);
    const running = this.#running;
    this.#running = undefined;
    await running?.worker.terminate();
  }
}

/** The log and the keys of a closed collection. */
const NO_FRAMES = { read: async function* () {} };
const noKeys: KeySource = async () => {
  throw moved();
};
