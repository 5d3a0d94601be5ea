import type { Block } from './block.js';
import { type Among, RowChoice, type ScannedRows } from './rowChoice.js';
import { type Hits, hitsOfLength, ScanScratch } from './scanScratch.js';
import { type Way, wayThrough } from './way.js';

/** Bytes of vectors scanned at a stretch: 0.5 to 1 ms at the 12 to 25 GB/s of one thread. */
const SLICE_BYTES = 12 << 20;

/**
 * A search for the nearest `k`. It goes block by block, and sees the collection as it was at its first step: a step that
 * leaves blocks over copies all bitmaps, and released rows are not overwritten until the scan is closed.
 *
 * `close` must be called in any case.
 */
export abstract class SlicedScan {
  protected readonly choice: RowChoice;
  protected readonly query: Uint8Array;
  /** Undefined before the first step, and where there is nothing to consider. */
  #scratch: ScanScratch | undefined;
  #capacity: number | undefined;

  /** `query`: components, or their little-endian bytes. */
  constructor(
    protected readonly vectors: ScannedRows,
    query: Int32Array | Uint8Array,
    private readonly k: number,
    among: Among,
  ) {
    if (query.byteLength !== 4 * vectors.dimension) throw new Error(`a query of ${query.byteLength} bytes`);
    this.query = new Uint8Array(query.buffer, query.byteOffset, query.byteLength);
    this.choice = new RowChoice(vectors, among);
  }

  /** The next block that holds rows to consider, until it has been scanned; undefined at the end. */
  protected abstract nextBlock(): number | undefined;

  /** Considers the rows of the next block. Returns the bytes of vectors that an ordinary scan would read as fast. */
  protected abstract scanBlock(index: number, block: Block, scratch: ScanScratch, way: Way): number;

  /** The most rows to be found, as it was when first asked. */
  protected get capacity(): number {
    this.#capacity ??= Math.min(this.k, this.choice.most);
    return this.#capacity;
  }

  /** Scans about `budgetBytes` of vectors, at least one block; true when nothing is left to scan. */
  step(budgetBytes = SLICE_BYTES): boolean {
    let next = this.nextBlock();
    let spentBytes = 0;
    while (next !== undefined && spentBytes < budgetBytes) {
      const block = this.vectors.blocks[next]!;
      const scratch = this.#scratchIn(block);
      const way = wayThrough(this.vectors, block, scratch.largestQueryComponent);
      spentBytes += this.scanBlock(next, block, scratch, way);
      next = this.nextBlock();
    }
    if (next === undefined) return true;
    this.choice.freeze();
    return false;
  }

  /** The rows found, once `step` has returned true. */
  hits(): Hits {
    return this.#scratch?.hits() ?? hitsOfLength(0);
  }

  close(): void {
    this.#scratch?.free();
    this.#scratch = undefined;
    this.choice.close();
  }

  #scratchIn({ region: { arena } }: Block): ScanScratch {
    this.#scratch?.moveTo(arena);
    this.#scratch ??= new ScanScratch(arena, this.query, this.capacity, this.vectors.shape);
    return this.#scratch;
  }
}
