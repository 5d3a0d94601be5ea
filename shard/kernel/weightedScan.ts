/**
 * The exact scan by score / weight (time decay). Costs about 20 ns per row that the kernel lets through, and 300 ns per
 * row that enters the heap, beside the scan itself.
 */
import type { BitSet } from './bitSet.js';
import type { Block } from './block.js';
import { BATCH_ROWS } from './kernel.js';
import type { Among, ScannedRows } from './rowChoice.js';
import type { Hits, ScanScratch } from './scanScratch.js';
import { SlicedScan } from './slicedScan.js';
import type { SlotSet } from './slotSet.js';
import { TopK } from './topK.js';
import type { Way } from './way.js';

/**
 * The weights of rows, in (0, 1] and at least 2^-900. Upper bounds may be too low by rounding errors, which `ROUNDING`
 * covers.
 */
export interface Weights {
  of(slot: number): number;
  /** Upper bound of the weight at `slot`, found faster. */
  atMost(slot: number): number;
  /** Upper bound of the weights in block `index`. */
  most(index: number): number;
  /** Returns a few rows that weigh more than all others, if known. Valid for a scan that begins now. */
  heavy(): HeavyRows | undefined;
}

export interface HeavyRows {
  readonly rows: SlotSet;
  /** Upper bound of the weights of all other rows. */
  readonly othersMost: number;
}

/** Bounds of the wanted rows; others may be left out. */
export interface WeightedBounds {
  /** Largest score / weight. */
  readonly weightedMost: number;
  /** Smallest score: nearer rows are already known, or not wanted. */
  readonly scoreLeast: number;
  /** Largest score; absent for any. */
  readonly scoreMost?: number;
}

/** The rows that a scan considers, with their weights and the bounds of the wanted ones, by default none. */
export interface WeightedRows extends Among {
  readonly weights: Weights;
  readonly bounds?: WeightedBounds | undefined;
}

/** Receives the rows that a scan finds. */
export interface Collector {
  /** Bound: a row with a larger score / weight is not wanted. It may only fall. */
  readonly worst: number;
  offer(slot: number, weighted: number, score: number): void;
}

/** Equal weights: a scan by score alone. */
export const EVEN: Weights = { of: () => 1, atMost: () => 1, most: () => 1, heavy: () => undefined };

/** A block, or its heavy rows, or its other rows. */
interface Part {
  readonly index: number;
  readonly most: number;
  readonly within?: BitSet | undefined;
  /** Heavy rows to skip, since they belong to an earlier part. */
  readonly without?: BitSet | undefined;
}

const UNBOUNDED: WeightedBounds = { weightedMost: Number.POSITIVE_INFINITY, scoreLeast: 0 };

/** Cost of looking at a row that the kernel lets through: about 20 ns, in bytes that are scanned in that time. */
const TAKEN_COST_BYTES = 512;
/** Cost of a row that enters a heap of thousands: about 300 ns. */
const OFFERED_COST_BYTES = 4_096;

/** If other rows weigh more than this share of the heaviest, separating them costs more than it saves. */
const LIGHTER = 9 / 10;
/** Approximate cost of reading the heavy rows of a block, as a share of reading all. */
const WITHIN_SHARE = 1 / 8;

/**
 * Covers the rounding of four results. A power is rounded by less than a unit in the last place, but is not monotone.
 * The quotient, the product with the weight and this product are rounded once each. Together they are below 8 units of
 * 2^-53.
 */
const ROUNDING = 1 + 2 ** -48;

/** Largest score of a wanted row in a block whose largest weight is `most`. */
const scoreMostOf = ({ weightedMost, scoreMost = Number.POSITIVE_INFINITY }: WeightedBounds, most: number): number =>
  Math.min(weightedMost * most * ROUNDING, scoreMost);

/** Whether a block whose largest weight is `most` may hold a wanted row. */
export const mayHold = (bounds: WeightedBounds, most: number): boolean =>
  bounds.scoreLeast <= scoreMostOf(bounds, most);

/** Keeps the first `k` slots by score / weight (the key), then by score (the tie), then by id. */
export const topWeighted = (k: number, { idOf }: Pick<ScannedRows, 'idOf'>): TopK =>
  new TopK(k, (slot, other) => idOf(slot) < idOf(other));

export function weightedHits(best: TopK, { idOf }: Pick<ScannedRows, 'idOf'>): Hits {
  const { items: slots, ties: scores } = best.sorted();
  return { ids: Float64Array.from(slots, idOf), slots, scores };
}

