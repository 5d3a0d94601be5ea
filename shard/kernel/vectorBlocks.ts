/**
 * The vectors of one collection: rows of i32 components (Q16.16 fixed point) in blocks that never move; `blockShape.ts`
 * has their layout. A slot is the number of a row, and is reused.
 *
 * ```text
 * acquire ──► write ──► publish ──► live ──► retire ──► kept, but not found
 *    ▲                               │                    │
 *    └────────── erased ◄────────────┴────── release ─────┘
 * ```
 *
 * The rows of a full block are split (`rowForm.ts`) to take less memory. They do not change, except that they are
 * erased. If a quarter is erased and room is needed, the block is plain again, and its erased slots can be acquired.
 */
import { assertWhole } from '../../shared/model/whole.js';
import { ascending } from './ascending.js';
import { Block } from './block.js';
import { BlockShape, narrowReach } from './blockShape.js';
import { CollectionMemory } from './collectionMemory.js';
import { ExactScan } from './exactScan.js';
import { ListedScan } from './listedScan.js';
import { type Among, RowChoice, type ScannedRows } from './rowChoice.js';
import { type RowsPlace, RowTable } from './rowTable.js';
import type { Hits } from './scanScratch.js';
import type { ScanThreads } from './scanThreads.js';
import type { SlicedScan } from './slicedScan.js';
import { SlotReuse } from './slotReuse.js';
import type { SlotSet } from './slotSet.js';
import type { BlockMemory } from './vectorMemory.js';
import { type Collector, topWeighted, type WeightedRows, WeightedScan, weightedHits } from './weightedScan.js';

const COMPONENT_BYTES = 4;

/** Part of the rows of a block that must be erased before it is worth to make the others plain. */
const ERASED_MIN = 1 / 4;

/** If fewer than one in this many rows is eligible, reading a list of them takes less time than the bitmap of each block. */
const LISTED_SPARSE = 8;

/** A search in steps; always closed. */
type SteppedScan = Pick<SlicedScan, 'step' | 'close'>;

const hitsOf = (scan: SlicedScan | ListedScan): Hits => scan.hits();

async function finished<Scan extends SteppedScan, Result>(
  scan: Scan,
  pause: () => Promise<void>,
  result: (scan: Scan) => Result,
): Promise<Result> {
  try {
    while (!scan.step()) await pause();
    return result(scan);
  } finally {
    scan.close();
  }
}

/** Finishes the scan on all free threads. Falls back to this thread if memory is short or a thread dies. */
async function finishedByThreads(scan: ExactScan, threads: ScanThreads, pause: () => Promise<void>): Promise<Hits> {
  try {
    return (await threads.run(scan)) ?? (await finished(scan, pause, hitsOf));
  } finally {
    scan.close();
  }
}

/** Slots of live rows in any order; repeated slots and slots without a row are ignored. */
export interface Candidates {
  readonly slots: Uint32Array;
  readonly eligible?: SlotSet | undefined;
}

/** Consecutive rows in memory that every thread sees. */
export interface RowPlaces {
  readonly buffer: SharedArrayBuffer;
  readonly vectorsAddress: number;
  readonly idsAddress: number;
  readonly strideBytes: number;
  readonly rows: number;
}

/** The vectors of one collection, and the scans over them. */
export class VectorBlocks implements ScannedRows {
  readonly shape: BlockShape;
  readonly memory: CollectionMemory;
  readonly narrowReach: number;
  readonly #blocks: Block[] = [];
  readonly #reuse = new SlotReuse((slot) => this.#blockOf(slot).erase(slot - this.#blockOf(slot).firstSlot));
  /** Full blocks whose codes other threads read. */
  readonly #unsplit = new Set<Block>();
  /** The first slot that was never used. */
  #nextSlot = 0;
  #capacity = 0;
  #liveCount = 0;
  /** Undefined if a block was added, or a component was written that is larger than those before in its block. */
  #place: RowsPlace | undefined;
  #destroyed = false;

