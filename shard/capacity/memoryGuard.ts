/**
 * Refuses writes, and later the openings of collections, long before the system would kill the process for its memory.
 * Searches, deletes and shreds continue.
 *
 * ```text
 * Open ──85 % used──▶ no writes ──92 % used──▶ no writes and no openings.
 *  ◀──────80 %────────────┘ ◀────────92 %─────────────┘
 * ```
 */
import { getHeapStatistics } from 'node:v8';
import type { Clock } from '../../shared/clock.js';
import type { Overloaded } from '../../shared/errors/overloaded.js';
import type { Logger } from '../../shared/logger.js';

/** Shares of the limit. Between the two marks of writes, their state does not change. */
const WRITES_UNTIL = 0.85;
const WRITES_FROM = 0.8;
const OPENINGS_UNTIL = 0.92;

/** Time for which a reading is valid. A shard then takes in a few hundredths of the margin above the first mark. */
const FRESH_MS = 100;

export interface MemoryReading {
  /** Memory that the process has from the system, without memory that it can reuse. */
  readonly usedBytes: number;
  /** JavaScript's own memory. Its limit ends the process however much memory the machine has. */
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
  /** Memory that openings in progress will take. */
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

  /** Share of the memory in use, from 0 to 1, without the memory that openings in progress will take. */
  get usedPart(): number {
    const { usedBytes, heapBytes, heapLimitBytes } = this.options.read();
    return Math.max(usedBytes / this.limitBytes, heapBytes / heapLimitBytes);
  }

  /** Throws Overloaded if writes are refused. */
  assertMayWrite(): void {
    if (this.isFull) throw this.options.refusal();
  }

  /** Opens a collection, which will take some `sizeBytes`. Throws Overloaded if that would be too much. */
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
    if (isFull) this.options.logger.warn(figures, 'the memory is nearly full: writes are refused, searches continue');
    else this.options.logger.info(figures, 'the memory is no longer nearly full: writes are accepted');
  }

  #look(): void {
    if (this.options.clock.monotonicMs() - this.#sampledMs >= FRESH_MS) this.sample();
  }

  /** Share of the limit that is used with `sizeBytes` more. */
  #partWith(sizeBytes: number): number {
    return Math.max((this.usedBytes + sizeBytes) / this.limitBytes, this.#heapPart);
  }
}

/**
 * Reads the memory of this process. `otherBytes`: bytes that will soon be in use, less those that are free for reuse.
 */
export function processMemory(otherBytes: () => number): MemoryReading {
  const { used_heap_size: heapBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics();
  return { usedBytes: Math.max(process.memoryUsage.rss() + otherBytes(), 0), heapBytes, heapLimitBytes };
}
