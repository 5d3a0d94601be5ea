import { ascending } from './ascending.js';
import { Block } from './block.js';
import { BlockShape } from './blockShape.js';
import { ExactScan } from './exactScan.js';
import { ListedScan } from './listedScan.js';
import type { Among } from './rowChoice.js';
import { narrowReach } from './scanPath.js';
import type { Hits } from './scanScratch.js';
import type { SlicedScan } from './slicedScan.js';
import { SlotReuse } from './slotReuse.js';
import { SlotSet } from './slotSet.js';
import type { VectorMemory } from './vectorMemory.js';
import type { WeightedHits } from './weightedHeap.js';
import { type WeightedBounds, WeightedScan, type Weights } from './weightedScan.js';

const COMPONENT_BYTES = 4;

async function finished<S extends SlicedScan>(scan: S, pause: () => Promise<void>): Promise<ReturnType<S['hits']>> {
  try {
    while (!scan.step()) await pause();
    return scan.hits() as ReturnType<S['hits']>;
  } finally {
    scan.close();
  }
}

/** Rows that lie one after another in a memory that every thread sees. */
export interface RowPlaces {
  readonly buffer: SharedArrayBuffer;
  readonly vectorsAddress: number;
  readonly idsAddress: number;
  readonly strideBytes: number;
  readonly rows: number;
}

/**
 * The vectors of one collection: rows of Q16.16 components in blocks that never move. A slot is a row's number, small
 * and reused.
 *
 *   acquire ──► write ──► publish ──► live ──► retire ──► kept, but not found
 *      ▲                               │                    │
 *      └────────── erased ◄────────────┴────── release ─────┘
 */
export class VectorBlocks {
  readonly shape: BlockShape;
  /** The largest sum of components' magnitudes that the kernel's narrow way takes; see `scanPath.ts`. */
  readonly narrowReach: number;
  readonly #blocks: Block[] = [];
  readonly #reuse = new SlotReuse((slot) => this.#blockOf(slot).erase(slot - this.#blockOf(slot).firstSlot));
  /** Slots from here on were never used. */
  #nextSlot = 0;
  #capacity = 0;
  #liveCount = 0;
  #destroyed = false;

