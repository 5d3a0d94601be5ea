import { VouchError } from '../../shared/errors/errors.js';
import { BuddyAllocator, classBytes } from './buddyAllocator.js';
import { type Kernel, openKernel, openMemory, PAGE_BYTES, type SharedMemory } from './kernel.js';

/** The least that the memory grows by, to save system calls. It costs address space only. */
const GROWTH_BYTES = 1 << 20;

const refused = (cause: unknown): VouchError =>
  new VouchError('capacity_exceeded', 'the system has no more memory for vectors', { cause });

/** A WebAssembly memory, the kernel over it, and the allocator of its parts. */
export class Arena {
  readonly kernel: Kernel;
  readonly memory: SharedMemory;
  readonly #allocator: BuddyAllocator;
  readonly #ownBytes: number;

  /** `sizeBytes`: the most it may grow to, a power of two up to 4 GiB. Throws `capacity_exceeded`. */
  constructor(sizeBytes: number) {
    this.#allocator = new BuddyAllocator(sizeBytes);
    try {
      this.memory = openMemory(sizeBytes);
      this.kernel = openKernel(this.memory);
    } catch (error) {
      throw error instanceof RangeError ? refused(error) : error;
    }
    // Address 0 is left unused. The kernel has no data of its own: the build checks it.
    this.#allocator.allocate(1);
    this.#ownBytes = this.#allocator.usedBytes;
  }

  get sizeBytes(): number {
    return this.#allocator.sizeBytes;
  }

  get usedBytes(): number {
    return this.#allocator.usedBytes - this.#ownBytes;
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
    const address = this.#allocator.allocate(sizeBytes);
    if (address === undefined) return undefined;
    try {
      this.#growTo(address + classBytes(sizeBytes));
    } catch (error) {
      this.#allocator.free(address);
      throw refused(error);
    }
    return address;
  }

  free(address: number): void {
    this.#allocator.free(address);
  }

  #growTo(endBytes: number): void {
    const now = this.grownBytes;
    if (endBytes <= now) return;
    const wanted = Math.min(Math.max(endBytes, now + GROWTH_BYTES), this.sizeBytes);
    this.memory.grow(Math.ceil((wanted - now) / PAGE_BYTES));
  }
}
