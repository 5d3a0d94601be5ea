import type { Block } from './block.js';
import { type Among, RowChoice } from './rowChoice.js';
import { type ScanPath, scanPath, WIDE } from './scanPath.js';
import { type Hits, ScanScratch } from './scanScratch.js';
import type { VectorBlocks } from './vectorBlocks.js';

/** Bytes of vectors scanned at a stretch: 1 to 2 ms at the 12 to 25 GB/s of one thread. */
const SLICE_BYTES = 24 << 20;
/** The wide way takes about three times as long. */
const WIDE_COST = 3;

const nothing = (): Hits => ({ ids: new Float64Array(0), slots: new Uint32Array(0), scores: new Float64Array(0) });

/**
 * One search for the nearest `k`. It goes block by block, and sees the collection as it was at its first step: a step
 * that leaves blocks over copies their bitmaps, and released rows are not overwritten until the scan is closed.
 *
 * `close` must be called in any case.
 */
export abstract class SlicedScan {
  protected readonly choice: RowChoice;
  readonly #query: Uint8Array;
  /** Undefined before the first step, and where there is nothing to consider. */
  #scratch: ScanScratch | undefined;

  /** `query`: components, or their little-endian bytes. */
  constructor(
    protected readonly vectors: VectorBlocks,
    query: Int32Array | Uint8Array,
    private readonly k: number,
    among: Among,
  ) {
    if (query.byteLength !== 4 * vectors.dimension) throw new Error(`a query of ${query.byteLength} bytes`);
    this.#query = new Uint8Array(query.buffer, query.byteOffset, query.byteLength);
    this.choice = new RowChoice(vectors, among);
  }

  /** The most rows there may be to consider. */
  protected abstract readonly most: number;
  /** The largest bitmap that is staged, in bytes. */
  protected abstract readonly bitmapBytes: number;

  /** The next block that holds rows to consider, until it has been scanned; undefined at the end. */
  protected abstract nextBlock(): number | undefined;

  /** Considers the rows of the next block. Returns the bytes of vectors that an ordinary scan would read as fast. */
  protected abstract scanBlock(index: number, block: Block, scratch: ScanScratch, path: ScanPath): number;

  /** No block before this one is left, where block `next` is the next. */
  protected firstLeft(next: number): number {
    return next;
  }

  /** Scans about `budgetBytes` of vectors, at least one block; true when nothing is left to scan. */
  step(budgetBytes = SLICE_BYTES): boolean {
    let next = this.nextBlock();
    let spentBytes = 0;
    while (next !== undefined && spentBytes < budgetBytes) {
      const block = this.vectors.blocks[next]!;
      const scratch = this.#scratchIn(block);
      const reach = block.largestComponent + scratch.largestQueryComponent;
      const path = scanPath(this.vectors.dimension, reach, this.vectors.narrowReach);
      spentBytes += this.scanBlock(next, block, scratch, path) * (path === WIDE ? WIDE_COST : 1);
      next = this.nextBlock();
    }
    if (next === undefined) return true;
    this.choice.freeze(this.firstLeft(next));
    return false;
  }

  /** What was found, once `step` has returned true. */
  hits(): Hits {
    return this.#scratch?.hits() ?? nothing();
  }

  close(): void {
    this.#scratch?.free();
    this.#scratch = undefined;
    this.choice.close();
  }

  #scratchIn({ region: { arena } }: Block): ScanScratch {
    this.#scratch?.moveTo(arena);
    this.#scratch ??= new ScanScratch(arena, this.#query, {
      capacity: Math.min(this.k, this.most),
      strideBytes: this.vectors.shape.strideBytes,
      bitmapBytes: this.bitmapBytes,
    });
    return this.#scratch;
  }
}
