/** Values that callers give. */

/** A vector. Where all of a request are `Float32Array`s, they are sent as their bytes; otherwise as decimals. */
export type Vector = readonly number[] | Float32Array | Float64Array;

/** An object of JSON with keys of the caller, which come back as they were sent. */
export interface JsonObject {
  [key: string]: unknown;
}
