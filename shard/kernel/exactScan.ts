import type { Block } from './block.js';
import type { PartableScan } from './partedScan.js';
import type { Among, ScannedRows } from './rowChoice.js';
import type { Hits, ScanScratch } from './scanScratch.js';
import { SharedScan } from './sharedScan.js';
import { SlicedScan } from './slicedScan.js';
import { spread } from './spread.js';
import type { Way } from './way.js';

/** A search through all rows, or through all of a choice. */
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
   * The same search, of the rows as they are now, for several threads: before the first step, and to be freed before this is
   * closed. Throws `unavailable` and `capacity_exceeded` where there is no memory for it; then, and where it fails, this goes
   * on with the same rows.
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

  protected scanBlock(index: number, block: Block, scratch: ScanScratch, { plane, isWide, cost }: Way): number {
    const { region, vectorsAddress, idsAddress, words, firstSlot, rows, strideBytes } = block;
    const chosen = this.choice.rows(index);
    const bitmap = chosen === block.live ? block.bitmapAddress : scratch.stage(chosen);
    region.arena.kernel.scanRows(scratch.address, vectorsAddress, idsAddress, bitmap, words, firstSlot, plane, isWide);
    this.#next = this.#order!.next().value;
    return rows * strideBytes * cost;
  }
}
