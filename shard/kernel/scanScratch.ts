import type { Arena } from './arena.js';
import { ENTRY_BYTES } from './kernel.js';
import { allocateScratch, freeScratch, type Region } from './vectorMemory.js';

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

const aligned = (sizeBytes: number): number => Math.ceil(sizeBytes / 8) * 8;

/**
 * What a scan writes: the kernel's scratch, with the query and the nearest rows so far, then room for one bitmap. The
 * kernel reaches a single arena, so the scratch moves to the arena of the next block, taking the nearest along.
 */
export class ScanScratch {
  readonly largestQueryComponent: number;
  readonly #size: ScratchSize;
  readonly #scanBytes: number;
  #region: Region;

  /** `query`: the little-endian bytes of the components. */
  constructor(arena: Arena, query: Uint8Array, size: ScratchSize) {
    const { capacity, strideBytes } = size;
    this.#size = size;
    this.#scanBytes = aligned(arena.kernel.scanBytes(capacity, strideBytes));
    this.#region = allocateScratch(arena, this.#scanBytes + size.bitmapBytes);
    const at = arena.kernel.beginScan(this.#region.address, capacity, strideBytes) >>> 0;
    const row = new Uint8Array(arena.buffer, at, strideBytes);
    row.set(query);
    row.fill(0, query.length);
    this.largestQueryComponent = arena.kernel.largestComponent(at, strideBytes) >>> 0;
  }

  /** What the kernel knows the scan by. */
  get address(): number {
    return this.#region.address;
  }

  moveTo(arena: Arena): void {
    const from = this.#region;
    if (from.arena === arena) return;
    this.#region = allocateScratch(arena, from.sizeBytes);
    const bytes = new Uint8Array(from.arena.buffer, from.address, this.#scanBytes);
    new Uint8Array(arena.buffer, this.#region.address, this.#scanBytes).set(bytes);
    freeScratch(from);
  }

  /** Writes `live ∧ eligible` where the kernel can read it, and returns its address. */
  stage(live: Uint32Array, eligible: Uint32Array | undefined): number {
    const address = this.#region.address + this.#scanBytes;
    const staged = new Uint32Array(this.#region.arena.buffer, address, this.#size.bitmapBytes / 4);
    if (eligible === undefined) staged.set(live);
    else for (let i = 0; i < live.length; i++) staged[i] = live[i]! & eligible[i]!;
    return address;
  }

  /** Sorts what was found. Nothing can be scanned afterwards. */
  hits(): Hits {
    const { arena, address } = this.#region;
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

  free(): void {
    freeScratch(this.#region);
  }
}
