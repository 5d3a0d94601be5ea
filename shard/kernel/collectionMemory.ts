/** The vector memory of one collection. What it frees is overwritten first if the collection has records under keys. */
import { nextTurn } from '../../shared/scheduling/slice.js';
import type { Arena } from './arena.js';
import type { ScanThreads } from './scanThreads.js';
import type { BlockMemory, Region } from './vectorMemory.js';

/** Bytes that are overwritten in about half a millisecond. */
const OVERWRITTEN_AT_ONCE = 2 << 20;
const ZEROS = Buffer.alloc(OVERWRITTEN_AT_ONCE);

export class CollectionMemory implements BlockMemory {
  /** Whether removed rows must leave nothing in memory: neither codes in the indexes, nor bytes in freed blocks. */
  mustErase = false;
  readonly #freed: Region[] = [];
  #isErasing = false;

  constructor(private readonly memory: BlockMemory) {}

  get threads(): ScanThreads | undefined {
    return this.memory.threads;
  }

  /** Throws like `VectorMemory.allocateBlock`. */
  allocateBlock(sizeBytes: number): Region {
    return this.memory.allocateBlock(sizeBytes);
  }

  /** Throws like `VectorMemory.allocatePair`. */
  allocatePair(oneBytes: number, otherBytes: number): [Region, Region] {
    return this.memory.allocatePair(oneBytes, otherBytes);
  }

  allocateIn(arena: Arena, sizeBytes: number): Region | undefined {
    return this.memory.allocateIn(arena, sizeBytes);
  }

  /** Frees a block: now, or once it is overwritten, in turns of the event loop. */
  freeBlock(region: Region): void {
    if (!this.mustErase) {
      this.memory.freeBlock(region);
      return;
    }
    this.#freed.push(region);
    if (!this.#isErasing) void this.#erase();
  }

  async #erase(): Promise<void> {
    this.#isErasing = true;
    for (let region = this.#freed.shift(); region !== undefined; region = this.#freed.shift()) {
      const { arena, address, sizeBytes } = region;
      for (let at = 0; at < sizeBytes; at += OVERWRITTEN_AT_ONCE) {
        const length = Math.min(OVERWRITTEN_AT_ONCE, sizeBytes - at);
        const bytes = Buffer.from(arena.buffer, address + at, length);
        // Pages that were never written take no memory, and should not.
        if (!bytes.equals(ZEROS.subarray(0, length))) bytes.fill(0);
        await nextTurn();
      }
      this.memory.freeBlock(region);
    }
    this.#isErasing = false;
  }
}
