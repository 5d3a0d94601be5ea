/** Reductions over the lanes of a vector register, and over memory. */

/** Length of a line of the processor's caches, which it loads at once. */
export const LINE_BYTES: usize = 64;

/** The sum of the two 64-bit lanes, modulo 2^64. */
@inline export function sumOf(lanes: v128): u64 {
  return u64(i64x2.extract_lane(lanes, 0)) + u64(i64x2.extract_lane(lanes, 1));
}

/** Returns the sum of the four lanes, added in pairs first. */
@inline export function totalOf(lanes: v128): f32 {
  const pairs = f32x4.add(lanes, v128.shuffle<i32>(lanes, lanes, 2, 3, 0, 1));
  return f32x4.extract_lane(pairs, 0) + f32x4.extract_lane(pairs, 1);
}

/** The largest of the four lanes. */
@inline export function largestOf(lanes: v128): f32 {
  const pairs = f32x4.max(lanes, v128.shuffle<i32>(lanes, lanes, 2, 3, 0, 1));
  return max<f32>(f32x4.extract_lane(pairs, 0), f32x4.extract_lane(pairs, 1));
}

/** The largest |component| of `sizeBytes` of components (a multiple of 16), up to 2^31. */
export function largestComponent(vector: usize, sizeBytes: u32): u32 {
  const end = vector + usize(sizeBytes);
  let largest = i32x4.splat(0);
  for (; vector < end; vector += 16) largest = i32x4.max_u(largest, i32x4.abs(v128.load(vector)));
  const pairs = max<u32>(i32x4.extract_lane(largest, 0), i32x4.extract_lane(largest, 1));
  return max<u32>(pairs, max<u32>(i32x4.extract_lane(largest, 2), i32x4.extract_lane(largest, 3)));
}

/**
 * Reads `sizeBytes` (a multiple of 512) in eight streams, as fast as one thread can, and returns the sum. The bench
 * compares scans with it.
 */
export function readAll(from: usize, sizeBytes: usize): u64 {
  const apart = sizeBytes >> 3;
  const end = from + apart;
  let a = i64x2.splat(0);
  let b = a;
  let c = a;
  let d = a;
  for (let line = from; line < end; line += 64) {
    for (let stream: usize = 0; stream < 8; stream++) {
      const part = line + stream * apart;
      a = i64x2.add(a, v128.load(part));
      b = i64x2.add(b, v128.load(part, 16));
      c = i64x2.add(c, v128.load(part, 32));
      d = i64x2.add(d, v128.load(part, 48));
    }
  }
  a = i64x2.add(i64x2.add(a, b), i64x2.add(c, d));
  return sumOf(a);
}
