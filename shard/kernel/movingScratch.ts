import type { Arena } from './arena.js';
import type { BitSet } from './bitSet.js';
import { allocateScratch, freeScratch, type Region } from './vectorMemory.js';

/** Rounds up to where any number may lie. */
export const aligned = (sizeBytes: number): number => Math.ceil(sizeBytes / 8) * 8;

/**
 * The memory that a scan writes: the kernel's scratch, then room for what one call of the kernel reads or writes, as a bitmap.
 * The kernel reaches a single arena, so the scratch moves to the arena of the next block, with what was found.
 */
export abstract class MovingScratch {
  readonly #scanBytes: number;
  /** Valid until the scratch moves. */
  protected region: Region;

  /** `scanBytes`: of the kernel's scratch; `roomBytes`: of the room behind it. */
  constructor(arena: Arena, scanBytes: number, roomBytes: number) {
    this.#scanBytes = aligned(scanBytes);
    this.region = allocateScratch(arena, this.#scanBytes + roomBytes);
  }

  /** The kernel knows the scan by it. */
  get address(): number {
    return this.region.address;
  }

  /** The room does not move along. */
  protected get roomAddress(): number {
    return this.region.address + this.#scanBytes;
  }

  moveTo(arena: Arena): void {
    const from = this.region;
    if (from.arena === arena) return;
    this.region = allocateScratch(arena, from.sizeBytes);
    const bytes = new Uint8Array(from.arena.buffer, from.address, this.#scanBytes);
    new Uint8Array(arena.buffer, this.region.address, this.#scanBytes).set(bytes);
    freeScratch(from);
  }

  /** Copies a bitmap to where the kernel can read it, and returns its address. */
  stage({ words }: BitSet): number {
    const address = this.roomAddress;
    new Uint32Array(this.region.arena.buffer, address, words.length).set(words);
    return address;
  }

  free(): void {
    freeScratch(this.region);
  }
}
