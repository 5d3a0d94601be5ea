/**
 * The threads of a process that share its long scans and its searches of indexes, and the work that waits for them.
 * The event loop takes part in scans too, with a slice of one scan per turn. A free thread joins the scan with the
 * fewest threads. So a lone scan uses all threads, and many scans run side by side. After a turn of about 10 ms the
 * thread chooses again. Scans and batches of searches take turns.
 *
 * ```text
 * None ──work──▶ starting ──▶ idle ◄──▶ working ──dies──▶ none: the event loop repeats its work
 *   ▲                          │
 *   └──── idle for a while ────┘
 * ```
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Arena } from './arena.js';
import { kernelModule } from './kernel.js';
import type { PartableScan, PartedScan, Share } from './partedScan.js';
import type { ScanOrder, ScanWorkerData } from './scanOrder.js';

const AUTO_MAX = 8;
/** A cheaper scan runs at once in the event loop: 1 to 2 ms, ten times the cost of a hand-over. */
const COST_MIN_BYTES = 24 << 20;
let costMinBytes = COST_MIN_BYTES;

/** For the simulation, whose collections are small. */
export function setCostMin(bytes: number): void {
  costMinBytes = bytes;
}

/** Largest number of scans that are shared at a time. Others run in the event loop. */
const SCANS_MAX = 64;
/** About 10 ms of a thread, and half a millisecond of the event loop. */
const TURN_BYTES = 128 << 20;
const LOOP_TURN_BYTES = 6 << 20;
const IDLE_MS = 30_000;
/** Time between the death of a thread and the start of the next. */
const RESTART_MS = 1_000;
/** Batches of a thread: it begins the second while the event loop uses the answer of the first. */
const BATCHES_MAX = 2;
/** Fewest searches of that second batch: fewer wait until the thread is free. */
const AHEAD_MIN = 8;
/** Fewest threads that searches of indexes are handed to. */
const INDEX_THREADS_MIN = 2;
/** Vectors are outside the heap. */
const WORKER_HEAP_MB = 64;

/** Number of threads: one per core except the event loop's, at most 8. */
export const threadsOf = (asked: 'auto' | number): number =>
  asked === 'auto' ? Math.min(AUTO_MAX, availableParallelism() - 1) : asked;

interface ScanThreadsOptions {
  /** Largest number of threads. */
  readonly count: number;
  readonly logger: Logger;
  /** Least cost of a scan that is shared, in the unit of `costBytes`. */
  readonly costMinBytes?: number;
  /** Called for each exact scan. */
  readonly onScan?: (where: 'loop' | 'threads') => void;
  /** Called for searches of indexes. */
  readonly onSearches?: (where: 'loop' | 'threads', count: number) => void;
}

/** Searches of one index that a thread makes one after another. */
export interface SearchBatch {
  /** Scratch that is lent to the thread until the end. */
  readonly loans: readonly { readonly arena: Arena; readonly address: number; readonly sizeBytes: number }[];
  /** Cloned for the thread. */
  readonly work: unknown;
  /** Receives the answer of the thread; undefined if it died. */
  end(answer: unknown): void;
}

/** Searches of one index that wait for a thread. */
export interface SearchSource {
  readonly waiting: number;
  /** Takes up to `most` searches; undefined if memory is short. */
  take(most: number): SearchBatch | undefined;
}

type Task = { readonly scan: PartedScan<unknown>; readonly share: Share } | { readonly batch: SearchBatch };

/** A thread, the arenas that it knows, and its work. */
interface Thread {
  readonly worker: Worker;
  readonly arenas: Set<Arena>;
  isReady: boolean;
  /** In the order of their answers: nothing, a scan, or batches. */
  readonly tasks: Task[];
}

export class ScanThreads {
  readonly #threads = new Set<Thread>();
  readonly #idle = new Set<Thread>();
  /** Scan → callback for its end. The scan that has waited longest comes first. */
  readonly #scans = new Map<PartedScan<unknown>, () => void>();
  /** Sources with searches that wait, in the order of their turns. */
  readonly #sources = new Set<SearchSource>();
  #isScanNext = false;
  readonly #numbers = new WeakMap<Arena, number>();
  #arenas = 0;
  #isStarting = false;
  #isLoopDue = false;
  #idleTimer: NodeJS.Timeout | undefined;
  #restartTimer: NodeJS.Timeout | undefined;
  #closed = false;

  /** `program`: the program of the threads, in `index/searchProgram.ts`. */
  constructor(
    private readonly options: ScanThreadsOptions,
    private readonly program: URL,
  ) {}

  /** Running threads, including idle ones. */
  get running(): number {
    return this.#threads.size;
  }

  /** Whether searches may be handed over at all. */
  get isOpen(): boolean {
    return this.options.count > 0 && !this.#closed;
  }

