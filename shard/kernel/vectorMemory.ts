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
  /** Views of the whole buffer, for short uses: a view of a part costs as much as many reads. */
  readonly words: Uint32Array;
  readonly numbers: Float64Array;
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
    return this.#allocateTogether([sizeBytes])[0]!;
  }

  /** Allocates two blocks in one arena. Throws like `allocateBlock`. */
  allocatePair(oneBytes: number, otherBytes: number): [Region, Region] {
    const [one, other] = this.#allocateTogether([oneBytes, otherBytes]);
    return [one!, other!];
  }

  /** Allocates a block in this arena; undefined at the bound, or if the arena or the system has no more memory. */
  allocateIn(arena: Arena, sizeBytes: number): Region | undefined {
    if (!this.#isWithin([sizeBytes])) return undefined;
    try {
      const regions = regionsIn(arena, [sizeBytes]);
      if (regions !== undefined) this.#blockBytes += classBytes(sizeBytes);
      return regions?.[0];
    } catch {
      return undefined;
    }
  }

  freeBlock(region: Region): void {
    this.#blockBytes -= classBytes(region.sizeBytes);
    region.arena.free(region.address);
    if (region.arena.usedBytes > 0 || region.arena.grownBytes <= KEPT_EMPTY_BYTES) return;
    this.#arenas.delete(region.arena);
    this.threads?.forget(region.arena);
  }

  #allocateTogether(sizes: readonly number[]): Region[] {
    if (!this.#isWithin(sizes)) throw refusal('capacity_exceeded', 'vectors', { max: this.#boundBytes });
    const regions = this.#allocate(sizes) ?? this.#allocateInNewArena(sizes);
    this.#blockBytes += takenBytes(sizes);
    return regions;
  }

  #isWithin(sizes: readonly number[]): boolean {
    return this.#blockBytes + takenBytes(sizes) <= this.#boundBytes;
  }

  #allocate(sizes: readonly number[]): Region[] | undefined {
    for (const arena of this.#arenas) {
      const regions = regionsIn(arena, sizes);
      if (regions !== undefined) return regions;
    }
    return undefined;
  }

  #allocateInNewArena(sizes: readonly number[]): Region[] {
    const arena = new Arena(this.#arenaBytes);
    const regions = regionsIn(arena, sizes);
    if (regions === undefined) throw new Error(`blocks of ${sizes.join(' and ')} bytes are larger than an arena`);
    this.#arenas.add(arena);
    return regions;
  }
}

const takenBytes = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + classBytes(size), 0);

/** Allocates all or nothing. Throws `capacity_exceeded` if the system has no memory. */
function regionsIn(arena: Arena, sizes: readonly number[]): Region[] | undefined {
  const regions: Region[] = [];
  try {
    for (const sizeBytes of sizes) {
      const address = arena.allocate(sizeBytes);
      if (address === undefined) break;
      regions.push({ arena, address, sizeBytes });
    }
    return regions.length === sizes.length ? regions : undefined;
  } finally {
    if (regions.length < sizes.length) for (const { address } of regions) arena.free(address);
  }
}

/** Allocates scratch in the arena that a scan reads. Throws `unavailable` if too many scans run at once. */
export function allocateScratch<A extends ScratchArena>(arena: A, sizeBytes: number): ScratchRegion<A> {
  const address = arena.allocateScratch(sizeBytes);
  if (address === undefined) throw unavailable('too many searches run at once; retry shortly');
  return { arena, address, sizeBytes };
}

/** The memory of blocks, for all collections or one of them. */
export type BlockMemory = Pick<VectorMemory, 'threads' | 'allocateBlock' | 'allocatePair' | 'allocateIn' | 'freeBlock'>;

export const freeScratch = ({ arena, address, sizeBytes }: ScratchRegion): void =>
  arena.freeScratch(address, sizeBytes);
