/** Sign codes of inverted lists (RaBitQ, see `kernel/assembly/signs.ts`): dimension / 8 + 8 bytes a row. */
import { SignCoder } from '../../kernel/signCodes.js';

/** Fewest dimensions with which a sign code takes less time to compare than a byte code. */
const DIMENSION_MIN = 64;

/**
 * Makes the sign codes of rows, relative to the centroids of their lists. Queries and centroids are rotated as
 * differences from the mean of all centroids, so that f32 is precise enough.
 */
export class ListSigns {
  readonly #coder: SignCoder;

  private constructor(private readonly mean: Int32Array) {
    this.#coder = new SignCoder(mean.length);
  }

  /** `centroids`: the components of all centroids, list by list. Returns undefined for fewer than 64 dimensions. */
  static around(centroids: Int32Array, dimension: number): ListSigns | undefined {
    if (dimension < DIMENSION_MIN) return undefined;
    const sums = new Float64Array(dimension);
    for (let at = 0; at < centroids.length; at++) sums[at % dimension]! += centroids[at]!;
    const lists = centroids.length / dimension;
    return new ListSigns(Int32Array.from(sums, (sum) => Math.round(sum / lists)));
  }

  get dimension(): number {
    return this.mean.length;
  }

  /** Returns a rotated copy of a query or a centroid. */
  rotated(components: Int32Array): Float32Array {
    return this.#coder.rotated(components, this.mean);
  }

  /** Returns the code of a row. The next call overwrites it. */
  encode(components: Int32Array, centroid: Int32Array): Uint8Array {
    return this.#coder.encode(components, centroid);
  }
}
