import type { Arena } from './arena.js';
import type { Block } from './block.js';
import { bitmapBytesOf } from './blockShape.js';
import { BATCH_ROWS, ENTRY_BYTES } from './kernel.js';
import type { Among } from './rowChoice.js';
import { type ScanPath, WIDE } from './scanPath.js';
import type { ScanScratch } from './scanScratch.js';
import { SlicedScan } from './slicedScan.js';
import type { VectorBlocks } from './vectorBlocks.js';
import { WeightedHeap, type WeightedHits } from './weightedHeap.js';

/** How much rows count for. Weights are in (0, 1], and no smaller than 2^-900. */
export interface Weights {
  /** Of the row at `slot`. */
  of(slot: number): number;
  /** No less than that, but for what `ROUNDING` makes up for, and found faster. */
  atMost(slot: number): number;
  /** No row of block `index` weighs more, but for what `ROUNDING` makes up for. */
  most(index: number): number;
}

/** What the caller asks about; a row that is neither may be left out. */
export interface WeightedBounds {
  /** Rows whose score / weight is no larger. */
  readonly weightedMost: number;
  /** Rows whose score is no smaller: nearer ones are known, or not wanted. */
  readonly scoreLeast: number;
}

interface WeightedBlock {
  readonly index: number;
  readonly most: number;
}

/** Entries as `ENTRY_BYTES` has them, as f64 and as u32. */
interface GatheredRows {
  readonly arena: Arena;
  readonly scan: number;
  readonly numbers: Float64Array;
  readonly words: Uint32Array;
}

const UNBOUNDED: WeightedBounds = { weightedMost: Number.POSITIVE_INFINITY, scoreLeast: 0 };

/** What it costs to look at a row that the kernel lets through: about 20 ns, in bytes that are scanned meanwhile. */
const TAKEN_COST_BYTES = 512;

/**
 * A power is rounded by less than a unit in the last place, but is not monotone; the quotient, the product with the
 * weight and this one are rounded once each. All of them together stay below 8 units of 2^-53.
 */
const ROUNDING = 1 + 2 ** -48;

/** The largest score of a row that is asked about, in a block whose largest weight is `most`. */
const scoreMost = ({ weightedMost }: WeightedBounds, most: number): number => weightedMost * most * ROUNDING;

/** Whether a block whose largest weight is `most` may hold a row that is asked about. */
export const mayHold = (bounds: WeightedBounds, most: number): boolean => bounds.scoreLeast <= scoreMost(bounds, most);

/**
 * A search for the rows that come first by score / weight. In a block whose largest weight is w, a row that comes
 * before the distance D has a score within D * w: that is the limit the kernel is given, and lowered as rows are found.
 * Only rows within it are weighed, one by one. The blocks of the largest weights come first, since they lower it most.
 */
export class WeightedScan extends SlicedScan {
  protected readonly most: number;
  protected readonly bitmapBytes: number;
  readonly #weights: Weights;
  readonly #bounds: WeightedBounds;
  readonly #best: WeightedHeap;
  /** Blocks in falling order of their largest weights; undefined before the first step. */
  #blocks: readonly WeightedBlock[] | undefined;
  #at = 0;
  /** Where the kernel puts what it gathers, until the scratch moves. */
  #gathered: GatheredRows | undefined;

  constructor(
    vectors: VectorBlocks,
    query: Int32Array | Uint8Array,
    k: number,
    weights: Weights,
    among: Among = {},
    bounds = UNBOUNDED,
  ) {
    super(vectors, query, BATCH_ROWS, among);
    this.most = this.choice.most;
    this.bitmapBytes = bitmapBytesOf(vectors.shape.rowsMax);
    this.#weights = weights;
    this.#bounds = bounds;
    this.#best = new WeightedHeap(Math.min(k, this.most));
  }

  override hits(): WeightedHits {
    return this.#best.hits();
  }

  protected nextBlock(): number | undefined {
    this.#blocks ??= weighted(this.vectors.blocks, this.#weights);
    while (this.#at < this.#blocks.length && this.choice.isEmpty(this.#blocks[this.#at]!.index)) this.#at++;
    const next = this.#blocks[this.#at];
    // What is far enough to be asked about comes too late, in this block and in all that weigh less.
    return next !== undefined && mayHold(this.#asked, next.most) ? next.index : undefined;
  }

  /** Blocks do not come in the order of their numbers. */
  protected override firstLeft(): number {
    return 0;
  }

  protected scanBlock(index: number, block: Block, scratch: ScanScratch, path: ScanPath): number {
    const { region, vectorsAddress, idsAddress, bitmapAddress, words, firstSlot, rows, strideBytes } = block;
    const { kernel } = region.arena;
    const { most } = this.#blocks![this.#at++]!;
    const { address } = scratch;
    const bitmap = this.choice.isAllLive(index)
      ? bitmapAddress
      : scratch.stage((into) => this.choice.write(index, into));
    kernel.enterGather(address, vectorsAddress, idsAddress, bitmap, words, firstSlot);
    for (let taken = 0; ; ) {
      const limit = scoreMost(this.#asked, most);
      const count = path === WIDE ? kernel.gatherWide(address, limit) : kernel.gatherNarrow(address, limit, path);
      if (count === 0) return rows * strideBytes + taken * TAKEN_COST_BYTES;
      this.#take(count, region.arena, address);
      taken += count;
    }
  }

  /** What is asked about and may still come in. */
  get #asked(): WeightedBounds {
    const { weightedMost, scoreLeast } = this.#bounds;
    return { weightedMost: Math.min(weightedMost, this.#best.worst), scoreLeast };
  }

  #take(count: number, arena: Arena, scan: number): void {
    const { numbers, words } = this.#gatheredRows(arena, scan);
    for (let i = 0; i < count; i++) {
      const slot = words[6 * i + 5]!;
      const score = numbers[3 * i]!;
      if (score > this.#best.worst * this.#weights.atMost(slot) * ROUNDING) continue;
      this.#best.offer(numbers[3 * i + 1]!, slot, score, this.#weights.of(slot));
    }
  }

  #gatheredRows(arena: Arena, scan: number): GatheredRows {
    if (this.#gathered?.arena !== arena || this.#gathered.scan !== scan) {
      const at = arena.kernel.gatheredRows(scan) >>> 0;
      const sizeBytes = Math.min(BATCH_ROWS, this.most) * ENTRY_BYTES;
      this.#gathered = {
        ...{ arena, scan },
        numbers: new Float64Array(arena.buffer, at, sizeBytes / 8),
        words: new Uint32Array(arena.buffer, at, sizeBytes / 4),
      };
    }
    return this.#gathered;
  }
}

function weighted(blocks: readonly Block[], weights: Weights): WeightedBlock[] {
  return blocks.map((_, index) => ({ index, most: weights.most(index) })).sort((a, b) => b.most - a.most);
}
