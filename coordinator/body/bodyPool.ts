/**
 * Prepares bodies: small ones at once, large ones in worker threads, one at a time in each, projects in turn. The threads are
 * started on demand and end after some idle time.
 *
 * Only a prepared body names its collections. Where one of them normalises, its vectors are read again:
 *
 * ```text
 * bytes ──▶ prepared in `plain` ──no collection normalises──▶ the handler's
 *                └─────────────────▶ prepared in `unit` ──▶ the handler's
 * ```
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../shared/clock.js';
import { unavailable, VouchError } from '../../shared/errors/errors.js';
import { overloaded } from '../../shared/errors/overloaded.js';
import type { Scale } from '../../shared/fixedPoint.js';
import type { Logger } from '../../shared/logger.js';
import { adoptLong, spareLong } from '../../shared/longMemory.js';
import { reportStall, WORKER_STALL_MS } from '../../shared/process/stalls.js';
import { FairQueue } from '../../shared/scheduling/fairQueue.js';
import { nextTurn } from '../../shared/scheduling/slice.js';
import { isShared, reuseMemory } from './bodyMemory.js';
import type { BodyJob, BodyOutcome, BodyTurn } from './bodyWorker.js';
import type { BodyBounds } from './bounds.js';
import {
  type BodyForm,
  type BodyKind,
  collectionsIn,
  inlineBytesMax,
  joinedScales,
  type Prepared,
  prepareInline,
  type SentBody,
} from './kinds.js';

const WORKERS_MAX = 2;
/** Limit of small bodies in one turn of the event loop, in bytes: some ten milliseconds. Further ones wait in order for the next. */
const INLINE_BYTES_A_TURN = 512 << 10;
/** Largest number of large bodies that wait for a worker. A project may have up to three times as many as free places are left. */
const QUEUE_MAX = 64;
const TIMES_FREE = 3;
/** Enough for the objects of 32 MiB of JSON. */
const WORKER_HEAP_MB = 1_024;
/** Life of an idle worker, which keeps garbage in memory. Without a worker the next large body waits until one has started. */
const IDLE_MS = 10_000;

/** Bytes of a body for a byte of its vectors, at most: five decimals of JSON take twice as many. */
const BODY_PER_VECTORS = 2;

