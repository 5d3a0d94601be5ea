/**
 * The searches of one index that wait for a thread. At the end of a turn of the event loop, all searches of that turn are
 * handed over together. A single cheap search is made in the event loop instead, and so is each while no thread runs.
 *
 * ```text
 * add ──▶ waiting ──end of the turn──▶ a thread, in a batch ──▶ hits
 *                          └─ single and cheap, or threads far behind ─▶ the event loop ──▶ hits
 * ```
 */
import type { BlockShape } from '../kernel/blockShape.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { ScanThreads, SearchBatch, SearchSource } from '../kernel/scanThreads.js';
import type { Region } from '../kernel/vectorMemory.js';
import { type SearchResult, unpackResults } from './batchForm.js';
import { takeBack } from './loans.js';

/** Largest number of searches in a batch, and their largest cost: some 2 ms of a thread. */
const BATCH_MAX = 32;
const BATCH_BYTES = 48 << 20;
/** Cost of waiting searches above which the event loop makes some of them: about 5 ms of a thread. */
const BEHIND_BYTES = 96 << 20;

/** Cost of a byte of a bitmap that is sent to a thread, and so copied twice. It keeps batches of large bitmaps small. */
const BITMAP_COST = 64;

/** Returns the cost of a search: the bytes of vectors that an exact scan measures in the same time. `rows`: see `Index.cost`. */
export const costBytesOf = (shape: BlockShape, rows: number, eligible: Uint32Array): number =>
  rows * shape.strideBytes * shape.scannedRowCost + BITMAP_COST * eligible.byteLength;

/** The message of a batch, and the scratch that is lent for it. */
export interface LentBatch extends Pick<SearchBatch, 'work'> {
  readonly loans: readonly Region[];
}

/** The part of a search that depends on the kind of index. */
export interface SearchedIndex<Search> {
  /** Makes the message of a batch, and lends the memory for it. Throws `unavailable` and `capacity_exceeded`. */
  batch(searches: readonly Search[]): LentBatch;
  /** Returns the hits of a search, made from the result of a thread. */
  hits(search: Search, result: SearchResult): Hits | Promise<Hits>;
  /** Makes a search in the event loop, in slices. */
  inLoop(search: Search): Promise<Hits>;
}

interface Waiting<Search> {
  readonly search: Search;
  /** Cost, as bytes of vectors that an exact scan measures in that time. */
  readonly costBytes: number;
  readonly resolve: (hits: Hits | Promise<Hits>) => void;
}

export class SearchQueue<Search> implements SearchSource {
  readonly #waiting: Waiting<Search>[] = [];
  /** Cost of all waiting searches. */
  #waitingBytes = 0;
  /** Number of batches that threads work on. */
  #batches = 0;
  /** Whether a hand-over is scheduled. */
  #isDue = false;
  /** Whether the event loop makes one of the searches, because the threads are far behind. */
  #isHelping = false;

  constructor(
    private readonly threads: ScanThreads,
    private readonly index: SearchedIndex<Search>,
  ) {}

  get waiting(): number {
    return this.#waiting.length;
  }

  get isOpen(): boolean {
    return this.threads.takesIndexSearches;
  }

  /** Queues a search. `costBytes`: bytes of vectors that an exact scan measures in that time. */
  add(search: Search, costBytes: number): Promise<Hits> {
    return new Promise((resolve) => {
      this.#waiting.push({ search, costBytes, resolve });
      this.#waitingBytes += costBytes;
      this.#schedule();
    });
  }

  /** Takes a batch for a thread. Returns undefined if memory is short; the event loop then makes the searches. */
  take(most: number): SearchBatch | undefined {
    const taken = this.#takeFirst(Math.min(most, BATCH_MAX), BATCH_BYTES);
    const searches = taken.map(({ search }) => search);
    try {
      const { loans, work } = this.index.batch(searches);
      this.#batches++;
      this.threads.count('threads', searches.length);
      const end = (answer: unknown): void => {
        this.#batches--;
        takeBack(loans);
        if (answer === undefined) this.#inLoop(taken);
        else this.#resolve(taken, answer as Float64Array);
      };
      return { loans, work, end };
    } catch {
      // One search after another needs less memory than the batch.
      this.#inLoop(taken);
      return undefined;
    }
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#handOver();
    });
  }

  #handOver(): void {
    const [first, second] = this.#waiting;
    if (first === undefined) return;
    const isSingle = second === undefined && this.#batches === 0 && first.costBytes < this.threads.costMinBytes;
    if (isSingle || !this.isOpen || this.threads.ready === 0) {
      if (!isSingle) this.threads.warm();
      this.#inLoop(this.#takeFirst());
      return;
    }
    this.threads.serve(this);
    if (this.#waitingBytes > BEHIND_BYTES && !this.#isHelping) void this.#help();
  }

  /** Makes one search in the event loop, then schedules the next hand-over. */
  async #help(): Promise<void> {
    this.#isHelping = true;
    await Promise.allSettled(this.#inLoop(this.#takeFirst(1)));
    this.#isHelping = false;
    this.#schedule();
  }

  #inLoop(searches: readonly Waiting<Search>[]): Promise<Hits>[] {
    this.threads.count('loop', searches.length);
    return searches.map(({ search, resolve }) => {
      const hits = this.index.inLoop(search);
      resolve(hits);
      return hits;
    });
  }

  #resolve(searches: readonly Waiting<Search>[], answer: Float64Array): void {
    for (const [at, result] of unpackResults(answer).entries()) {
      const { search, resolve } = searches[at]!;
      resolve(this.index.hits(search, result));
    }
  }

  /** Takes the first searches out of the queue, all by default. Takes one even if it costs more than `mostBytes`. */
  #takeFirst(most = this.#waiting.length, mostBytes = Number.POSITIVE_INFINITY): Waiting<Search>[] {
    let count = 0;
    let bytes = 0;
    for (; count < most && count < this.#waiting.length && bytes < mostBytes; count++)
      bytes += this.#waiting[count]!.costBytes;
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }
}
