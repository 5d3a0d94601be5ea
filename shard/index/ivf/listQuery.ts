/**
 * Compares a query with the rows of inverted lists. First sign codes (64 dimensions and more) exclude rows by an estimate of
 * the distance, then byte codes by a proven bound. The caller measures the rows that are left.
 */
import type { BlockShape } from '../../kernel/blockShape.js';
import { BATCH_ROWS, ESTIMATE_SPARE_BYTES, FOUND_BYTES } from '../../kernel/kernel.js';
import { aligned } from '../../kernel/movingScratch.js';
import { ScanScratch, type ScratchRoom, scanScratchBytes } from '../../kernel/scanScratch.js';
import { signQueryBytes, writeSignQuery } from '../../kernel/signCodes.js';
import type { ScratchArena, ScratchRegion } from '../../kernel/vectorMemory.js';
import type { ChunkMemory } from './chunkMemory.js';
import { FoundRows } from './foundRows.js';

/** Rows per call of the kernel until k rows are found: until then, it excludes no row. */
const ROWS_AT_FIRST = 64;
/** Number of found rows at which those too far are first removed. Later this happens when the rest has doubled. */
const THINNED_MIN = 4096;

/** Rows per call of the kernel with sign codes, which exclude most of them. */
const ROWS_BY_SIGNS = 4 * BATCH_ROWS;
const BITMAP_BYTES = ROWS_BY_SIGNS / 8;
/** Memory for the rows that a call finds, and behind them for estimates. */
const ROOM_BYTES = ROWS_BY_SIGNS * FOUND_BYTES + ESTIMATE_SPARE_BYTES;

/**
 * Standard errors by which an estimate must be too far to exclude a row. One estimate in twenty has a greater error, and few of
 * those rows are among the nearest.
 */
const ERRORS = 1.6;

/** Facts about the collection that a query needs. */
export interface QueriedRows {
  readonly shape: BlockShape;
  readonly narrowReach: number;
}

/** A set of slots. */
export interface Slots {
  has(slot: number): boolean;
}

/** Returns the bytes of scratch that a query needs in an arena. */
export const listScratchBytes = (arena: ScratchArena, k: number, shape: BlockShape, hasSigns: boolean): number =>
  scanScratchBytes(arena, k, shape) +
  (hasSigns ? aligned(signQueryBytes(shape.dimension)) : 0) +
  ROOM_BYTES +
  BITMAP_BYTES;

/** A query for the nearest `k` rows of the chunks that are given to `scan`. Always call `free`. */
export class ListQuery {
  readonly #query: Uint8Array;
  readonly #found = new FoundRows();
  #scratch: ListScratch | undefined;
  /** Number of rows that were not excluded: all rows compared, until there are k. */
  #seen = 0;
  /** Number of found rows at which those too far are next removed. */
  #thinAt = THINNED_MIN;

  /** `k`: at least 1. `rotated`: the query, rotated for sign codes; undefined to compare without them. */
  constructor(
    query: Int32Array,
    private readonly k: number,
    private readonly rows: QueriedRows,
    private readonly rotated: Float32Array | undefined,
  ) {
    this.#query = new Uint8Array(query.buffer, query.byteOffset, query.byteLength);
  }

  /** Whether k rows were compared. */
  get isFull(): boolean {
    return this.#seen >= this.k;
  }

  /**
   * Compares rows of the chunk from `position` on, optionally only those in `eligible`. Returns the position behind them, for
   * the next call. Begin each chunk at 0: the kernel reads whole words of bitmaps, and cannot begin at any position.
   */
  scan(chunk: ChunkMemory, position: number, eligible: Slots | undefined): number {
    const most = this.rotated === undefined ? BATCH_ROWS : ROWS_BY_SIGNS;
    const rows = Math.min(this.isFull ? most : ROWS_AT_FIRST, chunk.end - position);
    const scratch = this.#scratchIn(chunk.arena);
    if (!chunk.hasCodes || chunk.largestComponent + scratch.largestQueryComponent > this.rows.narrowReach)
      this.#takeAll(chunk, position, rows, eligible);
    else this.#takeNear(chunk, position, rows, eligible);
    return position + rows;
  }

