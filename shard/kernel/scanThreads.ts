/**
 * The threads that share the long scans of a process, and the scans that wait for them. The event loop takes part too,
 * with a slice of one scan per turn. A free thread joins the scan with the fewest threads. So a lone scan uses all
 * threads, and many scans run side by side. After a turn of about 10 ms the thread chooses again.
 *
 * ```text
 * None ──scan──▶ starting ──▶ idle ◄──▶ scanning ──dies──▶ none: the event loop repeats its scan
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
import type { ScanOrder, ScanWorkerData } from './scanWorker.js';

const AUTO_MAX = 8;
/** A cheaper scan runs at once in the event loop: 1 to 2 ms, ten times the cost of a hand-over. */
const COST_MIN_BYTES = 24 << 20;
/** Largest number of scans that are shared at a time. Others run in the event loop. */
const SCANS_MAX = 64;
/** About 10 ms of a thread, and half a millisecond of the event loop. */
const TURN_BYTES = 128 << 20;
const LOOP_TURN_BYTES = 6 << 20;
const IDLE_MS = 30_000;
/** Time between the death of a thread and the start of the next. */
const RESTART_MS = 1_000;
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
}

/** A thread, the arenas that it knows, and its scan. */
interface Thread {
  readonly worker: Worker;
  readonly arenas: Set<Arena>;
  task: { readonly scan: PartedScan<unknown>; readonly share: Share } | undefined;
}

export class ScanThreads {
  readonly #threads = new Set<Thread>();
  readonly #idle = new Set<Thread>();
  /** Scan → callback for its end. The scan that has waited longest comes first. */
  readonly #scans = new Map<PartedScan<unknown>, () => void>();
  readonly #numbers = new WeakMap<Arena, number>();
  #arenas = 0;
  #isStarting = false;
  #isLoopDue = false;
  #idleTimer: NodeJS.Timeout | undefined;
  #restartTimer: NodeJS.Timeout | undefined;
  #closed = false;

  /** `program`: the program of the threads. */
  constructor(
    private readonly options: ScanThreadsOptions,
    private readonly program = new URL('./scanWorker.js', import.meta.url),
  ) {}

  /** Running threads, including idle ones. */
  get running(): number {
    return this.#threads.size;
  }

  /** Whether the scan is worth a hand-over and can be shared now. */
  takes(scan: PartableScan<unknown>): boolean {
    const { count, onScan, costMinBytes = COST_MIN_BYTES } = this.options;
    const taken = count > 0 && !this.#closed && this.#scans.size < SCANS_MAX && scan.costBytes >= costMinBytes;
    onScan?.(taken ? 'threads' : 'loop');
    return taken;
  }

  /** Returns the result of the scan; undefined if the event loop must do the scan. */
  async run<Result>(scan: PartableScan<Result>): Promise<Result | undefined> {
    let parted: PartedScan<Result>;
    try {
      parted = scan.parted();
    } catch {
      // Not enough memory for the shares.
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
    clearTimeout(this.#idleTimer);
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

  /** Assigns scans to the idle threads, and starts another thread if more scans wait. */
  #assign(): void {
    for (const thread of this.#idle) {
      const scan = this.#next();
      if (scan === undefined) return;
      const share = scan.enter();
      if (share !== undefined) this.#hand(thread, scan, share);
    }
    if (this.#next() !== undefined) this.#start();
  }

  #hand(thread: Thread, scan: PartedScan<unknown>, share: Share): void {
    const { worker, arenas } = thread;
    this.#idle.delete(thread);
    thread.task = { scan, share };
    worker.ref();
    for (const arena of scan.arenas) {
      if (arenas.has(arena)) continue;
      arenas.add(arena);
      worker.postMessage({ op: 'open', arena: this.#numberOf(arena), memory: arena.memory } satisfies ScanOrder);
    }
    worker.postMessage({
      op: 'scan',
      table: scan.table.buffer,
      arenas: scan.arenas.map((arena) => this.#numberOf(arena)),
      scratches: share.addresses,
      blocks: Math.ceil(TURN_BYTES / scan.blockCostBytes),
    } satisfies ScanOrder);
  }

  #reported(thread: Thread): void {
    const { task, worker } = thread;
    thread.task = undefined;
    worker.unref();
    this.#idle.add(thread);
    if (task === undefined) this.#isStarting = false;
    else this.#left(task.scan, task.share);
    this.#assign();
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
    if (this.#scans.size > 0) return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => void this.#end(), IDLE_MS).unref();
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
    const thread: Thread = { worker, arenas: new Set(), task: undefined };
    this.#threads.add(thread);
    let isReady = false;
    worker.on('message', () => {
      isReady = true;
      this.#reported(thread);
    });
    worker.on('error', (error) => this.options.logger.error({ error: messageOf(error) }, 'a search thread failed'));
    worker.on('exit', () => {
      if (!isReady) this.#isStarting = false;
      this.#ended(thread);
    });
    worker.unref();
  }

  #ended(thread: Thread): void {
    const wasNeeded = !this.#idle.delete(thread);
    this.#threads.delete(thread);
    if (thread.task !== undefined) {
      const { scan, share } = thread.task;
      if (this.#scans.has(scan)) scan.fail();
      this.#left(scan, share);
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
