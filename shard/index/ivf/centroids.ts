/** The coarse quantiser of an inverted file: finds the centroids nearest to a vector by an exact scan. */
import { ExactScan } from '../../kernel/exactScan.js';
import type { RowsPlace } from '../../kernel/rowTable.js';
import { VectorBlocks } from '../../kernel/vectorBlocks.js';
import type { BlockMemory } from '../../kernel/vectorMemory.js';

/**
 * The centroids, stored like the rows of a collection. Their slots and ids are the numbers of the lists. Of equally near
 * centroids the first is found, as in a build. So builds and searches choose equal lists for equal vectors.
 */
export class Centroids {
  readonly #rows: VectorBlocks;

  /** `components`: those of all centroids, list by list. Throws `capacity_exceeded`. */
  constructor(memory: BlockMemory, dimension: number, count: number, components: Int32Array) {
    this.#rows = new VectorBlocks(memory, dimension);
    try {
      this.#rows.reserve(count);
    } catch (error) {
      this.free();
      throw error;
    }
    const bytes = new Uint8Array(components.buffer, components.byteOffset, components.byteLength);
    for (let list = 0; list < count; list++) {
      const slot = this.#rows.acquire();
      this.#rows.write(slot, list, bytes.subarray(4 * dimension * list, 4 * dimension * (list + 1)));
      this.#rows.publish(slot);
    }
  }

  get bytes(): number {
    return this.#rows.bytes;
  }

  /** Where the centroids are, for any thread. */
  get place(): RowsPlace {
    return this.#rows.place;
  }

  /** Returns a copy of the components of a list's centroid. */
  components(list: number): Int32Array {
    return new Int32Array(this.#rows.vectorBytes(list).buffer);
  }

  /** Returns the numbers of the `most` nearest lists, nearest first. `vector`: components, or their little-endian bytes. */
  nearest(vector: Int32Array | Uint8Array, most: number): Uint32Array {
    const scan = new ExactScan(this.#rows, vector, most);
    try {
      scan.step(Number.POSITIVE_INFINITY);
      return scan.hits().slots;
    } finally {
      scan.close();
    }
  }

  /** Overwrites the centroid of an empty list. No search and no row finds the list again. */
  erase(list: number): void {
    this.#rows.release(list);
  }

  free(): void {
    this.#rows.destroy();
  }
}
