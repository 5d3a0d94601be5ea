import type { Block } from './block.js';
import { BATCH_ROWS } from './kernel.js';
import { type ScanPath, WIDE } from './scanPath.js';
import type { ScanScratch } from './scanScratch.js';
import { SlicedScan } from './slicedScan.js';
import type { SlotSet } from './slotSet.js';
import type { VectorBlocks } from './vectorBlocks.js';

/** Rows here and there take the memory about twice as long as rows in a line. */
const SCATTERED_COST = 2;

/** A search through the rows of a list of slots. */
export class ListedScan extends SlicedScan {
  protected readonly most: number;
  protected readonly bitmapBytes = 0;
  #at = 0;

  /** `slots`: never falling; those that are given twice count once, those that hold no live row not at all. */
  constructor(
    vectors: VectorBlocks,
    query: Int32Array | Uint8Array,
    k: number,
    private readonly slots: Uint32Array,
    eligible: SlotSet | undefined,
  ) {
    super(vectors, query, k, { eligible });
    this.most = Math.min(this.choice.most, slots.length);
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

  protected scanBlock(index: number, block: Block, scratch: ScanScratch, path: ScanPath): number {
    const end = block.firstSlot + block.rows;
    let considered = 0;
    while (this.#at < this.slots.length && this.slots[this.#at]! < end) {
      const listed = this.#list(index, block, scratch.rowList);
      if (listed > 0) offer(block, scratch.address, listed, path);
      considered += listed;
    }
    return considered * block.strideBytes * SCATTERED_COST;
  }

  /** Writes the next rows of the block to the list, as many as go in. */
  #list(index: number, { firstSlot, rows }: Block, into: Uint32Array): number {
    const { slots, choice } = this;
    const end = firstSlot + rows;
    let at = this.#at;
    let listed = 0;
    for (; at < slots.length && listed < BATCH_ROWS; at++) {
      const slot = slots[at]!;
      if (slot >= end) break;
      if (slot !== slots[at - 1] && choice.has(index, slot - firstSlot)) into[listed++] = slot - firstSlot;
    }
    this.#at = at;
    return listed;
  }
}

function offer(block: Block, scan: number, listed: number, path: ScanPath): void {
  const { region, vectorsAddress, idsAddress, firstSlot } = block;
  const { kernel } = region.arena;
  if (path === WIDE) kernel.offerWide(scan, vectorsAddress, idsAddress, listed, firstSlot);
  else kernel.offerNarrow(scan, vectorsAddress, idsAddress, listed, firstSlot, path);
}
