import { VouchError } from '../../shared/errors/errors.js';
import { openSharedMemory, PAGE_BYTES, type SharedMemory } from '../../shared/webAssembly.js';
import { BuddyAllocator, classBytes } from './buddyAllocator.js';
import { type Kernel, openKernel } from './kernel.js';

/** The least that the memory grows by, to save system calls. It costs address space only. */
const GROWTH_BYTES = 1 << 20;

/**
 * The part that only scans take, which must work in the arena they read. Blocks of many sizes that come and go may leave no other
 * piece that is large enough.
 */
const SCAN_PART = 1 / 64;

/** More than a scan takes that finds the nearest 10,000 rows. */
const SCAN_BYTES_MIN = 1 << 19;

/** Of pieces that are kept for the next scans. */
const SPARE_BYTES_MAX = 1 << 20;

const refused = (cause: unknown): VouchError =>
  new VouchError('capacity_exceeded', 'the system has no more memory for vectors', { cause });

/** A WebAssembly memory, the kernel over it, and the allocator of its parts. */
export class Arena {
  readonly kernel: Kernel;
  readonly memory: SharedMemory;
  readonly #allocator: BuddyAllocator;
  /** Of the part that only scans take: its addresses count from `#scanPartAt`. */
  readonly #scanPart: BuddyAllocator;
  readonly #scanPartAt: number;
  readonly #ownBytes: number;
  /** What scans have given back, by class: to join a piece with its buddies and to split it anew takes as long as a short scan. */
  readonly #spare = new Map<number, number[]>();
  #spareBytes = 0;
  /** The most that was ever used: what the memory has grown to beyond it was never touched. */
  #peakBytes = 0;

  /** `sizeBytes`: the most it may grow to, a power of two from 1 MiB to 4 GiB. Throws `capacity_exceeded`. */
  constructor(sizeBytes: number) {
    this.#allocator = new BuddyAllocator(sizeBytes);
    try {
      this.memory = openSharedMemory(sizeBytes);
      this.kernel = openKernel(this.memory);
    } catch (error) {
      throw error instanceof RangeError ? refused(error) : error;
    }
    // Address 0 is left unused. The kernel has no data of its own: the build checks it.
    this.#allocator.allocate(1);
    this.#scanPart = new BuddyAllocator(Math.max(sizeBytes * SCAN_PART, SCAN_BYTES_MIN));
    this.#scanPartAt = this.#allocator.allocate(this.#scanPart.sizeBytes)!;
    this.#ownBytes = this.#allocator.usedBytes;
  }

  get sizeBytes(): number {
    return this.#allocator.sizeBytes;
  }

  get usedBytes(): number {
    return this.#allocator.usedBytes - this.#ownBytes + this.#scanPart.usedBytes - this.#spareBytes;
  }

  /** What was used once and is free now: the system backs no other page. */
  get freeBytes(): number {
    return Math.min(this.grownBytes, this.#peakBytes) - this.usedBytes;
  }

  /** The size it has grown to. The system backs a page once it was written. */
  get grownBytes(): number {
    return this.memory.buffer.byteLength;
  }

  /** Views of it stay valid when the memory grows. */
  get buffer(): SharedArrayBuffer {
    return this.memory.buffer;
  }

  /** Undefined where there is no free piece of that size; throws `capacity_exceeded` where the system gives no memory. */
  allocate(sizeBytes: number): number | undefined {
    return this.#backed(this.#allocator.allocate(sizeBytes) ?? this.#allocateOfSpare(sizeBytes), sizeBytes);
  }

  free(address: number): void {
    const inScanPart = address - this.#scanPartAt;
    if (inScanPart >= 0 && inScanPart < this.#scanPart.sizeBytes) this.#scanPart.free(inScanPart);
    else this.#allocator.free(address);
  }

  /** As `allocate`, for a short time. */
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

  /** The address, where the system has given memory for it. */
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
  }
}
