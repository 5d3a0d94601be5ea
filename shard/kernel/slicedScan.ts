import type { Block } from './block.js';
import { type Among, RowChoice, type ScannedRows } from './rowChoice.js';
import { type Hits, hitsOfLength, ScanScratch } from './scanScratch.js';
import { type Way, wayThrough } from './way.js';

/** Bytes of vectors per slice: 0.5 to 1 ms at the 12 to 25 GB/s of one thread. */
const SLICE_BYTES = 12 << 20;

/** Returns the bytes of a query. */
export function queryBytes(query: Int32Array | Uint8Array, { dimension }: ScannedRows): Uint8Array {
  if (query.byteLength !== 4 * dimension) throw new Error(`a query of ${query.byteLength} bytes`);
  return new Uint8Array(query.buffer, query.byteOffset, query.byteLength);
}

/**
 * A search for the nearest `k`, block by block. It sees the collection as of its first step. If blocks are left after
 * that step, the scan copies all bitmaps, and released rows are not overwritten until it is closed.
 *
 * Always call `close`.
 */
export abstract class SlicedScan {
  protected readonly choice: RowChoice;
  protected readonly query: Uint8Array;
  /** Undefined before the first step, or without a row to consider. */
  #scratch: ScanScratch | undefined;
  #capacity: number | undefined;

  /** `query`: components, or their little-endian bytes. */
  constructor(
    protected readonly vectors: ScannedRows,
    query: Int32Array | Uint8Array,
    private readonly k: number,
    among: Among,
  ) {
    this.query = queryBytes(query, vectors);
    this.choice = new RowChoice(vectors, among);
  }

  /** Returns the next block with rows to consider, the same one until it is scanned. Returns undefined at the end. */
  protected abstract nextBlock(): number | undefined;

  /**
   * Considers the rows of the next block. Returns the cost, as bytes of vectors that an ordinary scan reads in that
   * time.
   */
  protected abstract scanBlock(index: number, block: Block, scratch: ScanScratch, way: Way): number;

  /** Largest number of rows to find, fixed on first use. */
  protected get capacity(): number {
    this.#capacity ??= Math.min(this.k, this.choice.most);
    return this.#capacity;
  }

  /** Scans about `budgetBytes` of vectors, at least one block. Returns true when no block is left. */
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

  /** Rows found, once `step` has returned true. */
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
    this.#scratch ??= new ScanScratch(arena, this.query, { shape: this.vectors.shape, capacity: this.capacity });
    return this.#scratch;
  }
}
