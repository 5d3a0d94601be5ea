import type { Block } from './block.js';
import { bitmapBytesOf } from './blockShape.js';
import { scanPath, WIDE } from './scanPath.js';
import { type Hits, ScanScratch } from './scanScratch.js';
import type { SlotSet } from './slotSet.js';
import type { VectorBlocks } from './vectorBlocks.js';

/** Bytes of vectors scanned at a stretch: 1 to 2 ms at the 12 to 25 GB/s of one thread. */
const SLICE_BYTES = 24 << 20;
/** The wide way takes about three times as long. */
const WIDE_COST = 3;

const nothing = (): Hits => ({ ids: new Float64Array(0), slots: new Uint32Array(0), scores: new Float64Array(0) });

/**
 * One search through all rows. It goes block by block, and sees the collection as it was at its first step: a step that
 * leaves blocks over copies their bitmaps, and released rows are not overwritten until the scan is closed.
 *
 * `close` must be called in any case.
 */
export class ExactScan {
  readonly #query: Uint8Array;
  /** Undefined before the first step, and where nothing is live. */
  #scratch: ScanScratch | undefined;
  #nextBlock = 0;
  /** Set by a step that left blocks over: the scan's number, and the bitmaps of the blocks from `firstBlock` on. */
  #rest: { readonly scan: number; readonly firstBlock: number; readonly live: readonly Uint32Array[] } | undefined;

  /** `query`: components, or their little-endian bytes. `eligible`: the rows to choose from, where not all. */
  constructor(
    private readonly vectors: VectorBlocks,
    query: Int32Array | Uint8Array,
    private readonly k: number,
    private readonly eligible: SlotSet | undefined,
  ) {
    if (query.byteLength !== 4 * vectors.dimension) throw new Error(`a query of ${query.byteLength} bytes`);
    this.#query = new Uint8Array(query.buffer, query.byteOffset, query.byteLength);
  }

  /** Scans about `budgetBytes` of vectors, at least one block; true when nothing is left to scan. */
  step(budgetBytes = SLICE_BYTES): boolean {
    const { blocks } = this.vectors;
    this.#scratch ??= this.#begin();
    if (this.#scratch === undefined) return true;
    const end = this.#rest === undefined ? blocks.length : this.#rest.firstBlock + this.#rest.live.length;
    let spentBytes = 0;
    while (this.#nextBlock < end && spentBytes < budgetBytes) {
      spentBytes += this.#scanBlock(this.#scratch, blocks[this.#nextBlock]!, this.#nextBlock);
      this.#nextBlock++;
    }
    if (this.#nextBlock === end) return true;
    this.#rest ??= {
      scan: this.vectors.beginScan(),
      firstBlock: this.#nextBlock,
      live: blocks.slice(this.#nextBlock).map(({ live }) => live.slice()),
    };
    return false;
  }

  /** What was found, once `step` has returned true. */
  hits(): Hits {
    return this.#scratch?.hits() ?? nothing();
  }

  close(): void {
    this.#scratch?.free();
    this.#scratch = undefined;
    if (this.#rest !== undefined) this.vectors.endScan(this.#rest.scan);
    this.#rest = undefined;
  }

  #begin(): ScanScratch | undefined {
    const { blocks, liveCount, shape } = this.vectors;
    if (liveCount === 0) return undefined;
    return new ScanScratch(blocks[0]!.region.arena, this.#query, {
      capacity: Math.min(this.k, liveCount),
      strideBytes: shape.strideBytes,
      bitmapBytes: bitmapBytesOf(shape.rowsMax),
    });
  }

  /** Returns the cost, in bytes of an ordinary scan. */
  #scanBlock(scratch: ScanScratch, block: Block, index: number): number {
    const copied = this.#rest?.live[index - this.#rest.firstBlock];
    const eligible = this.eligible?.bitmap(index);
    if (copied === undefined && block.liveCount === 0) return 0;
    if (this.eligible !== undefined && eligible === undefined) return 0;
    const { region, vectorsAddress, idsAddress, words, firstSlot, largestComponent, strideBytes } = block;
    scratch.moveTo(region.arena);
    const { kernel } = region.arena;
    const inPlace = copied === undefined && eligible === undefined;
    const bitmap = inPlace ? block.bitmapAddress : scratch.stage(copied ?? block.live, eligible);
    const reach = largestComponent + scratch.largestQueryComponent;
    const path = scanPath(this.vectors.dimension, reach, this.vectors.narrowReach);
    const at = scratch.address;
    if (path === WIDE) kernel.scanWide(at, vectorsAddress, idsAddress, bitmap, words, firstSlot);
    else kernel.scanNarrow(at, vectorsAddress, idsAddress, bitmap, words, firstSlot, path);
    return block.rows * strideBytes * (path === WIDE ? WIDE_COST : 1);
  }
}
