import { SignCoder } from '../../kernel/signCodes.js';

/** With fewer dimensions the signs of a row cost as much as its codes. */
const DIMENSION_MIN = 64;

/**
 * The signs of rows around the centroids of their lists, which are compared before their codes. Queries and centroids are rotated as
 * differences from the middle of all centroids, so that single precision tells them apart.
 */
export class ListSigns {
  readonly #coder: SignCoder;

  private constructor(private readonly middle: Int32Array) {
    this.#coder = new SignCoder(middle.length);
  }

  /** `centroids`: of all lists, one after another. Undefined where signs do not pay. */
  static around(centroids: Int32Array, dimension: number): ListSigns | undefined {
    if (dimension < DIMENSION_MIN) return undefined;
    const sums = new Float64Array(dimension);
    for (let at = 0; at < centroids.length; at++) sums[at % dimension]! += centroids[at]!;
    const lists = centroids.length / dimension;
    return new ListSigns(Int32Array.from(sums, (sum) => Math.round(sum / lists)));
  }

  get dimension(): number {
    return this.middle.length;
  }

  /** Returns a copy of a query or a centroid, rotated. */
  rotated(components: Int32Array): Float32Array {
    return this.#coder.rotated(components, this.middle);
  }

  /** Returns the code of a row in memory that the next call writes again. */
  encode(components: Int32Array, centroid: Int32Array): Uint8Array {
    return this.#coder.encode(components, centroid);
  }
}