  /** Takes no vector memory before the first row. */
  constructor(
    readonly memory: VectorMemory,
    readonly dimension: number,
  ) {
    this.shape = new BlockShape(dimension);
    this.narrowReach = narrowReach(dimension);
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  get liveCount(): number {
    return this.#liveCount;
  }

  /** Vector memory held. */
  get bytes(): number {
    return this.#blocks.reduce((sum, { region }) => sum + region.sizeBytes, 0);
  }

  /** Makes the next `count` calls of `acquire` succeed. Throws `capacity_exceeded`. */
  reserve(count: number): void {
    while (this.#reuse.freeCount + this.#capacity - this.#nextSlot < count) this.#addBlock();
  }

  /** A slot for a new row, to be written next. Throws `capacity_exceeded`. */
  acquire(): number {
    const reused = this.#reuse.take();
    if (reused !== undefined) return reused;
    this.reserve(1);
    return this.#nextSlot++;
  }

  /**
   * Slots for `count` new rows, one after another, while none was ever released: for rows that are written in place, by
   * whichever thread, and then told of by `wrote`. Returns the first. Throws `capacity_exceeded`.
   */
  acquireRows(count: number): number {
    this.reserve(count);
    this.#nextSlot += count;
    return this.#nextSlot - count;
  }

  /** Where the rows from `slot` on lie, block by block. */
  places(slot: number, count: number): RowPlaces[] {
    return this.#blocksFrom(slot, count).map(({ block, row, rows }) => ({
      buffer: block.region.arena.buffer,
      vectorsAddress: block.vectorsAddress + row * block.strideBytes,
      idsAddress: block.idsAddress + row * Float64Array.BYTES_PER_ELEMENT,
      strideBytes: block.strideBytes,
      rows,
    }));
  }

  /** The rows from `slot` on are written: vectors, zeros up to the stride, and ids. */
  wrote(slot: number, count: number): void {
    for (const { block, row, rows } of this.#blocksFrom(slot, count)) block.wrote(row, rows);
  }

  /** `vector`: the little-endian bytes of the components, at any alignment. The row cannot be found yet. */
  write(slot: number, id: number, vector: Uint8Array): void {
    const block = this.#blockOf(slot);
    const row = slot - block.firstSlot;
    if (vector.length !== this.dimension * COMPONENT_BYTES) throw new Error(`a vector of ${vector.length} bytes`);
    if (block.isLive(row)) throw new Error(`slot ${slot} is live`);
    block.write(row, id, vector);
  }

  publish(slot: number): void {
    this.#setLive(slot, true);
  }

  /** The row is not found any more; its vector is kept. */
  retire(slot: number): void {
    this.#setLive(slot, false);
  }

  /** The row is not found any more; its vector is erased and its slot reused when no scan under way can read it. */
  release(slot: number): void {
    this.#setLive(slot, false);
    this.#reuse.release(slot);
  }

  /** A copy, of live and retired rows. */
  vectorBytes(slot: number): Uint8Array {
    const block = this.#blockOf(slot);
    return block.vectorBytes(slot - block.firstSlot, this.dimension * COMPONENT_BYTES);
  }

  idOf(slot: number): number {
    const block = this.#blockOf(slot);
    return block.ids[slot - block.firstSlot]!;
  }

  isLive(slot: number): boolean {
    const block = this.#blockOf(slot);
    return block.isLive(slot - block.firstSlot);
  }

  /** An empty set of this collection's slots. */
  slotSet(): SlotSet {
    return new SlotSet(this.shape);
  }

  /**
   * The `k` rows nearest to `query` (components, or their little-endian bytes), of all that live or those that `among`
   * names. A small collection is searched before this returns; a large one in slices of about 2 ms, with `pause` awaited
   * between them, and as it was at the call.
   */
  search(query: Int32Array | Uint8Array, k: number, pause: () => Promise<void>, among: Among = {}): Promise<Hits> {
    return finished(new ExactScan(this, query, k, among), pause);
  }

  /**
   * As `search`, by score / weight, then by score, then by id. `bounds`: rows that the caller does not ask about may be
   * left out, and most of them are.
   */
  searchWeighted(
    query: Int32Array | Uint8Array,
    k: number,
    weights: Weights,
    pause: () => Promise<void>,
    among: Among = {},
    bounds?: WeightedBounds,
  ): Promise<WeightedHits> {
    return finished(new WeightedScan(this, query, k, weights, among, bounds), pause);
  }

  /**
   * As `search`, of the live rows among `slots`, which may come in any order, more than once, and hold no row. Costs
   * what the rows cost, however many others there are.
   */
  rank(
    query: Int32Array | Uint8Array,
    k: number,
    slots: Uint32Array,
    pause: () => Promise<void>,
    eligible?: SlotSet,
  ): Promise<Hits> {
    return finished(new ListedScan(this, query, k, ascending(slots), eligible), pause);
  }

  /** Until `endScan` is called with the number returned, no row that is there now is overwritten. */
  beginScan(): number {
    return this.#reuse.beginScan();
  }

  endScan(scan: number): void {
    this.#reuse.endScan(scan);
    if (this.#destroyed) this.#giveBack();
  }

  /** Gives all memory back, when the scans under way have ended. Nothing else may be called afterwards. */
  destroy(): void {
    this.#destroyed = true;
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#reuse.isRead) return;
    for (const { region } of this.#blocks.splice(0)) this.memory.freeBlock(region);
  }

  #addBlock(): void {
    if (this.#destroyed) throw new Error('the collection has been destroyed');
    const block = new Block(this.memory, this.shape, this.#blocks.length);
    this.#blocks.push(block);
    this.#capacity += block.rows;
  }

  #blocksFrom(slot: number, count: number): { block: Block; row: number; rows: number }[] {
    const parts: { block: Block; row: number; rows: number }[] = [];
    for (let at = slot; at < slot + count; ) {
      const block = this.#blockOf(at);
      const row = at - block.firstSlot;
      const rows = Math.min(block.rows - row, slot + count - at);
      parts.push({ block, row, rows });
      at += rows;
    }
    return parts;
  }

  #setLive(slot: number, live: boolean): void {
    const block = this.#blockOf(slot);
    this.#liveCount -= block.liveCount;
    block.setLive(slot - block.firstSlot, live);
    this.#liveCount += block.liveCount;
  }

  #blockOf(slot: number): Block {
    const block = this.#blocks[this.shape.blockOf(slot)];
    if (block === undefined) throw new Error(`there is no slot ${slot}`);
    return block;
  }
}
