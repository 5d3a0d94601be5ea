/** The vector memory of a process: arenas of up to 4 GiB, since WebAssembly addresses have 32 bits, below one bound. */
import { refusal, unavailable } from '../../shared/errors/errors.js';
import { Arena } from './arena.js';
import { classBytes } from './buddyAllocator.js';
import type { Kernel } from './kernel.js';
import type { ScanThreads } from './scanThreads.js';

/** Bytes that a 32-bit address reaches. */
const ARENA_BYTES = 2 ** 32;

/** A larger arena is returned to the system once it is empty; smaller ones are kept for reuse. */
const KEPT_EMPTY_BYTES = 64 << 20;

/** A piece of an arena. */
export interface Region {
  readonly arena: Arena;
  readonly address: number;
  readonly sizeBytes: number;
}

/** An arena, or the part of one that is lent to a thread. */
export interface ScratchArena {
  readonly kernel: Kernel;
  readonly buffer: SharedArrayBuffer;
  allocateScratch(sizeBytes: number): number | undefined;
  freeScratch(address: number, sizeBytes: number): void;
}

/** Scratch in an arena. */
export interface ScratchRegion<A extends ScratchArena = ScratchArena> {
  readonly arena: A;
  readonly address: number;
  readonly sizeBytes: number;
}

interface VectorMemoryOptions {
  /** Largest number of bytes of all blocks together. */
  readonly boundBytes?: number;
  /** Largest number of bytes of one arena: a power of two from 1 MiB to 4 GiB. */
  readonly arenaBytes?: number;
  /** Threads that share long scans; undefined for none. */
  readonly threads?: ScanThreads;
}

/** The memory of all collections of a process. It takes nothing from the system before the first block. */
export class VectorMemory {
  readonly #boundBytes: number;
  readonly #arenaBytes: number;
  readonly #arenas = new Set<Arena>();
  #blockBytes = 0;
  readonly threads: ScanThreads | undefined;

  constructor({ boundBytes = Number.POSITIVE_INFINITY, arenaBytes = ARENA_BYTES, threads }: VectorMemoryOptions = {}) {
    this.#boundBytes = boundBytes;
    this.#arenaBytes = arenaBytes;
    this.threads = threads;
  }

  /** Bytes of all blocks in use. */
  get usedBytes(): number {
    return this.#blockBytes;
  }

  /** Bytes that the arenas have grown to, including free ones and those of scans. */
  get grownBytes(): number {
    return [...this.#arenas].reduce((sum, { grownBytes }) => sum + grownBytes, 0);
  }

  /** Bytes that were used once and are free now. */
  get freeBytes(): number {
    return [...this.#arenas].reduce((sum, { freeBytes }) => sum + freeBytes, 0);
  }

  /** Allocates a block. Throws `capacity_exceeded` at the bound, or if the system has no more memory. */
  allocateBlock(sizeBytes: number): Region {
    const takenBytes = classBytes(sizeBytes);
    if (this.#blockBytes + takenBytes > this.#boundBytes)
      throw refusal('capacity_exceeded', 'vectors', { max: this.#boundBytes });
    const region = this.#allocate(sizeBytes) ?? this.#allocateInNewArena(sizeBytes);
    this.#blockBytes += takenBytes;
    return region;
  }

  freeBlock(region: Region): void {
    this.#blockBytes -= classBytes(region.sizeBytes);
    region.arena.free(region.address);
    if (region.arena.usedBytes > 0 || region.arena.grownBytes <= KEPT_EMPTY_BYTES) return;
    this.#arenas.delete(region.arena);
    this.threads?.forget(region.arena);
  }

  #allocate(sizeBytes: number): Region | undefined {
    for (const arena of this.#arenas) {
      const address = arena.allocate(sizeBytes);
      if (address !== undefined) return { arena, address, sizeBytes };
    }
    return undefined;
  }

  #allocateInNewArena(sizeBytes: number): Region {
    const arena = new Arena(this.#arenaBytes);
    const address = arena.allocate(sizeBytes);
    if (address === undefined) throw new Error(`a block of ${sizeBytes} bytes is larger than an arena`);
    this.#arenas.add(arena);
    return { arena, address, sizeBytes };
  }
}

/** Allocates scratch in the arena that a scan reads. Throws `unavailable` if too many scans run at once. */
export function allocateScratch<A extends ScratchArena>(arena: A, sizeBytes: number): ScratchRegion<A> {
  const address = arena.allocateScratch(sizeBytes);
  if (address === undefined) throw unavailable('too many searches run at once; retry shortly');
  return { arena, address, sizeBytes };
}

export const freeScratch = ({ arena, address, sizeBytes }: ScratchRegion): void =>
  arena.freeScratch(address, sizeBytes);
