/** The exact scan of listed slots (re-ranking of candidates): the kernel gets up to 256 row numbers per call. */
import type { Block } from './block.js';
import { BATCH_ROWS } from './kernel.js';
import type { ScannedRows } from './rowChoice.js';
import type { ScanScratch } from './scanScratch.js';
import { SlicedScan } from './slicedScan.js';
import type { Way } from './way.js';

/** Relative cost of scattered rows: memory takes about twice as long as for consecutive rows. */
const SCATTERED_COST = 2;

/** A search through the rows of a list of slots. */
export class ListedScan extends SlicedScan {
  #at = 0;

  /** `slots` must not fall. Repeated slots count once; slots without a live row are skipped. */
  constructor(
    vectors: ScannedRows,
    query: Int32Array | Uint8Array,
    k: number,
    private readonly slots: Uint32Array,
  ) {
    super(vectors, query, Math.min(k, slots.length), {});
  }

  protected nextBlock(): number | undefined {
    const { choice, slots, vectors } = this;
    while (this.#at < slots.length) {
      const index = vectors.shape.blockOf(slots[this.#at]!);
      if (index >= choice.endBlock) return undefined;
      if (!choice.isEmpty(index)) return index;
      const end = vectors.shape.firstSlot(index + 1);
      while (this.#at < slots.length && slots[this.#at]! < end) this.#at++;
    }
    return undefined;
  }

  protected scanBlock(index: number, block: Block, scratch: ScanScratch, { plane, way, cost }: Way): number {
    const { region, vectorsAddress, idsAddress, firstSlot, rows, strideBytes } = block;
    let considered = 0;
    while (this.#at < this.slots.length && this.slots[this.#at]! < firstSlot + rows) {
      const listed = this.#list(index, block, scratch.views.rowList);
      if (listed > 0)
        region.arena.kernel.offerRows(scratch.address, vectorsAddress, idsAddress, listed, firstSlot, plane, way);
      considered += listed;
    }
    return considered * strideBytes * cost * SCATTERED_COST;
  }

  /** Writes the next rows of the block to the list, as many as fit. */
  #list(index: number, { firstSlot, rows }: Block, into: Uint32Array): number {
    const { slots } = this;
    const chosen = this.choice.rows(index);
    const end = firstSlot + rows;
    let at = this.#at;
    let listed = 0;
    for (; at < slots.length && listed < BATCH_ROWS; at++) {
      const slot = slots[at]!;
      if (slot >= end) break;
      if (slot !== slots[at - 1] && chosen.has(slot - firstSlot)) into[listed++] = slot - firstSlot;
    }
    this.#at = at;
    return listed;
  }
}