/**
 * Offers the first rows by score / weight to a collector. In a block with the largest weight w, a row that precedes the
 * weighted distance D has a score of at most D * w. That is the limit for the kernel, and it falls as rows are found.
 * Only rows within it are weighed, one by one. Blocks with the largest weights come first, since they lower the limit
 * most. Heavy rows among light ones are scanned first by themselves. Otherwise one heavy row would raise the limit of
 * its block, and all light rows that are as near would pass.
 */
export class WeightedScan extends SlicedScan {
  readonly #weights: Weights;
  readonly #bounds: WeightedBounds;
  /** Undefined before the first step. */
  #parts: readonly Part[] | undefined;
  #at = 0;

  constructor(
    vectors: ScannedRows,
    query: Int32Array | Uint8Array,
    private readonly best: Collector,
    rows: WeightedRows,
  ) {
    super(vectors, query, BATCH_ROWS, rows);
    const { weights, bounds = UNBOUNDED } = rows;
    this.#weights = weights;
    this.#bounds = bounds;
  }

  protected nextBlock(): number | undefined {
    this.#parts ??= partsOf(this.vectors.blocks, this.#weights);
    for (; this.#at < this.#parts.length; this.#at++) {
      const { index, most } = this.#parts[this.#at]!;
      if (mayHold(this.#asked, most) && !this.choice.isEmpty(index)) return index;
    }
    return undefined;
  }

  protected scanBlock(index: number, block: Block, scratch: ScanScratch, { plane, way, cost }: Way): number {
    const { region, vectorsAddress, idsAddress, words, firstSlot, rows, strideBytes } = block;
    const { kernel } = region.arena;
    const { most, within, without } = this.#parts![this.#at++]!;
    let chosen = this.choice.rows(index);
    if (within !== undefined || without !== undefined) chosen = chosen.clone();
    if (within !== undefined) chosen.intersect(within);
    if (without !== undefined) chosen.subtract(without);
    const bitmap = chosen === block.live ? block.bitmapAddress : scratch.stage(chosen);
    const scannedBytes = (within === undefined ? 1 : WITHIN_SHARE) * rows * strideBytes * cost;
    kernel.enterGather(scratch.address, vectorsAddress, idsAddress, bitmap, words, firstSlot, plane, way);
    for (let takenBytes = 0; ; ) {
      const count = kernel.gatherRows(scratch.address, scoreMostOf(this.#asked, most));
      if (count === 0) return scannedBytes + takenBytes;
      takenBytes += count * TAKEN_COST_BYTES + this.#take(count, scratch) * OFFERED_COST_BYTES;
    }
  }

  /** Bounds of the rows that are wanted and may still enter. */
  get #asked(): WeightedBounds {
    return { ...this.#bounds, weightedMost: Math.min(this.#bounds.weightedMost, this.best.worst) };
  }

  /** Offers gathered rows, and returns how many were offered. */
  #take(count: number, scratch: ScanScratch): number {
    const { numbers, words } = scratch.entries();
    const weights = this.#weights;
    let offered = 0;
    for (let i = 0; i < count; i++) {
      const slot = words[6 * i + 5]!;
      const score = numbers[3 * i]!;
      if (score > this.best.worst * weights.atMost(slot) * ROUNDING) continue;
      this.best.offer(slot, score / weights.of(slot), score);
      offered++;
    }
    return offered;
  }
}

/** Returns the heaviest rows of all blocks first, if they are much heavier than the others; then the others. */
function partsOf(blocks: readonly Block[], weights: Weights): Part[] {
  const all = blocks.map((_, index): Part => ({ index, most: weights.most(index) }));
  const heaviest = all.reduce((most, part) => Math.max(most, part.most), 0);
  const heavy = weights.heavy();
  const byMost = (parts: Part[]): Part[] => parts.sort((a, b) => b.most - a.most);
  if (heavy === undefined || heavy.othersMost > LIGHTER * heaviest) return byMost(all);
  const heavyIn = ({ index }: Part): BitSet | undefined => heavy.rows.bitmap(index);
  return [
    ...byMost(all.map((part) => ({ ...part, within: heavyIn(part) })).filter(({ within }) => within !== undefined)),
    ...byMost(all.map((part) => ({ ...part, most: Math.min(part.most, heavy.othersMost), without: heavyIn(part) }))),
  ];
}