  /** Returns all rows that may be among the nearest `k`. Call it once. */
  slots(): Uint32Array {
    if (this.#scratch !== undefined) this.#found.keepWithin(this.#scratch.worst);
    return this.#found.slots();
  }

  free(): void {
    this.#scratch?.free();
    this.#scratch = undefined;
  }

  /** Takes the rows that codes do not exclude. */
  #takeNear(chunk: ChunkMemory, position: number, rows: number, eligible: Slots | undefined): void {
    const scratch = this.#scratch!;
    const bitmap =
      eligible === undefined ? chunk.places.bitmap : scratch.stageEligible(chunk.slots, position, rows, eligible);
    const count = scratch.scanList(chunk, bitmap, position, rows);
    const { numbers, words } = scratch.found;
    for (let at = 0; at < count; at++) this.#found.add(words[4 * at + 2]!, numbers[2 * at]!);
    this.#seen += count;
    if (this.#found.count < this.#thinAt) return;
    this.#found.keepWithin(scratch.worst);
    this.#thinAt = Math.max(THINNED_MIN, 2 * this.#found.count);
  }

  /** Takes all rows, since they or the query cannot have codes. */
  #takeAll({ slots, used }: ChunkMemory, position: number, rows: number, eligible: Slots | undefined): void {
    for (let at = position; at < position + rows; at++) {
      if (!used.has(at) || eligible?.has(slots[at]!) === false) continue;
      this.#found.add(slots[at]!, 0);
      this.#seen++;
    }
  }

  #scratchIn(arena: ScratchArena): ListScratch {
    this.#scratch?.moveTo(arena);
    this.#scratch ??= new ListScratch(arena, this.#query, this.rotated, { shape: this.rows.shape, capacity: this.k });
    return this.#scratch;
  }
}

interface FoundViews {
  readonly region: ScratchRegion;
  /** Rows found, as f64. */
  readonly numbers: Float64Array;
  /** Rows found, as u32. */
  readonly words: Uint32Array;
}

/** The scratch of a scan, then the query for sign codes, the rows found by a call of the kernel, and a bitmap. */
class ListScratch extends ScanScratch {
  readonly comparesSigns: boolean;
  #found: FoundViews | undefined;
  /** Chunk for whose centroid the query for sign codes is prepared. */
  #entered: ChunkMemory | undefined;

  constructor(arena: ScratchArena, query: Uint8Array, rotated: Float32Array | undefined, room: ScratchRoom) {
    super(arena, query, {
      ...room,
      movedBytes: rotated === undefined ? 0 : signQueryBytes(room.shape.dimension),
      roomBytes: ROOM_BYTES + BITMAP_BYTES,
    });
    this.comparesSigns = rotated !== undefined;
    if (rotated !== undefined) writeSignQuery(arena.buffer, this.movedAddress, rotated);
  }

  get found(): FoundViews {
    const { region } = this;
    if (this.#found?.region !== region) {
      const { buffer } = region.arena;
      const numbers = new Float64Array(buffer, this.roomAddress, ROOM_BYTES / 8);
      const words = new Uint32Array(buffer, this.roomAddress, ROOM_BYTES / 4);
      this.#found = { region, numbers, words };
    }
    return this.#found;
  }

  /** Squared distance of the k-th nearest row so far: a farther one is not among the nearest. */
  get worst(): number {
    return this.region.arena.kernel.worstDistance(this.address);
  }

  scanList(chunk: ChunkMemory, bitmap: number, first: number, rows: number): number {
    const { kernel } = this.region.arena;
    const { plane, slots, signs, centroid } = chunk.places;
    const { address, roomAddress } = this;
    if (!this.comparesSigns) return kernel.scanList(address, plane, slots, bitmap, first, rows, roomAddress);
    const query = this.movedAddress;
    if (this.#entered !== chunk) kernel.enterSigns(query, centroid, ERRORS);
    this.#entered = chunk;
    return kernel.scanListBySigns(address, plane, slots, bitmap, first, rows, roomAddress, query, signs);
  }

  /**
   * Writes a bitmap of the eligible rows. Returns the address that the bitmap of the whole chunk would have; only its bits
   * from `first` on, a multiple of 64, are there.
   */
  stageEligible(slots: Uint32Array, first: number, rows: number, eligible: Slots): number {
    const address = this.roomAddress + ROOM_BYTES;
    const words = new Uint32Array(this.region.arena.buffer, address, BITMAP_BYTES / 4).fill(0);
    for (let at = 0; at < rows; at++) if (eligible.has(slots[first + at]!)) words[at >>> 5]! |= 1 << (at & 31);
    return address - first / 8;
  }
}
