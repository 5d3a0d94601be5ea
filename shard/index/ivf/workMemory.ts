import { VouchError } from '../../../shared/errors.js';
import { Arena } from '../../kernel/arena.js';
import { BlockShape } from '../../kernel/blockShape.js';
import type { Kernel } from '../../kernel/kernel.js';
import { narrowReach } from '../../kernel/scanPath.js';
import { CODE_GROUP, CodeShape } from './codeShape.js';

/** All that a 32-bit address reaches; memory is taken as it is used. */
const WORK_BYTES = 2 ** 32;

/** The memory a build works in. Its own: that of the collections belongs to the thread that owns them. */
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

  /** Zeros. Throws `capacity_exceeded`. */
  allocate(sizeBytes: number): number {
    const address = this.#arena.allocate(sizeBytes);
    if (address === undefined)
      throw new VouchError('capacity_exceeded', 'an IVF build with so many lists and rows needs more than 4 GiB');
    return address;
  }

  words(count: number): Uint32Array {
    const address = this.allocate(4 * count);
    // Only now, as the buffer is another one after the memory has grown.
    return new Uint32Array(this.buffer, address, count);
  }

  /** Room for codes, in whole groups. */
  allocateCodes(count: number): number {
    return this.allocate(groupsOf(count) * this.codes.codeBytes);
  }

  /** The components of a row of a table. */
  row(table: number, index: number): Int32Array {
    return new Int32Array(this.buffer, table + index * this.strideBytes, this.dimension);
  }
}

/** `count` in whole groups of codes. */
export const groupsOf = (count: number): number => Math.ceil(count / CODE_GROUP) * CODE_GROUP;
