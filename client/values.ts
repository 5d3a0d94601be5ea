/** Values that callers give. */

/** A vector. If all vectors of a request are `Float32Array`s, their bytes are sent; otherwise decimals. */
export type Vector = readonly number[] | Float32Array | Float64Array;

/** An object of JSON with keys of the caller, which answers contain unchanged. */
export interface JsonObject {
  [key: string]: unknown;
}
