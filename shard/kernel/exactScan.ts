import type { Block } from './block.js';
import { bitmapBytesOf } from './blockShape.js';
import type { Among } from './rowChoice.js';
import { type ScanPath, WIDE } from './scanPath.js';
import type { ScanScratch } from './scanScratch.js';
import { SlicedScan } from './slicedScan.js';
import { Spread } from './spread.js';
import type { VectorBlocks } from './vectorBlocks.js';

/** A search through all rows, or through all of a choice. */
export class ExactScan extends SlicedScan {
  protected readonly most: number;
  protected readonly bitmapBytes: number;
  /** Undefined before the first step. */
  #order: Spread | undefined;
  #next: number | undefined;

  constructor(vectors: VectorBlocks, query: Int32Array | Uint8Array, k: number, among: Among = {}) {
    super(vectors, query, k, among);
    this.most = this.choice.most;
    this.bitmapBytes = bitmapBytesOf(vectors.shape.rowsMax);
  }

  protected nextBlock(): number | undefined {
    const { choice } = this;
    this.#order ??= new Spread(choice.endBlock);
    while (this.#next === undefined || choice.isEmpty(this.#next)) {
      this.#next = this.#order.next();
      if (this.#next === undefined) return undefined;
    }
    return this.#next;
  }

  /** Blocks do not come in the order of their numbers. */
  protected override firstLeft(): number {
    return 0;
  }

  protected scanBlock(index: number, block: Block, scratch: ScanScratch, path: ScanPath): number {
    const { region, vectorsAddress, idsAddress, bitmapAddress, words, firstSlot, rows, strideBytes } = block;
    const bitmap = this.choice.isAllLive(index)
      ? bitmapAddress
      : scratch.stage((into) => this.choice.write(index, into));
    const { kernel } = region.arena;
    if (path === WIDE) kernel.scanWide(scratch.address, vectorsAddress, idsAddress, bitmap, words, firstSlot);
    else kernel.scanNarrow(scratch.address, vectorsAddress, idsAddress, bitmap, words, firstSlot, path);
    this.#next = this.#order!.next();
    return rows * strideBytes;
  }
}
