/** The largest |component| of `sizeBytes` of components (a multiple of 16), up to 2^31. */
export function largestComponent(vector: usize, sizeBytes: u32): u32 {
  const end = vector + usize(sizeBytes);
  let largest = i32x4.splat(0);
  for (; vector < end; vector += 16) largest = i32x4.max_u(largest, i32x4.abs(v128.load(vector)));
  const pairs = max<u32>(i32x4.extract_lane(largest, 0), i32x4.extract_lane(largest, 1));
  return max<u32>(pairs, max<u32>(i32x4.extract_lane(largest, 2), i32x4.extract_lane(largest, 3)));
}
