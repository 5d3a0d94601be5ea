import type { BlockShape } from './blockShape.js';
import { bitmapBytesOf } from './blockShape.js';
import type { Region, VectorMemory } from './vectorMemory.js';

const ID_BYTES = 8;

/** One block of rows, its memory and the views of it. See `blockShape.ts` for the layout. */
export class Block {
  readonly region: Region;
  readonly firstSlot: number;
  readonly rows: number;
  readonly strideBytes: number;
  readonly vectorsAddress: number;
  readonly idsAddress: number;
  readonly bitmapAddress: number;
  readonly ids: Float64Array;
  /** The live bitmap, as two u32 for each of the kernel's u64. */
  readonly live: Uint32Array;
  liveCount = 0;
  /** No component here is larger than this in magnitude. It does not shrink when rows go. */
  largestComponent = 0;
  /** No row here has, or had, a larger id. */
  largestId = 0;
  readonly #vectors: Uint8Array;

  /** The memory comes as others left it: the bitmap is cleared, a row is there once it is written. */
  constructor(memory: VectorMemory, shape: BlockShape, index: number) {
    this.firstSlot = shape.firstSlot(index);
    this.rows = shape.rows(index);
    this.strideBytes = shape.strideBytes;
    this.region = memory.allocateBlock(shape.blockBytes(index));
    const { arena, address } = this.region;
    const vectorsBytes = this.rows * this.strideBytes;
    this.vectorsAddress = address;
    this.idsAddress = address + vectorsBytes;
    this.bitmapAddress = this.idsAddress + this.rows * ID_BYTES;
    this.#vectors = new Uint8Array(arena.buffer, this.vectorsAddress, vectorsBytes);
    this.ids = new Float64Array(arena.buffer, this.idsAddress, this.rows);
    this.live = new Uint32Array(arena.buffer, this.bitmapAddress, bitmapBytesOf(this.rows) / 4).fill(0);
  }

  get words(): number {
    return this.live.length / 2;
  }

  write(row: number, id: number, vector: Uint8Array): void {
    const { arena } = this.region;
    const offset = row * this.strideBytes;
    this.#vectors.set(vector, offset);
    if (vector.length < this.strideBytes) this.#vectors.fill(0, offset + vector.length, offset + this.strideBytes);
    const largest = arena.kernel.largestComponent(this.vectorsAddress + offset, this.strideBytes) >>> 0;
    this.largestComponent = Math.max(this.largestComponent, largest);
    this.ids[row] = id;
    this.largestId = Math.max(this.largestId, id);
  }

  /** Vectors and ids of these rows were written by another, in this memory. */
  wrote(row: number, rows: number): void {
    const { kernel } = this.region.arena;
    const largest =
      kernel.largestComponent(this.vectorsAddress + row * this.strideBytes, rows * this.strideBytes) >>> 0;
    this.largestComponent = Math.max(this.largestComponent, largest);
    for (let at = row; at < row + rows; at++) this.largestId = Math.max(this.largestId, this.ids[at]!);
  }

  /** A copy, `sizeBytes` of the row. */
  vectorBytes(row: number, sizeBytes: number): Uint8Array {
    const offset = row * this.strideBytes;
    return this.#vectors.slice(offset, offset + sizeBytes);
  }

  erase(row: number): void {
    this.#vectors.fill(0, row * this.strideBytes, (row + 1) * this.strideBytes);
    this.ids[row] = 0;
  }

  isLive(row: number): boolean {
    return ((this.live[row >>> 5]! >>> (row & 31)) & 1) === 1;
  }

  setLive(row: number, live: boolean): void {
    if (this.isLive(row) === live) return;
    this.live[row >>> 5]! ^= 1 << (row & 31);
    this.liveCount += live ? 1 : -1;
  }
}