  /** Whether searches of indexes may be handed over. On two cores, a hand-over costs more than the one thread brings. */
  get takesIndexSearches(): boolean {
    return this.isOpen && this.options.count >= INDEX_THREADS_MIN;
  }

  /** Number of threads that have started. */
  get ready(): number {
    return [...this.#threads].filter(({ isReady }) => isReady).length;
  }

  /** Least cost of work for which a hand-over is cheap, as bytes of vectors that are measured in that time. */
  get costMinBytes(): number {
    return this.options.costMinBytes ?? costMinBytes;
  }

  /** Hands over the searches that wait, now or when a thread is free. Starts a thread if all are busy. */
  serve(source: SearchSource): void {
    this.#sources.add(source);
    this.#assign();
  }

  /** Counts searches of an index. */
  count(where: 'loop' | 'threads', searches: number): void {
    this.options.onSearches?.(where, searches);
  }

  /** Starts the first thread, for later work. */
  warm(): void {
    if (this.#threads.size === 0) this.#start();
  }

  /** Whether the scan is worth a hand-over and can be shared now. */
  takes(scan: PartableScan<unknown>): boolean {
    const taken = this.isOpen && this.#scans.size < SCANS_MAX && scan.costBytes >= this.costMinBytes;
    this.options.onScan?.(taken ? 'threads' : 'loop');
    return taken;
  }

  /** Returns the result of the scan; undefined if the event loop must do the scan. */
  async run<Result>(scan: PartableScan<Result>): Promise<Result | undefined> {
    let parted: PartedScan<Result>;
    try {
      parted = scan.parted();
    } catch {
      // There is not enough memory to divide the scan.
      return undefined;
    }
    try {
      await this.#finished(parted);
      return parted.hasFailed ? undefined : parted.result();
    } finally {
      parted.free();
    }
  }

  /** Releases an arena that is no longer used. */
  forget(arena: Arena): void {
    for (const { worker, arenas } of this.#threads)
      if (arenas.delete(arena)) worker.postMessage({ op: 'forget', arena: this.#numberOf(arena) } satisfies ScanOrder);
  }

  /** Ends the threads. The event loop continues unfinished scans. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#restartTimer);
    await this.#end();
  }

  #finished(scan: PartedScan<unknown>): Promise<void> {
    return new Promise((resolve) => {
      this.#scans.set(scan, resolve);
      this.#assign();
      this.#scheduleLoop();
      this.#settle(scan);
    });
  }

  /** Returns the scan with the fewest threads among those with room for another. */
  #next(): PartedScan<unknown> | undefined {
    let next: PartedScan<unknown> | undefined;
    for (const scan of this.#scans.keys())
      if (scan.hasRoom && scan.working < (next?.working ?? Number.POSITIVE_INFINITY)) next = scan;
    return next;
  }

  /** Gives work to the idle threads, and starts another thread if more work waits. */
  #assign(): void {
    for (const thread of this.#idle) if (!this.#give(thread)) break;
    if (this.#sources.size > 0)
      for (const thread of this.#threads) if (isForBatch(thread) && !this.#giveSearches(thread, AHEAD_MIN)) break;
    if (this.#sources.size > 0 || this.#next() !== undefined) this.#start();
  }

  /** Returns false if no work waits for the thread. */
  #give(thread: Thread): boolean {
    const isScanFirst = this.#isScanNext;
    this.#isScanNext = !isScanFirst;
    if (isScanFirst) return this.#giveScan(thread) || this.#giveSearches(thread);
    return this.#giveSearches(thread) || this.#giveScan(thread);
  }

  #giveScan(thread: Thread): boolean {
    for (let scan = this.#next(); scan !== undefined; scan = this.#next()) {
      const share = scan.enter();
      if (share === undefined) continue;
      this.#begin(thread, { scan, share }, scan.arenas);
      this.#post(thread, {
        op: 'scan',
        table: scan.table.buffer,
        arenas: scan.arenas.map((arena) => this.#numberOf(arena)),
        scratches: share.addresses,
        blocks: Math.ceil(TURN_BYTES / scan.blockCostBytes),
      });
      return true;
    }
    return false;
  }

  /** `least`: fewest waiting searches of a source. */
  #giveSearches(thread: Thread, least = 1): boolean {
    for (const source of this.#sources) {
      // The event loop may have made the searches.
      if (source.waiting === 0) this.#sources.delete(source);
      if (source.waiting < least) continue;
      const batch = source.take(Math.ceil(source.waiting / Math.max(this.#idle.size, 1)));
      // The source waits behind the others for its next turn.
      this.#sources.delete(source);
      if (source.waiting > 0) this.#sources.add(source);
      if (batch === undefined) continue;
      const { loans, work } = batch;
      this.#begin(
        thread,
        { batch },
        loans.map(({ arena }) => arena),
      );
      const lent = loans.map(({ arena, address, sizeBytes }) => ({ arena: this.#numberOf(arena), address, sizeBytes }));
      this.#post(thread, { op: 'search', loans: lent, work });
      return true;
    }
    return false;
  }

  #begin(thread: Thread, task: Task, arenas: readonly Arena[]): void {
    this.#idle.delete(thread);
    if (thread.tasks.push(task) === 1) thread.worker.ref();
    for (const arena of arenas) {
      if (thread.arenas.has(arena)) continue;
      thread.arenas.add(arena);
      this.#post(thread, { op: 'open', arena: this.#numberOf(arena), memory: arena.memory });
    }
  }

  #post({ worker }: Thread, order: ScanOrder): void {
    worker.postMessage(order);
  }

  #reported(thread: Thread, answer: unknown): void {
    const { tasks, worker } = thread;
    const task = tasks.shift();
    if (tasks.length === 0) {
      worker.unref();
      this.#idle.add(thread);
    }
    if (task === undefined) this.#isStarting = false;
    else if ('scan' in task) this.#left(task.scan, task.share);
    this.#assign();
    if (task !== undefined && 'batch' in task) task.batch.end(answer);
    if (this.#idle.size === this.#threads.size) this.#restartIdleTime();
  }

  /** Ends the threads when they have had no work for a while. */
  #restartIdleTime(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      if (this.#idle.size === this.#threads.size) void this.#end();
    }, IDLE_MS).unref();
  }

  /** An unfinished scan waits behind the others for its next turn. */
  #left(scan: PartedScan<unknown>, share: Share): void {
    scan.leave(share);
    const resolve = this.#scans.get(scan);
    // The scan was over before the thread reached it.
    if (resolve === undefined) return;
    this.#scans.delete(scan);
    this.#scans.set(scan, resolve);
    this.#settle(scan);
  }

  #settle(scan: PartedScan<unknown>): void {
    if (!scan.isOver) return;
    this.#scans.get(scan)?.();
    this.#scans.delete(scan);
  }

  #scheduleLoop(): void {
    if (this.#isLoopDue) return;
    this.#isLoopDue = true;
    setImmediate(() => {
      this.#isLoopDue = false;
      this.#takeLoopTurn();
      if (this.#next() !== undefined) this.#scheduleLoop();
    });
  }

  #takeLoopTurn(): void {
    const scan = this.#next();
    const share = scan?.enter();
    if (scan === undefined || share === undefined) return;
    try {
      const kernels = scan.arenas.map(({ kernel }) => kernel);
      scan.table.scan(kernels, share.addresses, Math.ceil(LOOP_TURN_BYTES / scan.blockCostBytes));
    } catch {
      scan.fail();
    } finally {
      scan.leave(share);
      this.#settle(scan);
    }
  }

  #start(): void {
    if (this.#isStarting || this.#closed || this.#restartTimer !== undefined) return;
    if (this.#threads.size >= this.options.count) return;
    this.#isStarting = true;
    const worker = new Worker(this.program, {
      workerData: { module: kernelModule() } satisfies ScanWorkerData,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
    });
    const thread: Thread = { worker, arenas: new Set(), isReady: false, tasks: [] };
    this.#threads.add(thread);
    worker.on('message', (answer: unknown) => {
      thread.isReady = true;
      this.#reported(thread, answer);
    });
    worker.on('error', (error) => this.options.logger.error({ error: messageOf(error) }, 'a search thread failed'));
    worker.on('exit', () => {
      if (!thread.isReady) this.#isStarting = false;
      this.#ended(thread);
    });
    worker.unref();
  }

  #ended(thread: Thread): void {
    const wasNeeded = !this.#idle.delete(thread);
    this.#threads.delete(thread);
    for (const task of thread.tasks.splice(0)) {
      if ('batch' in task) {
        task.batch.end(undefined);
        continue;
      }
      if (this.#scans.has(task.scan)) task.scan.fail();
      this.#left(task.scan, task.share);
    }
    if (!wasNeeded || this.#closed) return;
    this.#restartTimer = setTimeout(() => {
      this.#restartTimer = undefined;
      this.#assign();
    }, RESTART_MS).unref();
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idleTimer);
    await Promise.all([...this.#threads].map(({ worker }) => worker.terminate()));
  }

  #numberOf(arena: Arena): number {
    const number = this.#numbers.get(arena) ?? ++this.#arenas;
    this.#numbers.set(arena, number);
    return number;
  }
}

/** Whether the thread works on a batch and can take another. */
const isForBatch = ({ tasks }: Thread): boolean =>
  tasks.length > 0 && tasks.length < BATCHES_MAX && tasks.every((task) => 'batch' in task);
