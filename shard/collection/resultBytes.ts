/** Numbers as they travel: little-endian bytes. */
import type { Results } from '../../shared/calls.js';
import type { Found } from '../search/found.js';

export const resultOf = ({ ids, scores, aged, hops }: Found): Results['search'] => ({
  ids: bytesOf(ids),
  scores: bytesOf(scores),
  ...(aged === undefined ? {} : { factors: bytesOf(aged.factors), agesSecs: bytesOf(aged.agesSecs) }),
  ...(hops === undefined ? {} : { hops: bytesOf(hops) }),
});

export const bytesOf = (numbers: Float64Array | Int32Array): Uint8Array =>
  new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);

/** Of little-endian bytes at any alignment. */
export const componentsOf = (bytes: Uint8Array): Int32Array =>
  bytes.byteOffset % 4 === 0
    ? new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    : new Int32Array(Uint8Array.from(bytes).buffer);
