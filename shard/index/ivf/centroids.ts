import { bitmapBytesOf } from '../../kernel/blockShape.js';
import { scanPath, WIDE } from '../../kernel/scanPath.js';
import { ScanScratch } from '../../kernel/scanScratch.js';
import type { VectorBlocks } from '../../kernel/vectorBlocks.js';
import type { Region } from '../../kernel/vectorMemory.js';

const NUMBER_BYTES = 8;

/**
 * The centroids, laid out as a block of rows whose ids are the numbers of the lists: the exact kernel finds the nearest,
 * and of equally near ones the first, whoever asks: a builder for the row, or a search for the same vector.
 *
 *   centroids: count × strideBytes | numbers: count × f64 | bitmap of all of them
 */
export class Centroids {
  readonly #region: Region;
  readonly #largestComponent: number;

  /** `components`: those of one centroid after another. Throws `capacity_exceeded`. */
  constructor(
    private readonly vectors: VectorBlocks,
    readonly count: number,
    components: Int32Array,
  ) {
    const { memory, dimension } = vectors;
    this.#region = memory.allocateBlock(this.#numbersOffset + count * NUMBER_BYTES + bitmapBytesOf(count));
    const { arena, address } = this.#region;
    const rows = new Int32Array(arena.buffer, address, this.#numbersOffset / 4).fill(0);
    const stride = vectors.shape.strideBytes / 4;
    for (let list = 0; list < count; list++)
      rows.set(components.subarray(list * dimension, (list + 1) * dimension), list * stride);
    new Float64Array(arena.buffer, this.#numbersAddress, count).forEach((_, list, numbers) => {
      numbers[list] = list;
    });
    const bitmap = new Uint32Array(arena.buffer, this.#bitmapAddress, bitmapBytesOf(count) / 4).fill(0);
    for (let list = 0; list < count; list++) bitmap[list >>> 5]! |= 1 << (list & 31);
    this.#largestComponent = arena.kernel.largestComponent(address, this.#numbersOffset) >>> 0;
  }

  get bytes(): number {
    return this.#region.sizeBytes;
  }

  /** A copy of the components of `count` centroids from `first` on, one after another. */
  components(first: number, count: number): Int32Array {
    const { arena, address } = this.#region;
    const { dimension, shape } = this.vectors;
    const copy = new Int32Array(count * dimension);
    for (let at = 0; at < count; at++) {
      const row = new Int32Array(arena.buffer, address + (first + at) * shape.strideBytes, dimension);
      copy.set(row, at * dimension);
    }
    return copy;
  }

  /** The numbers of the `most` lists that are nearest to a vector, nearest first. `vector`: little-endian components. */
  nearest(vector: Uint8Array, most: number): Uint32Array {
    const { arena, address } = this.#region;
    const { dimension, shape, narrowReach } = this.vectors;
    const { strideBytes } = shape;
    const scratch = new ScanScratch(arena, vector, { capacity: most, strideBytes, bitmapBytes: 0 });
    try {
      const path = scanPath(dimension, this.#largestComponent + scratch.largestQueryComponent, narrowReach);
      const words = bitmapBytesOf(this.count) / 8;
      const { kernel } = arena;
      const block = [address, this.#numbersAddress, this.#bitmapAddress, words, 0] as const;
      if (path === WIDE) kernel.scanWide(scratch.address, ...block);
      else kernel.scanNarrow(scratch.address, ...block, path);
      return scratch.hits().slots;
    } finally {
      scratch.free();
    }
  }

  free(): void {
    this.vectors.memory.freeBlock(this.#region);
  }

  get #numbersOffset(): number {
    return this.count * this.vectors.shape.strideBytes;
  }

  get #numbersAddress(): number {
    return this.#region.address + this.#numbersOffset;
  }

  get #bitmapAddress(): number {
    return this.#numbersAddress + this.count * NUMBER_BYTES;
  }
}
