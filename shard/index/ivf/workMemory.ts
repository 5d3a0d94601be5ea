import { refusal } from '../../../shared/errors/errors.js';
import { Arena } from '../../kernel/arena.js';
import { BlockShape, narrowReach } from '../../kernel/blockShape.js';
import type { Kernel } from '../../kernel/kernel.js';
import { CODE_GROUP, CodeShape } from './codeShape.js';

/** Range of a 32-bit address. The system provides memory as it is used. */
const WORK_BYTES = 2 ** 32;

/** The memory of a build. It is separate from the memory of collections, which belongs to their owner's thread. */
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

  /** Returns the address of zeros. Throws `capacity_exceeded`. */
  allocate(sizeBytes: number): number {
    const address = this.#arena.allocate(sizeBytes);
    if (address === undefined) throw refusal('capacity_exceeded', 'ivfBuild');
    return address;
  }

  words(count: number): Uint32Array {
    const address = this.allocate(4 * count);
    // Read the buffer now, since it changes when the memory grows.
    return new Uint32Array(this.buffer, address, count);
  }

  /** Returns the address of memory for codes, in whole groups. */
  allocateCodes(count: number): number {
    return this.allocate(groupsOf(count) * this.codes.codeBytes);
  }

  /** Returns a view of the components of a table's row. */
  row(table: number, index: number): Int32Array {
    return new Int32Array(this.buffer, table + index * this.strideBytes, this.dimension);
  }
}

/** Rounds `count` up to whole groups of codes. */
export const groupsOf = (count: number): number => Math.ceil(count / CODE_GROUP) * CODE_GROUP;
