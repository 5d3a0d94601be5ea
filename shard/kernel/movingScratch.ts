import type { BitSet } from './bitSet.js';
import { allocateScratch, freeScratch, type ScratchArena, type ScratchRegion } from './vectorMemory.js';

/** Rounds up to a multiple of 8, so that a number of any type is aligned behind it. */
export const aligned = (sizeBytes: number): number => Math.ceil(sizeBytes / 8) * 8;

/**
 * The memory that a scan writes: the kernel's scratch, then room for the data of one call of the kernel, such as a
 * bitmap. The kernel reaches one arena only. So the scratch, with all rows found, moves to the arena of the next block.
 */
export abstract class MovingScratch {
  readonly #scanBytes: number;
  /** Valid until the scratch moves. */
  protected region: ScratchRegion;

  /** `scanBytes`: size of the kernel's scratch; `roomBytes`: size of the room behind it. */
  constructor(arena: ScratchArena, scanBytes: number, roomBytes: number) {
    this.#scanBytes = aligned(scanBytes);
    this.region = allocateScratch(arena, this.#scanBytes + roomBytes);
  }

  /** Address by which the kernel knows the scan. */
  get address(): number {
    return this.region.address;
  }

  /** Address of the room. A move does not copy its content. */
  protected get roomAddress(): number {
    return this.region.address + this.#scanBytes;
  }

  moveTo(arena: ScratchArena): void {
    const from = this.region;
    if (from.arena === arena) return;
    this.region = allocateScratch(arena, from.sizeBytes);
    const bytes = new Uint8Array(from.arena.buffer, from.address, this.#scanBytes);
    new Uint8Array(arena.buffer, this.region.address, this.#scanBytes).set(bytes);
    freeScratch(from);
  }

  /** Copies a bitmap to memory that the kernel can read, and returns its address. */
  stage({ words }: BitSet): number {
    const address = this.roomAddress;
    new Uint32Array(this.region.arena.buffer, address, words.length).set(words);
    return address;
  }

  free(): void {
    freeScratch(this.region);
  }
}
