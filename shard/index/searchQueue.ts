/**
 * The searches of one index that wait. At the end of a turn of the event loop, all that came in it are handed over at
 * once. A lone one stays in the event loop, unless it takes much longer than a hand-over. So do all while no thread runs.
 *
 * ```text
 * add ──▶ waiting ──end of the turn──▶ a thread, in a batch ──▶ hits
 *                          └─ lone, or threads far behind ─▶ the event loop ──▶ hits
 * ```
 */

import type { Hits } from '../kernel/scanScratch.js';
import type { ScanThreads, SearchBatch, SearchSource } from '../kernel/scanThreads.js';
import type { Region } from '../kernel/vectorMemory.js';

/** Largest number of searches of a batch, and their cost: some 2 ms of a thread. */
const BATCH_MAX = 32;
const BATCH_BYTES = 48 << 20;
/** Cost of waiting searches of which the event loop takes some: about 5 ms of a thread. */
const BEHIND_BYTES = 96 << 20;

/** The part of a search that depends on the kind of index. */
export interface SearchedIndex<Search> {
  /** Makes the message of a batch. Throws `unavailable` and `capacity_exceeded`. */
  batch(searches: readonly Search[]): Pick<SearchBatch, 'loans' | 'work'>;
  /** Returns the hits of the batch, in order. */
  results(searches: readonly Search[], answer: unknown): readonly (Hits | Promise<Hits>)[];
  /** Makes a search in the event loop, in slices. */
  here(search: Search): Promise<Hits>;
  free(loans: readonly Region[]): void;
}

interface Waiting<Search> {
  readonly search: Search;
  /** Cost, as bytes of vectors that an exact scan measures in that time. */
  readonly costBytes: number;
  readonly resolve: (hits: Hits | Promise<Hits>) => void;
}

export class SearchQueue<Search> implements SearchSource {
  readonly #waiting: Waiting<Search>[] = [];
  #waitingBytes = 0;
  /** Batches that threads work on. */
  #batches = 0;
  #isDue = false;
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

  add(search: Search, costBytes: number): Promise<Hits> {
    return new Promise((resolve) => {
      this.#waiting.push({ search, costBytes, resolve });
      this.#waitingBytes += costBytes;
      this.#schedule();
    });
  }

  take(most: number): SearchBatch | undefined {
    const taken = this.#first(Math.min(most, BATCH_MAX), BATCH_BYTES);
    const searches = taken.map(({ search }) => search);
    try {
      const { loans, work } = this.index.batch(searches);
      this.#batches++;
      this.threads.count('threads', searches.length);
      const end = (answer: unknown): void => {
        this.#batches--;
        this.index.free(loans);
        if (answer === undefined) this.#here(taken);
        else this.#resolve(taken, answer);
      };
      return { loans, work, end };
    } catch {
      // Memory is short for the batch. One search after another needs less.
      this.#here(taken);
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
    const isLone = second === undefined && this.#batches === 0 && first.costBytes < this.threads.costMinBytes;
    if (isLone || !this.isOpen || this.threads.ready === 0) {
      if (!isLone) this.threads.warm();
      this.#here(this.#first());
      return;
    }
    this.threads.serve(this);
    if (this.#waitingBytes > BEHIND_BYTES && !this.#isHelping) void this.#help();
  }

  /** Makes one search here, and then looks again. */
  async #help(): Promise<void> {
    this.#isHelping = true;
    await Promise.allSettled(this.#here(this.#first(1)));
    this.#isHelping = false;
    this.#schedule();
  }

  #here(searches: readonly Waiting<Search>[]): Promise<Hits>[] {
    this.threads.count('loop', searches.length);
    return searches.map(({ search, resolve }) => {
      const hits = this.index.here(search);
      resolve(hits);
      return hits;
    });
  }

  #resolve(searches: readonly Waiting<Search>[], answer: unknown): void {
    const results = this.index.results(
      searches.map(({ search }) => search),
      answer,
    );
    for (const [at, { resolve }] of searches.entries()) resolve(results[at]!);
  }

  /** Takes the first searches out of the queue: at least one if there is one, and all by default. */
  #first(most = this.#waiting.length, mostBytes = Number.POSITIVE_INFINITY): Waiting<Search>[] {
    let count = 0;
    let bytes = 0;
    for (; count < most && count < this.#waiting.length && bytes < mostBytes; count++)
      bytes += this.#waiting[count]!.costBytes;
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }
}
