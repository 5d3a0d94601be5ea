/**
 * One exact scan on several threads: blocks are taken one by one, and each thread has its own heap of the nearest rows.
 */
import type { Arena } from './arena.js';
import type { Block } from './block.js';
import { type BlockEntry, BlockTable } from './blockTable.js';
import type { PartedScan, Share } from './partedScan.js';
import type { RowChoice, ScannedRows } from './rowChoice.js';
import { type Hits, hitsOfLength, ScanScratch } from './scanScratch.js';
import { spread } from './spread.js';
import { allocateScratch, freeScratch, type Region } from './vectorMemory.js';
import { wayThrough } from './way.js';

/** Adds the nearest rows of the blocks that the share's threads have scanned. */
interface ScratchShare extends Share {
  readonly scratches: readonly ScanScratch[];
}

/**
 * A search for the nearest `capacity` of frozen rows, whose blocks several threads take one by one. Each thread keeps
 * the nearest rows of its own share. At the end they are merged, by exact distance and then by id.
 *
 * Middles and steps of the blocks' code planes stay unchanged until `free`.
 */
export class SharedScan implements PartedScan<Hits> {
  readonly arenas: readonly Arena[];
  readonly table: BlockTable;
  readonly blockCostBytes: number;
  readonly #capacity: number;
  readonly #query: Uint8Array;
  readonly #vectors: ScannedRows;
  readonly #blocks: readonly Block[];
  readonly #staged: Region[] = [];
  readonly #shares: ScratchShare[] = [];
  readonly #unused: Share[] = [];
  #working = 0;
  #hasFailed = false;
  #isFull = false;

  /**
   * `choice`: frozen, and closed after `free`. Throws `unavailable` and `capacity_exceeded` if there is not enough
   * memory.
   */
  constructor(vectors: ScannedRows, choice: RowChoice, query: Uint8Array, capacity: number) {
    this.#vectors = vectors;
    this.#query = query;
    this.#capacity = capacity;
    const chosen = [...spread(choice.endBlock)].filter((index) => !choice.isEmpty(index));
    this.#blocks = chosen.map((index) => vectors.blocks[index]!);
    this.arenas = [...new Set(this.#blocks.map(({ region }) => region.arena))];
    try {
      const first = this.#addShare();
      this.#unused.push(first);
      const reach = first.scratches[0]?.largestQueryComponent ?? 0;
      const bitmaps = this.#stage(chosen, choice);
      const entries = this.#blocks.map((block, at) => this.#entry(block, bitmaps[at]!, reach));
      this.table = BlockTable.of(entries);
    } catch (error) {
      this.#freeMemory();
      throw error;
    }
    const { strideBytes, scannedRowCost, rowsMax } = vectors.shape;
    const cost = this.#blocks.at(-1)?.planeAddress === 0 ? 1 : scannedRowCost;
    this.blockCostBytes = rowsMax * strideBytes * cost;
    for (const block of this.#blocks) block.beginRead();
  }

  get working(): number {
    return this.#working;
  }

  get hasRoom(): boolean {
    return this.table.left > 0 && !(this.#isFull && this.#unused.length === 0);
  }

  get isOver(): boolean {
    return this.#hasFailed ? this.#working === 0 : this.table.isDone;
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  enter(): Share | undefined {
    const share = this.#unused.pop() ?? this.#addShareIfRoom();
    if (share !== undefined) this.#working++;
    return share;
  }

  leave(share: Share): void {
    this.#unused.push(share);
    this.#working--;
  }

  fail(): void {
    this.#hasFailed = true;
    this.table.abandon();
  }

  result(): Hits {
    const [first, ...others] = this.#shares.flatMap(({ scratches }) => scratches);
    if (first === undefined) return hitsOfLength(0);
    for (const other of others) first.take(other);
    return first.hits();
  }

  free(): void {
    for (const block of this.#blocks) block.endRead();
    this.#freeMemory();
  }

  #freeMemory(): void {
    for (const { scratches } of this.#shares.splice(0)) for (const scratch of scratches) scratch.free();
    for (const region of this.#staged.splice(0)) freeScratch(region);
  }

  #addShareIfRoom(): Share | undefined {
    try {
      return this.#addShare();
    } catch {
      this.#isFull = true;
      return undefined;
    }
  }

  #addShare(): ScratchShare {
    const scratches: ScanScratch[] = [];
    try {
      const room = { shape: this.#vectors.shape, capacity: this.#capacity };
      for (const arena of this.arenas) scratches.push(new ScanScratch(arena, this.#query, room));
    } catch (error) {
      for (const scratch of scratches) scratch.free();
      throw error;
    }
    const share = { scratches, addresses: scratches.map(({ address }) => address) };
    this.#shares.push(share);
    return share;
  }

  /** Copies the bitmaps of the blocks to their arenas; returns their addresses. */
  #stage(chosen: readonly number[], choice: RowChoice): number[] {
    const addresses: number[] = [];
    for (const arena of this.arenas) {
      const here = [...this.#blocks.keys()].filter((at) => this.#blocks[at]!.region.arena === arena);
      const bitmaps = here.map((at) => choice.rows(chosen[at]!).words);
      const words = bitmaps.reduce((sum, { length }) => sum + length, 0);
      const region = allocateScratch(arena, words * Uint32Array.BYTES_PER_ELEMENT);
      this.#staged.push(region);
      const staged = new Uint32Array(arena.buffer, region.address, words);
      let next = 0;
      for (const [i, bitmap] of bitmaps.entries()) {
        staged.set(bitmap, next);
        addresses[here[i]!] = region.address + next * Uint32Array.BYTES_PER_ELEMENT;
        next += bitmap.length;
      }
    }
    return addresses;
  }

  #entry(block: Block, bitmap: number, largestQueryComponent: number): BlockEntry {
    const { region, vectorsAddress: vectors, idsAddress: ids, words, firstSlot } = block;
    const { plane, way } = wayThrough(this.#vectors, block, largestQueryComponent);
    return { arena: this.arenas.indexOf(region.arena), vectors, ids, bitmap, words, firstSlot, plane, way };
  }
}
