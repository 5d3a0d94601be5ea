import type { Arena } from './arena.js';
import { allocateScratch, freeScratch, type Region } from './vectorMemory.js';

const aligned = (sizeBytes: number): number => Math.ceil(sizeBytes / 8) * 8;

/**
 * What a scan writes: the kernel's scratch, then room for one bitmap. The kernel reaches a single arena, so the scratch
 * moves to the arena of the next block, taking along what was found.
 */
export abstract class MovingScratch {
  readonly #scanBytes: number;
  readonly #bitmapBytes: number;
  #region: Region;

  /** `scanBytes`: of the kernel's scratch; `bitmapBytes`: of the largest bitmap that will be staged. */
  constructor(arena: Arena, scanBytes: number, bitmapBytes: number) {
    this.#scanBytes = aligned(scanBytes);
    this.#bitmapBytes = bitmapBytes;
    this.#region = allocateScratch(arena, this.#scanBytes + bitmapBytes);
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

  /** Has a bitmap written where the kernel can read it, and returns its address. */
  stage(write: (into: Uint32Array) => void): number {
    const address = this.#region.address + this.#scanBytes;
    write(new Uint32Array(this.#region.arena.buffer, address, this.#bitmapBytes / Uint32Array.BYTES_PER_ELEMENT));
    return address;
  }

  free(): void {
    freeScratch(this.#region);
  }

  /** Until the scratch moves. */
  protected get region(): Region {
    return this.#region;
  }
}