interface Job extends BodyJob {
  readonly project: string;
  /** The body prepared in `plain`, while it is prepared again. */
  plain?: unknown;
  readonly resolve: (prepared: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface RunningJob {
  readonly project: string;
  /** Stored here, since the bytes were transferred to the worker. */
  readonly sizeBytes: number;
  readonly job: Job;
}

/** The scale of a body's vectors, by the project and the names of its collections; null is the default collection. */
export type FindScale = (project: string, names: readonly (string | null)[]) => Scale | Promise<Scale>;

interface WorkerTimes {
  /** Longest wait of a body for a worker. */
  readonly maxQueueWaitMs: number;
  readonly clock: Clock;
  /** Time after which idle workers end. */
  readonly idleMs?: number;
}

const stopping = (): VouchError => unavailable('the coordinator is stopping; retry shortly');

export class BodyPool {
  readonly #idle: Worker[] = [];
  readonly #busy = new Map<Worker, RunningJob>();
  readonly #queue: FairQueue<string, Job>;
  readonly #workersMax = Math.min(WORKERS_MAX, Math.max(1, availableParallelism() - 1));
  #idleTimer: NodeJS.Timeout | undefined;
  readonly #idleMs: number;
  /** Small bodies of this turn. */
  #turnBytes = 0;
  #closed = false;

  constructor(
    private readonly bounds: BodyBounds,
    private readonly findScale: FindScale,
    private readonly logger: Logger,
    { maxQueueWaitMs, clock, idleMs = IDLE_MS }: WorkerTimes,
  ) {
    this.#queue = new FairQueue(maxQueueWaitMs, clock);
    this.#idleMs = idleMs;
  }

  /** Large bodies that wait for a worker. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Throws Overloaded if `prepare` would refuse a body of this size, so that it is not read. */
  assertCapacity(kind: BodyKind, form: BodyForm, sizeBytes: number, project: string): void {
    if (sizeBytes <= inlineBytesMax(kind, form)) return;
    const free = QUEUE_MAX - this.#queue.length;
    const isFull = free <= 0 || this.#queue.lengthOf(project) >= TIMES_FREE * free;
    if (isFull || !this.#queue.admits(project, this.#runningBytes(project))) throw overloaded('body_queue');
  }

  /** Takes ownership of `bytes`. Throws `validation_error`, `payload_too_large`, and Overloaded after too long a wait. */
  async prepare<K extends BodyKind>(kind: K, form: BodyForm, bytes: Buffer, project: string): Promise<Prepared<K>> {
    if (bytes.length <= inlineBytesMax(kind, form)) {
      while (!this.#hasTurnFor(bytes.length)) await nextTurn();
      this.#takeTurn(bytes.length);
    }
    const sent = { form, bytes };
    const plain = prepareInline(kind, sent, this.bounds);
    if (plain === undefined) return this.#queued(kind, sent, project, 'plain');
    const scale = this.#scaleOf(project, kind, plain);
    if (scale === 'plain' || (await scale) === 'plain') return plain;
    const unit = prepareInline(kind, sent, this.bounds, 'unit') ?? (await this.#queued(kind, sent, project, 'unit'));
    return joinedScales(kind, plain, unit);
  }

  #scaleOf(project: string, kind: BodyKind, prepared: unknown): Scale | Promise<Scale> {
    const names = collectionsIn(kind, prepared);
    return names === undefined ? 'plain' : this.findScale(project, names);
  }

  async #queued<K extends BodyKind>(
    kind: K,
    { form, bytes }: SentBody,
    project: string,
    scale: Scale,
  ): Promise<Prepared<K>> {
    if (this.#closed) throw stopping();
    // A msgpack body that is queued takes as long as JSON of its size.
    this.assertCapacity(kind, 'json', bytes.length, project);
    return new Promise<Prepared<K>>((resolve, reject) => {
      const job: Job = { project, kind, form, scale, bytes, resolve: resolve as (prepared: unknown) => void, reject };
      this.#queue.push(project, job, { units: bytes.length, atWork: this.#runningBytes(project) });
      this.#assign();
    });
  }

  /** Whether this turn of the event loop has room for a body of this size. */
  #hasTurnFor(sizeBytes: number): boolean {
    return this.#turnBytes === 0 || this.#turnBytes + sizeBytes <= INLINE_BYTES_A_TURN;
  }

  #takeTurn(sizeBytes: number): void {
    if (this.#turnBytes === 0)
      setImmediate(() => {
        this.#turnBytes = 0;
      });
    this.#turnBytes += sizeBytes;
  }

  /** Ends the workers; their jobs fail. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idleTimer);
    const workers = [...this.#idle, ...this.#busy.keys()];
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  #assign(): void {
    if (this.#queue.length === 0 || (this.#idle.length === 0 && this.#busy.size >= this.#workersMax)) return;
    const job = this.#queue.take(
      () => true,
      ({ reject }) => reject(overloaded('body_queue')),
    );
    if (job === undefined) return;
    clearTimeout(this.#idleTimer);
    const worker = this.#idle.pop() ?? this.#start();
    this.#busy.set(worker, { project: job.project, sizeBytes: job.bytes.length, job });
    send(worker, job);
  }

  /** Bytes of the project that workers prepare now. */
  #runningBytes(project: string): number {
    let sum = 0;
    for (const { project: other, sizeBytes } of this.#busy.values()) if (other === project) sum += sizeBytes;
    return sum;
  }

  #start(): Worker {
    const worker = new Worker(new URL('./bodyWorker.js', import.meta.url), {
      workerData: this.bounds,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
    });
    worker.on('message', (turn: BodyTurn) => this.#settle(worker, turn));
    worker.on('error', (error) => this.logger.error({ error: error.message }, 'a body worker failed'));
    worker.on('exit', () => this.#ended(worker));
    return worker;
  }

  #settle(worker: Worker, { outcome, bytes, times }: BodyTurn): void {
    const job = this.#busy.get(worker)?.job;
    if (job !== undefined && times.ms > WORKER_STALL_MS)
      reportStall({ thread: 'body', ...times, works: [{ op: job.kind, subject: job }] });
    if ('prepared' in outcome) adoptVectors(outcome.prepared as Prepared<BodyKind>);
    if (job !== undefined && 'prepared' in outcome && job.scale === 'plain' && job.plain === undefined) {
      const scale = this.#scaleOf(job.project, job.kind, outcome.prepared);
      if (scale !== 'plain') {
        void this.#again(worker, { ...job, bytes }, outcome.prepared, scale);
        return;
      }
    }
    reuseTransferred(bytes);
    this.#finish(worker, job, outcome);
  }

  #finish(worker: Worker, job: Job | undefined, outcome: BodyOutcome): void {
    this.#busy.delete(worker);
    this.#idle.push(worker);
    this.#assign();
    this.#endWhenIdle();
    if (job === undefined) return;
    if ('prepared' in outcome) {
      const { prepared } = outcome as { readonly prepared: Prepared<BodyKind> };
      const { plain } = job as { readonly plain?: Prepared<BodyKind> };
      job.resolve(plain === undefined ? prepared : joinedScales(job.kind, plain, prepared));
    } else if ('code' in outcome) job.reject(new VouchError(outcome.code, outcome.message));
    else job.reject(new Error(`a body could not be prepared: ${outcome.defect}`));
  }

  /** Lets the worker prepare the body in the scale that is being found. */
  async #again(worker: Worker, job: Job, plain: unknown, finding: Scale | Promise<Scale>): Promise<void> {
    const running = this.#busy.get(worker);
    const scale = await finding;
    // The worker has died, and the job has failed.
    if (running === undefined || this.#busy.get(worker) !== running) return;
    if (scale === 'plain') {
      reuseTransferred(job.bytes);
      this.#finish(worker, job, { prepared: plain });
      return;
    }
    const again = { ...job, scale, plain };
    this.#busy.set(worker, { ...running, job: again });
    send(worker, again);
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idleTimer);
    if (this.#busy.size > 0 || this.#closed) return;
    const end = (): void => {
      for (const worker of this.#idle.splice(0)) void worker.terminate();
    };
    this.#idleTimer = setTimeout(end, this.#idleMs).unref();
  }

  /** The job of an ended worker fails; the next job starts another worker. */
  #ended(worker: Worker): void {
    const job = this.#busy.get(worker)?.job;
    this.#busy.delete(worker);
    const at = this.#idle.indexOf(worker);
    if (at >= 0) this.#idle.splice(at, 1);
    if (this.#closed) {
      for (const left of [...(job === undefined ? [] : [job]), ...this.#queue.clear()]) left.reject(stopping());
      return;
    }
    job?.reject(new Error('a body worker died while it prepared a body'));
    this.#assign();
    if (this.#idle.length > 0) this.#endWhenIdle();
  }
}

/** Shares the memory of the body with the worker, or transfers it. Transfers free memory for the vectors, if there is some. */
function send(worker: Worker, { kind, form, scale, bytes }: Job): void {
  const spare = spareLong(bytes.length / BODY_PER_VECTORS);
  const transferred = [...(isShared(bytes) ? [] : [bytes.buffer as ArrayBuffer]), ...(spare ? [spare] : [])];
  worker.postMessage({ kind, form, scale, bytes, spare } satisfies BodyJob, transferred);
}

function adoptVectors(prepared: Prepared<BodyKind>): void {
  if ('vectors' in prepared) adoptLong(prepared.vectors);
}

/** Reuses memory that a worker has sent back. The request that owns shared memory returns it. */
function reuseTransferred(bytes: Uint8Array): void {
  if (!isShared(bytes)) reuseMemory(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
}
