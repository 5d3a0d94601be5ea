/** The scratch of an exact scan, as `assembly/scan.ts` lays it out, and its results: 24 bytes per entry of the heap. */
import { type BlockShape, bitmapBytesOf } from './blockShape.js';
import { BATCH_ROWS, ENTRY_BYTES, type Kernel } from './kernel.js';
import { aligned, MovingScratch } from './movingScratch.js';
import type { ScratchArena, ScratchRegion } from './vectorMemory.js';

/** The rows found, nearest first; equal scores by id. `scores`: exact squared L2 distances, rounded once to f64. */
export interface Hits {
  readonly ids: Float64Array;
  readonly slots: Uint32Array;
  readonly scores: Float64Array;
}

export const hitsOfLength = (count: number): Hits => ({
  ids: new Float64Array(count),
  slots: new Uint32Array(count),
  scores: new Float64Array(count),
});

interface ScratchViews {
  readonly region: ScratchRegion;
  /** The kernel's list of rows to consider. */
  readonly rowList: Uint32Array;
  /** Entries, viewed as f64 and as u32. */
  readonly numbers: Float64Array;
  readonly words: Uint32Array;
}

/** Returns the bytes of a scratch without room behind the scan. */
export const scanScratchBytes = ({ kernel }: ScratchArena, capacity: number, { strideBytes }: BlockShape): number =>
  aligned(kernel.scanBytes(capacity, strideBytes));

/** Room for a scan: its rows, and the bytes behind them. */
export interface ScratchRoom {
  readonly shape: BlockShape;
  /** Largest number of rows to find. */
  readonly capacity: number;
  /** Bytes behind the scan that move with it; none by default. */
  readonly movedBytes?: number;
  /** Bytes of the room, by default those of a block's bitmap. */
  readonly roomBytes?: number;
}

/** The scratch of a search: its query and the nearest rows so far. */
export class ScanScratch extends MovingScratch {
  readonly largestQueryComponent: number;
  readonly #capacity: number;
  readonly #scanBytes: number;
  #views: ScratchViews | undefined;

  /** `query`: the little-endian bytes of the components. */
  constructor(arena: ScratchArena, query: Uint8Array, room: ScratchRoom) {
    const { shape, capacity, movedBytes = 0, roomBytes = bitmapBytesOf(shape.rowsMax) } = room;
    // The kernel would read a negative number as a large one, and write beyond its memory.
    if (!(Number.isInteger(capacity) && capacity >= 0)) throw new RangeError(`a heap of ${capacity} entries`);
    const { strideBytes } = shape;
    const scanBytes = aligned(arena.kernel.scanBytes(capacity, strideBytes));
    super(arena, scanBytes + movedBytes, roomBytes);
    this.#capacity = capacity;
    this.#scanBytes = scanBytes;
    const at = arena.kernel.beginScan(this.address, capacity, strideBytes) >>> 0;
    const row = new Uint8Array(arena.buffer, at, strideBytes);
    row.set(query);
    row.fill(0, query.length);
    this.largestQueryComponent = arena.kernel.largestComponent(at, strideBytes) >>> 0;
  }

  /** Address of the bytes behind the scan that move with it. */
  protected get movedAddress(): number {
    return this.address + this.#scanBytes;
  }

  /** Views of the scratch, valid until it moves. */
  get views(): ScratchViews {
    const { region } = this;
    if (this.#views?.region !== region) {
      const { kernel, buffer } = region.arena;
      const entries = kernel.entries(region.address) >>> 0;
      this.#views = {
        region,
        rowList: new Uint32Array(buffer, kernel.rowList(region.address) >>> 0, BATCH_ROWS),
        numbers: new Float64Array(buffer, entries, (this.#capacity * ENTRY_BYTES) / 8),
        words: new Uint32Array(buffer, entries, (this.#capacity * ENTRY_BYTES) / 4),
      };
    }
    return this.#views;
  }

  /** The kernel over the memory that the scratch is in. */
  get kernel(): Kernel {
    return this.region.arena.kernel;
  }

  /** Adds the nearest rows of another search for the same query. That search's scratch may move. */
  take(other: ScanScratch): void {
    const { arena } = this.region;
    other.moveTo(arena);
    arena.kernel.mergeScan(this.address, other.address);
  }

  /** Sorts the nearest rows and ends the scan. */
  hits(): Hits {
    const { numbers, words } = this.views;
    const count = this.region.arena.kernel.finishScan(this.address);
    const hits = hitsOfLength(count);
    for (let i = 0; i < count; i++) {
      hits.scores[i] = numbers[3 * i]!;
      hits.ids[i] = numbers[3 * i + 1]!;
      hits.slots[i] = words[6 * i + 5]!;
    }
    return hits;
  }
}
