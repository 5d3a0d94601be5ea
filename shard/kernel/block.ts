/**
 * One block of rows in an arena. It keeps an upper bound of all magnitudes, which decides between narrow and wide path.
 */
import { BitSet } from './bitSet.js';
import { type BlockShape, bitmapBytesOf, narrowReach } from './blockShape.js';
import { CodePlane } from './codePlane.js';
import type { Region, VectorMemory } from './vectorMemory.js';

const ID_BYTES = 8;

/** A block of rows: its memory and the views of it. `blockShape.ts` has the layout. */
export class Block {
  readonly region: Region;
  readonly firstSlot: number;
  readonly rows: number;
  readonly strideBytes: number;
  readonly vectorsAddress: number;
  readonly idsAddress: number;
  readonly bitmapAddress: number;
  readonly ids: Float64Array;
  /** The live rows, in whole u64 for the kernel. */
  readonly live: BitSet;
  /** Upper bound of the magnitude of all components. It does not shrink when rows are removed. */
  largestComponent = 0;
  /** Largest id of a row that is or was in the block. */
  largestId = 0;
  readonly #vectors: Uint8Array;
  readonly #plane: CodePlane | undefined;

  /** Clears the bitmap, since the memory may have been used before. `before`: the previous block. */
  constructor(memory: VectorMemory, shape: BlockShape, index: number, before?: Block) {
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
    this.live = new BitSet(new Uint32Array(arena.buffer, this.bitmapAddress, bitmapBytesOf(this.rows) / 4).fill(0));
    if (!shape.hasPlane(index)) return;
    const planeAddress = this.bitmapAddress + bitmapBytesOf(this.rows);
    this.#plane = new CodePlane(this, shape.codeBytes, narrowReach(shape.dimension), planeAddress);
    if (before?.planeAddress) this.#plane.inherit(before.#plane!);
    this.largestComponent = this.#plane.largest;
  }

  /** Address of the code plane for the kernel; 0 if the rows have no codes. */
  get planeAddress(): number {
    return this.#plane?.address ?? 0;
  }

  get words(): number {
    return this.live.words.length / 2;
  }

  /** Freezes middles and steps of the code plane until `endRead`, so that other threads can read it. */
  beginRead(): void {
    this.#plane?.beginRead();
  }

  endRead(): void {
    this.#plane?.endRead();
  }

  write(row: number, id: number, vector: Uint8Array): void {
    const offset = row * this.strideBytes;
    this.#vectors.set(vector, offset);
    this.#vectors.fill(0, offset + vector.length, offset + this.strideBytes);
    this.ids[row] = id;
    this.wrote(row, 1);
  }

  /** Records rows whose vectors and ids have been written in place. */
  wrote(row: number, rows: number): void {
    const { kernel } = this.region.arena;
    const address = this.vectorsAddress + row * this.strideBytes;
    const largest = kernel.largestComponent(address, rows * this.strideBytes) >>> 0;
    this.largestComponent = Math.max(this.largestComponent, largest);
    for (let at = row; at < row + rows; at++) this.largestId = Math.max(this.largestId, this.ids[at]!);
    this.#plane?.wrote(row, rows, this.largestComponent);
  }

  /** Returns a copy of the first `sizeBytes` of the row. */
  vectorBytes(row: number, sizeBytes: number): Uint8Array {
    const offset = row * this.strideBytes;
    return this.#vectors.slice(offset, offset + sizeBytes);
  }

  /** Returns a view of the first `sizeBytes` of the row. */
  vectorView(row: number, sizeBytes: number): Uint8Array {
    const offset = row * this.strideBytes;
    return this.#vectors.subarray(offset, offset + sizeBytes);
  }

  erase(row: number): void {
    this.#vectors.fill(0, row * this.strideBytes, (row + 1) * this.strideBytes);
    this.ids[row] = 0;
    this.#plane?.erase(row);
  }
}
