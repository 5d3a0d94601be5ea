import type { Arena } from './arena.js';
import { BATCH_ROWS, ENTRY_BYTES } from './kernel.js';
import { MovingScratch } from './movingScratch.js';
import type { Region } from './vectorMemory.js';

/** Nearest first; equal scores by id. `scores`: exact squared L2 distances, rounded once to f64. */
export interface Hits {
  readonly ids: Float64Array;
  readonly slots: Uint32Array;
  readonly scores: Float64Array;
}

export interface ScratchSize {
  /** Entries of the heap. */
  readonly capacity: number;
  readonly strideBytes: number;
  /** The largest bitmap that will be staged. */
  readonly bitmapBytes: number;
}

/** The scratch of a search, with the query and the nearest rows so far. */
export class ScanScratch extends MovingScratch {
  readonly largestQueryComponent: number;
  #listed: { readonly region: Region; readonly rows: Uint32Array } | undefined;

  /** `query`: the little-endian bytes of the components. */
  constructor(arena: Arena, query: Uint8Array, { capacity, strideBytes, bitmapBytes }: ScratchSize) {
    // The kernel would read a number below 0 as a large one, and write behind the memory it has.
    if (!(Number.isInteger(capacity) && capacity >= 0)) throw new RangeError(`a heap of ${capacity} entries`);
    super(arena, arena.kernel.scanBytes(capacity, strideBytes), bitmapBytes);
    const at = arena.kernel.beginScan(this.address, capacity, strideBytes) >>> 0;
    const row = new Uint8Array(arena.buffer, at, strideBytes);
    row.set(query);
    row.fill(0, query.length);
    this.largestQueryComponent = arena.kernel.largestComponent(at, strideBytes) >>> 0;
  }

  /** The kernel's list of rows to consider. Valid until the scratch moves. */
  get rowList(): Uint32Array {
    const { region } = this;
    if (this.#listed?.region !== region) {
      const at = region.arena.kernel.rowList(region.address) >>> 0;
      this.#listed = { region, rows: new Uint32Array(region.arena.buffer, at, BATCH_ROWS) };
    }
    return this.#listed.rows;
  }

  /** Sorts what was found. Nothing can be scanned afterwards. */
  hits(): Hits {
    const { arena, address } = this.region;
    const count = arena.kernel.entryCount(address);
    const entries = arena.kernel.finishScan(address) >>> 0;
    const numbers = new Float64Array(arena.buffer, entries, (count * ENTRY_BYTES) / 8);
    const words = new Uint32Array(arena.buffer, entries, (count * ENTRY_BYTES) / 4);
    const hits = { ids: new Float64Array(count), slots: new Uint32Array(count), scores: new Float64Array(count) };
    for (let i = 0; i < count; i++) {
      hits.scores[i] = numbers[3 * i]!;
      hits.ids[i] = numbers[3 * i + 1]!;
      hits.slots[i] = words[6 * i + 5]!;
    }
    return hits;
  }
}
