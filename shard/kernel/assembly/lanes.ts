/** The sum of the two 64-bit lanes, modulo 2^64. */
@inline export function sumOf(lanes: v128): u64 {
  return u64(i64x2.extract_lane(lanes, 0)) + u64(i64x2.extract_lane(lanes, 1));
}
