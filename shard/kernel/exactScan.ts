/**
 * The exact scan: `assembly/rows.ts` on each block. The order of `spread.ts` finds near rows early, and then
 * `assembly/nearness.ts` excludes most other rows by their codes. Cost: about 1.5 ns + 0.04 ns per byte for each row on
 * one thread; a code plane saves most of it (`blockShape.ts`).
 */
import type { Block } from './block.js';
import type { PartableScan } from './partedScan.js';
import type { Among, ScannedRows } from './rowChoice.js';
import type { Hits, ScanScratch } from './scanScratch.js';
import { SharedScan } from './sharedScan.js';
import { SlicedScan } from './slicedScan.js';
import { spread } from './spread.js';
import type { Way } from './way.js';

/** Number of rows that take as long to scan as the start of a block. */
const BLOCK_ROWS = 64;

/** A search through all rows, or all rows of a choice. */
export class ExactScan extends SlicedScan implements PartableScan<Hits> {
  /** Undefined before the first step. */
  #order: Generator<number, undefined> | undefined;
  #next: number | undefined;

  constructor(vectors: ScannedRows, query: Int32Array | Uint8Array, k: number, among: Among = {}) {
    super(vectors, query, k, among);
  }

  get costBytes(): number {
    const { blocks, shape } = this.vectors;
    const rowCost = blocks.at(-1)?.planeAddress ? shape.scannedRowCost : 1;
    return this.choice.most * shape.strideBytes * rowCost;
  }

  /**
   * Splits the search of the current rows for several threads. Call it before the first step, and free the result
   * before this is closed. Throws a VouchError if there is not enough memory. After that, and after a failure of the
   * shared scan, this scan can still run with the same rows.
   */
  parted(): SharedScan {
    const { vectors, choice, query, capacity } = this;
    choice.freeze();
    return new SharedScan(vectors, choice, query, capacity);
  }

  protected nextBlock(): number | undefined {
    const { choice } = this;
    this.#order ??= spread(choice.endBlock);
    while (this.#next === undefined || choice.isEmpty(this.#next)) {
      this.#next = this.#order.next().value;
      if (this.#next === undefined) return undefined;
    }
    return this.#next;
  }

  protected scanBlock(index: number, block: Block, scratch: ScanScratch, { plane, way, cost }: Way): number {
    const { region, vectorsAddress, idsAddress, words, firstSlot, rows, strideBytes } = block;
    const chosen = this.choice.rows(index);
    const bitmap = chosen === block.live ? block.bitmapAddress : scratch.stage(chosen);
    region.arena.kernel.scanRows(scratch.address, vectorsAddress, idsAddress, bitmap, words, firstSlot, plane, way);
    this.#next = this.#order!.next().value;
    // The cost of the whole block would make a scan of a few rows of each pause often, and copy all bitmaps.
    const scanned = chosen === block.live ? rows : BLOCK_ROWS + chosen.count * this.vectors.shape.selectedRowCost;
    return Math.min(rows, scanned) * strideBytes * cost;
  }
}
