import { refusal } from '../../../shared/errors/errors.js';
import { Arena } from '../../kernel/arena.js';
import { BlockShape, narrowReach } from '../../kernel/blockShape.js';
import type { Kernel } from '../../kernel/kernel.js';
import { CODE_GROUP, CodeShape } from './codeShape.js';

/** Size of the address space of 32 bits. The operating system provides memory when it is first used. */
const WORK_BYTES = 2 ** 32;

/** The memory of a build thread. Only the shard's event loop allocates in the memory of collections. */
export class WorkMemory {
  readonly codes: CodeShape;
  readonly strideBytes: number;
  readonly narrowReach: number;
  readonly #arena = new Arena(WORK_BYTES);

  constructor(readonly dimension: number) {
    this.codes = new CodeShape(dimension);
    this.strideBytes = new BlockShape(dimension).strideBytes;
    this.narrowReach = narrowReach(dimension);
  }

  get kernel(): Kernel {
    return this.#arena.kernel;
  }

  get buffer(): SharedArrayBuffer {
    return this.#arena.buffer;
  }

  /** Allocates zeros; returns their address. Throws `capacity_exceeded`. */
  allocate(sizeBytes: number): number {
    const address = this.#arena.allocate(sizeBytes);
    if (address === undefined) throw refusal('capacity_exceeded', 'ivfBuild');
    return address;
  }

  /** Allocates zeros as a view of u32. Throws `capacity_exceeded`. */
  words(count: number): Uint32Array {
    const address = this.allocate(4 * count);
    // Read the buffer after the allocation: growth replaces it.
    return new Uint32Array(this.buffer, address, count);
  }

  /** Allocates memory for `count` codes, in whole groups; returns its address. */
  allocateCodes(count: number): number {
    return this.allocate(groupsOf(count) * this.codes.codeBytes);
  }

  /** Returns a view of the components of row `index`. `table`: the address of the first row. */
  row(table: number, index: number): Int32Array {
    return new Int32Array(this.buffer, table + index * this.strideBytes, this.dimension);
  }
}

/** Rounds `count` up to whole groups of codes. */
export const groupsOf = (count: number): number => Math.ceil(count / CODE_GROUP) * CODE_GROUP;
