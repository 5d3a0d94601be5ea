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

/** An id, a score and a slot. */
const HIT_BYTES = 20;

/** Returns hits to be filled in. The columns share one buffer, since each further one would take as long as all else here. */
export function hitsOfLength(count: number): Hits {
  const buffer = new ArrayBuffer(count * HIT_BYTES);
  return {
    ids: new Float64Array(buffer, 0, count),
    scores: new Float64Array(buffer, 8 * count, count),
    slots: new Uint32Array(buffer, 16 * count, count),
  };
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
  #rowList: { readonly region: ScratchRegion; readonly rows: Uint32Array } | undefined;

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
    if (query.length < strideBytes) row.fill(0, query.length);
    this.largestQueryComponent = arena.kernel.largestComponent(at, strideBytes) >>> 0;
  }

  /** Address of the bytes behind the scan that move with it. */
  protected get movedAddress(): number {
    return this.address + this.#scanBytes;
  }

  /** The kernel's list of rows to consider, valid until the scratch moves. */
  get rowList(): Uint32Array {
    const { region } = this;
    if (this.#rowList?.region !== region) {
      const { kernel, buffer } = region.arena;
      this.#rowList = { region, rows: new Uint32Array(buffer, kernel.rowList(region.address) >>> 0, BATCH_ROWS) };
    }
    return this.#rowList.rows;
  }

  /** Views of the entries as f64 and as u32, valid until the scratch moves. */
  entries(): { readonly numbers: Float64Array; readonly words: Uint32Array } {
    const { kernel, buffer } = this.region.arena;
    const at = kernel.entries(this.region.address) >>> 0;
    const sizeBytes = this.#capacity * ENTRY_BYTES;
    return { numbers: new Float64Array(buffer, at, sizeBytes / 8), words: new Uint32Array(buffer, at, sizeBytes / 4) };
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
    const { kernel, numbers, words } = this.region.arena;
    const count = kernel.finishScan(this.address);
    const entries = kernel.entries(this.address) >>> 0;
    const hits = hitsOfLength(count);
    const { ids, scores, slots } = hits;
    for (let i = 0; i < count; i++) {
      const at = entries + i * ENTRY_BYTES;
      scores[i] = numbers[at / 8]!;
      ids[i] = numbers[at / 8 + 1]!;
      slots[i] = words[at / 4 + 5]!;
    }
    return hits;
  }
}
