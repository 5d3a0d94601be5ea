/**
 * One WebAssembly memory of vectors, up to 4 GiB, with a buddy allocator (`buddyAllocator.ts`) over it. Scans have a
 * reserve of 1/64 for their scratch, and reuse freed scratches by size class.
 */

import { VouchError } from '../../shared/errors/errors.js';
import { messageText } from '../../shared/errors/errorTable.js';
import { DIMENSION_MAX } from '../../shared/limits.js';
import { openSharedMemory, PAGE_BYTES, type SharedMemory } from '../../shared/webAssembly.js';
import { BuddyAllocator, classBytes } from './buddyAllocator.js';
import { type Kernel, openKernel } from './kernel.js';

/** Smallest growth of the memory, to save system calls. It costs address space only. */
const GROWTH_BYTES = 1 << 20;

/**
 * Share of the arena that only scans use, because scratch must lie in the arena that is scanned. Blocks of many sizes
 * that are made and freed may leave no other free piece that is large enough.
 */
const SCAN_PART = 1 / 64;

const ROW_BYTES_MAX = 4 * DIMENSION_MAX;

/** More than the scratch of a scan for the nearest 10,000 rows. */
const SCAN_BYTES_MIN = 1 << 19;

/** Largest number of bytes of freed scratch that are kept for the next scans. */
const SPARE_BYTES_MAX = 1 << 20;

const refused = (cause: unknown): VouchError =>
  new VouchError('capacity_exceeded', messageText('capacity_exceeded', 'memory'), { cause });

/** A WebAssembly memory, the kernel over it, and the allocator of its parts. */
export class Arena {
  readonly kernel: Kernel;
  readonly memory: SharedMemory;
  /** Address of room for one row of any dimension. Each use writes over the one before. */
  readonly rowAddress: number;
  readonly #allocator: BuddyAllocator;
  /** Allocator of the reserve for scans. Its addresses count from `#scanPartAt`. */
  readonly #scanPart: BuddyAllocator;
  readonly #scanPartAt: number;
  readonly #ownBytes: number;
  /**
   * Freed scratch by size class. To merge a piece with its buddies and split it again costs as much as a short scan.
   */
  readonly #spare = new Map<number, number[]>();
  #spareBytes = 0;
  #words: Uint32Array;
  #numbers: Float64Array;
  /** Largest number of bytes that were in use at one time. Grown memory beyond it was never touched. */
  #peakBytes = 0;

  /**
   * `sizeBytes`: the most that the memory may grow to, a power of two from 1 MiB to 4 GiB. Throws `capacity_exceeded`.
   */
  constructor(sizeBytes: number) {
    this.#allocator = new BuddyAllocator(sizeBytes);
    try {
      this.memory = openSharedMemory(sizeBytes);
      this.kernel = openKernel(this.memory);
    } catch (error) {
      throw error instanceof RangeError ? refused(error) : error;
    }
    this.#words = new Uint32Array(this.memory.buffer);
    this.#numbers = new Float64Array(this.memory.buffer);
    // Address 0 stays unused. The kernel has no data of its own, which the build checks.
    this.#allocator.allocate(1);
    this.rowAddress = this.#allocator.allocate(ROW_BYTES_MAX)!;
    this.#scanPart = new BuddyAllocator(Math.max(sizeBytes * SCAN_PART, SCAN_BYTES_MIN));
    this.#scanPartAt = this.#allocator.allocate(this.#scanPart.sizeBytes)!;
    this.#ownBytes = this.#allocator.usedBytes;
    this.#backed(this.rowAddress, ROW_BYTES_MAX);
  }

  get sizeBytes(): number {
    return this.#allocator.sizeBytes;
  }

  get usedBytes(): number {
    return this.#allocator.usedBytes - this.#ownBytes + this.#scanPart.usedBytes - this.#spareBytes;
  }

  /** Bytes that were used once and are free now. The system backs no other free page. */
  get freeBytes(): number {
    return Math.min(this.grownBytes, this.#peakBytes) - this.usedBytes;
  }

  /** Bytes that the memory has grown to. The system backs a page once it is written. */
  get grownBytes(): number {
    return this.memory.buffer.byteLength;
  }

  /** Views of the buffer stay valid when the memory grows. */
  get buffer(): SharedArrayBuffer {
    return this.memory.buffer;
  }

  /** The whole memory, as it has grown until now. */
  get words(): Uint32Array {
    return this.#words;
  }

  get numbers(): Float64Array {
    return this.#numbers;
  }

  /** Returns undefined if no free piece is large enough. Throws `capacity_exceeded` if the system has no memory. */
  allocate(sizeBytes: number): number | undefined {
    return this.#backed(this.#allocator.allocate(sizeBytes) ?? this.#allocateOfSpare(sizeBytes), sizeBytes);
  }

  free(address: number): void {
    const inScanPart = address - this.#scanPartAt;
    if (inScanPart >= 0 && inScanPart < this.#scanPart.sizeBytes) this.#scanPart.free(inScanPart);
    else this.#allocator.free(address);
  }

  /** Allocates memory for one scan, like `allocate`, and also uses the reserve. */
  allocateScratch(sizeBytes: number): number | undefined {
    const sizeClass = classBytes(sizeBytes);
    const address = this.#spare.get(sizeClass)?.pop();
    if (address === undefined) return this.allocate(sizeBytes) ?? this.#allocateInScanPart(sizeBytes);
    this.#spareBytes -= sizeClass;
    return address;
  }

  freeScratch(address: number, sizeBytes: number): void {
    const sizeClass = classBytes(sizeBytes);
    if (this.#spareBytes + sizeClass > SPARE_BYTES_MAX) {
      this.free(address);
      return;
    }
    const spare = this.#spare.get(sizeClass);
    if (spare === undefined) this.#spare.set(sizeClass, [address]);
    else spare.push(address);
    this.#spareBytes += sizeClass;
  }

  #allocateOfSpare(sizeBytes: number): number | undefined {
    for (const address of [...this.#spare.values()].flat()) this.free(address);
    this.#spare.clear();
    this.#spareBytes = 0;
    return this.#allocator.allocate(sizeBytes);
  }

  #allocateInScanPart(sizeBytes: number): number | undefined {
    const address = this.#scanPart.allocate(sizeBytes);
    return this.#backed(address === undefined ? undefined : this.#scanPartAt + address, sizeBytes);
  }

  /** Returns the address once the system has provided memory for it. */
  #backed(address: number | undefined, sizeBytes: number): number | undefined {
    if (address === undefined) return undefined;
    try {
      this.#growTo(address + classBytes(sizeBytes));
      this.#peakBytes = Math.max(this.#peakBytes, this.usedBytes);
    } catch (error) {
      this.free(address);
      throw refused(error);
    }
    return address;
  }

  #growTo(endBytes: number): void {
    const now = this.grownBytes;
    if (endBytes <= now) return;
    const wanted = Math.min(Math.max(endBytes, now + GROWTH_BYTES), this.sizeBytes);
    this.memory.grow(Math.ceil((wanted - now) / PAGE_BYTES));
    this.#words = new Uint32Array(this.memory.buffer);
    this.#numbers = new Float64Array(this.memory.buffer);
  }
}