  /** Takes no vector memory before the first row. */
  constructor(
    memory: BlockMemory,
    readonly dimension: number,
  ) {
    this.memory = new CollectionMemory(memory);
    this.shape = new BlockShape(dimension);
    this.narrowReach = narrowReach(dimension);
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  get liveCount(): number {
    return this.#liveCount;
  }

  /** End of the used slots: every slot is below it. */
  get slots(): number {
    return this.#nextSlot;
  }

  /** Bytes of vector memory in use. */
  get bytes(): number {
    return this.#blocks.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Ensures that the next `count` calls of `acquire` succeed. Throws `capacity_exceeded`. */
  reserve(count: number): void {
    assertWhole(count);
    while (this.#reuse.freeCount + this.#capacity - this.#nextSlot < count) this.#addRoom();
  }

  /** A slot for a new row, to be written next. Throws `capacity_exceeded`. */
  acquire(): number {
    const reused = this.#reuse.take();
    if (reused !== undefined) return reused;
    this.reserve(1);
    return this.#reuse.take() ?? this.#nextSlot++;
  }

  /**
   * Acquires `count` consecutive slots for rows that any thread writes in place, and returns the first. `wrote` must
   * follow. Only for a collection in which no slot was ever released. Throws `capacity_exceeded`.
   */
  acquireRows(count: number): number {
    this.reserve(count);
    this.#nextSlot += count;
    return this.#nextSlot - count;
  }

  /** Returns the places of the rows from `slot` on, block by block. */
  places(slot: number, count: number): RowPlaces[] {
    return [...this.#blocksFrom(slot, count)].map(({ block, row, rows }) => ({
      buffer: block.region.arena.buffer,
      vectorsAddress: block.vectorsAddress + row * block.strideBytes,
      idsAddress: block.idsAddress + row * Float64Array.BYTES_PER_ELEMENT,
      strideBytes: block.strideBytes,
      rows,
    }));
  }

  /** Records that the rows from `slot` on are written: vectors, zeros up to the stride, and ids. */
  wrote(slot: number, count: number): void {
    for (const { block, row, rows } of this.#blocksFrom(slot, count)) {
      const { largestComponent } = block;
      block.wrote(row, rows);
      if (block.largestComponent > largestComponent) this.#place = undefined;
      this.#split(block);
    }
  }

  /**
   * Writes a row that searches cannot find yet. `vector`: the little-endian bytes of the components, at any alignment.
   */
  write(slot: number, id: number, vector: Uint8Array): void {
    const block = this.#blockOf(slot);
    const row = slot - block.firstSlot;
    if (vector.length !== this.dimension * COMPONENT_BYTES) throw new Error(`a vector of ${vector.length} bytes`);
    if (block.live.has(row)) throw new Error(`slot ${slot} is live`);
    const { largestComponent } = block;
    block.write(row, id, vector);
    if (block.largestComponent > largestComponent) this.#place = undefined;
    this.#split(block);
  }

  publish(slot: number): void {
    this.#setLive(slot, true);
  }

  /** Hides the row from scans and keeps its vector. */
  retire(slot: number): void {
    this.#setLive(slot, false);
  }

  /** Hides the row from scans. Once no running scan can read it, its vector is erased and its slot reused. */
  release(slot: number): void {
    this.#setLive(slot, false);
    this.#reuse.release(slot);
  }

  /** Returns a copy of the vector of a live or retired row. */
  vectorBytes(slot: number): Uint8Array {
    return this.vectorView(slot).slice();
  }

  /** Returns a view of the vector. Use it before the next call or write. */
  vectorView(slot: number): Uint8Array {
    const block = this.#blockOf(slot);
    return block.vectorView(slot - block.firstSlot);
  }

  /** Returns the components of a row. Use them before the next call or write. */
  components(slot: number): Int32Array {
    const { buffer, byteOffset } = this.vectorView(slot);
    return new Int32Array(buffer, byteOffset, this.dimension);
  }

  readonly idOf = (slot: number): number => {
    const block = this.#blockOf(slot);
    return block.ids[slot - block.firstSlot]!;
  };

  isLive(slot: number): boolean {
    const block = this.#blockOf(slot);
    return block.live.has(slot - block.firstSlot);
  }

  /** Where all rows are, for any thread. */
  get place(): RowsPlace {
    if (this.#place !== undefined) return this.#place;
    const arenas = [...new Set(this.#blocks.map(({ region }) => region.arena))];
    this.#place = { arenas, table: RowTable.of(this.#blocks, this.shape, arenas) };
    return this.#place;
  }

  /**
   * Finds the `k` rows nearest to `query` (components, or their little-endian bytes) among the live rows or `among`, as
   * of the call. A small collection is searched before this returns. A large one is searched by the process' threads.
   * Without threads it is searched in slices of about 1 ms, with `pause` awaited between them.
   */
  search(query: Int32Array | Uint8Array, k: number, pause: () => Promise<void>, among: Among = {}): Promise<Hits> {
    const scan = new ExactScan(this, query, k, among);
    const { threads } = this.memory;
    if (threads?.takes(scan)) return finishedByThreads(scan, threads, pause);
    const sparse = this.#sparseIn(among);
    if (sparse === undefined) return finished(scan, pause, hitsOf);
    return finished(new ListedScan(this, query, k, sparse.listed), pause, hitsOf);
  }

  /** Searches by score / weight, then by score, then by id. Leaves out most rows outside the bounds. */
  searchWeighted(
    query: Int32Array | Uint8Array,
    k: number,
    rows: WeightedRows,
    pause: () => Promise<void>,
  ): Promise<Hits> {
    const best = topWeighted(Math.min(k, new RowChoice(this, rows).most), this);
    const scan = new WeightedScan(this, query, best, rows);
    return finished(scan, pause, () => weightedHits(best, this));
  }

  /** Offers rows by score / weight to a collector, which chooses among them. */
  gather(
    query: Int32Array | Uint8Array,
    collector: Collector,
    rows: WeightedRows,
    pause: () => Promise<void>,
  ): Promise<void> {
    return finished(new WeightedScan(this, query, collector, rows), pause, () => undefined);
  }

  /** Finds the nearest `k` of the candidates. */
  rank(
    query: Int32Array | Uint8Array,
    k: number,
    { slots, eligible }: Candidates,
    pause: () => Promise<void>,
  ): Promise<Hits> {
    const chosen = eligible === undefined ? slots : slots.filter((slot) => eligible.has(slot));
    return finished(new ListedScan(this, query, k, ascending(chosen)), pause, hitsOf);
  }

  /** `isFrozen`: the scan reads only rows of which it knows the place when this returns, where they are then. */
  beginScan(isFrozen = false): number {
    return this.#reuse.beginScan(isFrozen);
  }

  endScan(scan: number): void {
    this.#reuse.endScan(scan);
    const [block] = this.#unsplit;
    if (this.#destroyed) this.#free();
    else if (block !== undefined) this.#split(block);
  }

  /** Frees all memory when the running scans have ended. Call nothing else afterwards. */
  destroy(): void {
    this.#destroyed = true;
    this.#free();
  }

  /** Returns the eligible rows if they are few and nothing else restricts the search. */
  #sparseIn({ eligible, except, within, only }: Among): SlotSet | undefined {
    if (except !== undefined || within !== undefined || only !== undefined) return undefined;
    return eligible !== undefined && eligible.count * LISTED_SPARSE < this.#liveCount ? eligible : undefined;
  }

  #free(): void {
    if (this.#reuse.isRead) return;
    for (const block of this.#blocks.splice(0)) block.free();
  }

  /** Splits the rows of a block if it is full. */
  #split(block: Block): void {
    this.#unsplit.delete(block);
    if (!block.isSplittable) return;
    if (!block.split()) this.#unsplit.add(block);
    this.#place = undefined;
  }

  #addRoom(): void {
    if (this.#destroyed) throw new Error('the collection has been destroyed');
    if (!this.#joinErased()) this.#addBlock();
  }

  #addBlock(): void {
    const before = this.#blocks.findLast(({ planeAddress }) => planeAddress !== 0);
    const { memory } = this;
    const block = new Block(this.shape, this.#blocks.length, { memory, reuse: this.#reuse }, before);
    this.#blocks.push(block);
    this.#place = undefined;
    this.#capacity += block.rows;
  }

  /** Makes the rows plain in the block with most erased ones. Returns false if there are too few, or memory is short. */
  #joinErased(): boolean {
    let most: Block | undefined;
    for (const block of this.#blocks) if (block.erasedCount > (most?.erasedCount ?? 0)) most = block;
    if (most === undefined || most.erasedCount < ERASED_MIN * most.rows) return false;
    const rows = most.join();
    if (rows === undefined) return false;
    this.#reuse.offer(rows.map((row) => most.firstSlot + row));
    this.#place = undefined;
    return true;
  }

  *#blocksFrom(slot: number, count: number): Generator<{ block: Block; row: number; rows: number }> {
    for (let at = slot; at < slot + count; ) {
      const block = this.#blockOf(at);
      const row = at - block.firstSlot;
      const rows = Math.min(block.rows - row, slot + count - at);
      yield { block, row, rows };
      at += rows;
    }
  }

  #setLive(slot: number, live: boolean): void {
    const block = this.#blockOf(slot);
    const row = slot - block.firstSlot;
    if (live && block.live.add(row)) this.#liveCount++;
    if (!live && block.live.delete(row)) this.#liveCount--;
  }

  #blockOf(slot: number): Block {
    const block = this.#blocks[this.shape.blockOf(slot)];
    if (block === undefined) throw new Error(`no row has slot ${slot}`);
    return block;
  }
}
