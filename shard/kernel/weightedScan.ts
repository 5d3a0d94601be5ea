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
  /** A few rows that weigh more than all others, where such are known; so as long as a scan goes on that begins now. */
  heavy(): HeavyRows | undefined;
}

export interface HeavyRows {
  /** By block, a bit for each row, laid out as `Block.live`; none where no row is heavy. */
  readonly rows: readonly (Uint32Array | undefined)[];
  /** No other row weighs more, but for what `ROUNDING` makes up for. */
  readonly othersMost: number;
}

type Rows = Uint32Array | undefined;

/** What the caller asks about; a row that is neither may be left out. */
export interface WeightedBounds {
  /** Rows whose score / weight is no larger. */
  readonly weightedMost: number;
  /** Rows whose score is no smaller: nearer ones are known, or not wanted. */
  readonly scoreLeast: number;
}

/** A block, or its heavy rows, or its others. */
interface Part {
  readonly index: number;
  readonly most: number;
  /** Only these, where given. */
  readonly within: Rows;
  /** Not these, which are of a part before. */
  readonly without: Rows;
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

/** Where other rows weigh more than this share of the heaviest, telling them apart costs more than it saves. */
const LIGHTER = 9 / 10;
/** About what reading the heavy rows of a block costs, of what reading all costs. */
const WITHIN_SHARE = 1 / 8;

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
 * Only rows within it are weighed, one by one. The blocks of the largest weights come first, since they lower it most;
 * and of blocks in which heavy rows lie among light ones, the heavy ones come before, by themselves: else one of them would
 * let through all light ones that are as near.
 */
export class WeightedScan extends SlicedScan {
  protected readonly most: number;
  protected readonly bitmapBytes: number;
  readonly #weights: Weights;
  readonly #bounds: WeightedBounds;
  readonly #best: WeightedHeap;
  /** Undefined before the first step. */
  #parts: readonly Part[] | undefined;
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
    this.#parts ??= partsOf(this.vectors.blocks, this.#weights);
    for (; this.#at < this.#parts.length; this.#at++) {
      const { index, most } = this.#parts[this.#at]!;
      if (mayHold(this.#asked, most) && !this.choice.isEmpty(index)) return index;
    }
    return undefined;
  }

  /** Blocks do not come in the order of their numbers. */
  protected override firstLeft(): number {
    return 0;
  }

  protected scanBlock(index: number, block: Block, scratch: ScanScratch, path: ScanPath): number {
    const { region, vectorsAddress, idsAddress, bitmapAddress, words, firstSlot, rows, strideBytes } = block;
    const { kernel } = region.arena;
    const part = this.#parts![this.#at++]!;
    const { address } = scratch;
    const isWhole = part.within === undefined && part.without === undefined;
    const bitmap =
      isWhole && this.choice.isAllLive(index) ? bitmapAddress : scratch.stage((into) => this.#write(part, into));
    const scannedBytes = (part.within === undefined ? 1 : WITHIN_SHARE) * rows * strideBytes;
    kernel.enterGather(address, vectorsAddress, idsAddress, bitmap, words, firstSlot);
    for (let taken = 0; ; ) {
      const limit = scoreMost(this.#asked, part.most);
      const count = path === WIDE ? kernel.gatherWide(address, limit) : kernel.gatherNarrow(address, limit, path);
      if (count === 0) return scannedBytes + taken * TAKEN_COST_BYTES;
      this.#take(count, region.arena, address);
      taken += count;
    }
  }

  #write({ index, within, without }: Part, into: Uint32Array): void {
    this.choice.write(index, into);
    if (within !== undefined) for (let i = 0; i < within.length; i++) into[i]! &= within[i]!;
    if (without !== undefined) for (let i = 0; i < without.length; i++) into[i]! &= ~without[i]!;
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

/** The heaviest rows of all blocks, where they are much heavier than the others; then the others. */
function partsOf(blocks: readonly Block[], weights: Weights): Part[] {
  const mosts = blocks.map((_, index) => weights.most(index));
  const heaviest = mosts.reduce((most, each) => Math.max(most, each), 0);
  const heavy = weights.heavy();
  const byMost = (parts: Part[]): Part[] => parts.sort((a, b) => b.most - a.most);
  const all = mosts.map((most, index): Part => ({ index, most, within: undefined, without: undefined }));
  if (heavy === undefined || heavy.othersMost > LIGHTER * heaviest) return byMost(all);
  const { rows, othersMost } = heavy;
  return [
    ...byMost(all.map((part) => ({ ...part, within: rows[part.index] })).filter(({ within }) => within !== undefined)),
    ...byMost(all.map((part) => ({ ...part, most: Math.min(part.most, othersMost), without: rows[part.index] }))),
  ];
}
