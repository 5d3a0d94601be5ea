/**
 * Refuses writes, and later the openings of collections, long before the process has so much memory that the system ends it.
 * Searches, deletes and shreds go on.
 *
 *   open ──85 % used──▶ no writes ──92 % used──▶ no writes and no openings
 *    ◀──────80 %────────────┘ ◀────────92 %─────────────┘
 */
import { getHeapStatistics } from 'node:v8';
import type { Clock } from '../../shared/clock.js';
import type { Overloaded } from '../../shared/errors/overloaded.js';
import type { Logger } from '../../shared/logger.js';

/** Parts of the limit. Between two marks, writes neither stop nor begin. */
const WRITES_UNTIL = 0.85;
const WRITES_FROM = 0.8;
const OPENINGS_UNTIL = 0.92;

/** A reading counts for so long: meanwhile a shard takes in a few hundredths of the margin above the first mark. */
const FRESH_MS = 100;

export interface MemoryReading {
  /** What the process has of the system's memory, without what it can use again. */
  readonly usedBytes: number;
  /** JavaScript's own memory, whose limit ends the process however much memory the machine has. */
  readonly heapBytes: number;
  readonly heapLimitBytes: number;
}

interface Options {
  readonly limitBytes: number;
  readonly read: () => MemoryReading;
  readonly clock: Clock;
  /** Counts a refusal. */
  readonly refusal: () => Overloaded;
  readonly logger: Logger;
}

export class MemoryGuard {
  #sampledMs = Number.NEGATIVE_INFINITY;
  #usedBytes = 0;
  #heapPart = 0;
  /** The memory that openings in progress will take. */
  #openingBytes = 0;
  #isFull = false;

  constructor(private readonly options: Options) {}

  /** Whether writes are refused. */
  get isFull(): boolean {
    this.#look();
    return this.#isFull;
  }

  get usedBytes(): number {
    this.#look();
    return this.#usedBytes + this.#openingBytes;
  }

  get limitBytes(): number {
    return this.options.limitBytes;
  }

  /** The part of the memory that is in use now, from 0 to 1, without what openings in progress will take. */
  get usedPart(): number {
    const { usedBytes, heapBytes, heapLimitBytes } = this.options.read();
    return Math.max(usedBytes / this.limitBytes, heapBytes / heapLimitBytes);
  }

  /** Throws Overloaded. */
  assertMayWrite(): void {
    if (this.isFull) throw this.options.refusal();
  }

  /** Opens a collection, which will take some `sizeBytes`. Throws Overloaded where that would be too much. */
  async opening<T>(sizeBytes: number, open: () => Promise<T>): Promise<T> {
    if (this.#partWith(sizeBytes) >= OPENINGS_UNTIL) throw this.options.refusal();
    this.#openingBytes += sizeBytes;
    try {
      return await open();
    } finally {
      this.#openingBytes -= sizeBytes;
      this.sample();
    }
  }

  /** Reads the memory again. */
  sample(): void {
    this.#sampledMs = this.options.clock.monotonicMs();
    const { usedBytes, heapBytes, heapLimitBytes } = this.options.read();
    this.#usedBytes = usedBytes;
    this.#heapPart = heapBytes / heapLimitBytes;
    const isFull = this.#partWith(0) >= (this.#isFull ? WRITES_FROM : WRITES_UNTIL);
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    const figures = { usedBytes, limitBytes: this.limitBytes, heapBytes, heapLimitBytes };
    if (isFull) this.options.logger.warn(figures, 'the memory is nearly full: writes are refused, searches go on');
    else this.options.logger.info(figures, 'there is memory again: writes are taken');
  }

  #look(): void {
    if (this.options.clock.monotonicMs() - this.#sampledMs >= FRESH_MS) this.sample();
  }

  /** The part of the limit that is used with `sizeBytes` more. */
  #partWith(sizeBytes: number): number {
    return Math.max((this.usedBytes + sizeBytes) / this.limitBytes, this.#heapPart);
  }
}

/** Reads the memory of this process. `otherBytes`: what is in use soon, less what is free for reuse. */
export function processMemory(otherBytes: () => number): MemoryReading {
  const { used_heap_size: heapBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics();
  return { usedBytes: Math.max(process.memoryUsage.rss() + otherBytes(), 0), heapBytes, heapLimitBytes };
}
