/**
 * Rejects most rows at a third of the arithmetic of an exact distance, so that a scan waits for memory and not for
 * multipliers. Components are cut to c >> shift, which fits i16, and their differences d' squared and summed. What was
 * cut off moves a component of the difference d by less than 2^shift, so over n components, by the triangle inequality,
 *
 *   2^shift * |d'| <= |d| + 2^shift * sqrt(n),
 *
 * and no row within the exact distance W = |d|^2 has |d'|^2 above (sqrt(W) / 2^shift + sqrt(n))^2. Rows above are
 * certainly too far; the others are measured exactly. The result is therefore the same as without the sieve.
 *
 * A last half vector of components is left out, which only makes the left side smaller.
 *
 * The host chooses a shift that keeps |d'| <= 4095: it then fits i16, and a lane's sum of a chunk's 256 squares fits u32.
 */
import { coarseQueryOf, queryOf, Scan, vectorOf } from './scan';

/** Bytes of a vector whose squares one lane can sum: 1024 components, 256 a lane. */
const CHUNK_BYTES: usize = 4096;

@inline function sievedBytes(scan: Scan): usize {
  return usize(scan.strideBytes) & ~31;
}

@inline function coarse(vector: usize, shift: i32): v128 {
  return i16x8.narrow_i32x4_s(
    i32x4.shr_s(v128.load(vector), shift),
    i32x4.shr_s(v128.load(vector, 16), shift),
  );
}

@inline function addSquares(lanes: v128, vector: usize, query: v128, shift: i32): v128 {
  const difference = i16x8.sub(coarse(vector, shift), query);
  return i32x4.add(lanes, i32x4.dot_i16x8_s(difference, difference));
}

/** Adds pairs of u32 lanes into u64 lanes. */
@inline function widen(lanes: v128): v128 {
  return i64x2.add(v128.and(lanes, i64x2.splat(0xffffffff)), i64x2.shr_u(lanes, 32));
}

/** Adds the sum of the u32 lanes of `first` to lane 0 and that of `second` to lane 1. */
@inline function addSums(sums: v128, first: v128, second: v128): v128 {
  const a = widen(first);
  const b = widen(second);
  return i64x2.add(sums, i64x2.add(v128.shuffle<i64>(a, b, 0, 2), v128.shuffle<i64>(a, b, 1, 3)));
}

/** Cuts the query once for all blocks that are sieved with the same shift. */
export function prepareSieve(scan: Scan, shift: i32): void {
  if (scan.coarseShift == shift) return;
  const from = queryOf(scan);
  const to = coarseQueryOf(scan);
  const end = sievedBytes(scan);
  for (let offset: usize = 0; offset < end; offset += 32) v128.store(to + (offset >> 1), coarse(from + offset, shift));
  scan.coarseShift = shift;
}

/** The largest |d'|^2 of a row that may be within the exact distance `worst`, with room for the rounding of f64. */
export function sieveLimit(scan: Scan, worst: u64, shift: i32): i64 {
  const components = f64(sievedBytes(scan) >> 2);
  const radius = sqrt(f64(worst)) / f64(1 << shift) + sqrt(components);
  return i64(radius * radius * 1.0000001) + 1;
}

/** Of the listed rows at, at + apart, …: a bit for each that may be within the limit. */
@inline function passing(scan: Scan, at: u32, apart: u32, limit: i64, shift: i32): i32 {
  const query = coarseQueryOf(scan);
  const end = sievedBytes(scan);
  const v0 = vectorOf(scan, at);
  const v1 = vectorOf(scan, at + apart);
  const v2 = vectorOf(scan, at + apart * 2);
  const v3 = vectorOf(scan, at + apart * 3);
  const v4 = vectorOf(scan, at + apart * 4);
  const v5 = vectorOf(scan, at + apart * 5);
  const v6 = vectorOf(scan, at + apart * 6);
  const v7 = vectorOf(scan, at + apart * 7);
  let sums01 = i64x2.splat(0);
  let sums23 = sums01;
  let sums45 = sums01;
  let sums67 = sums01;
  let offset: usize = 0;
  while (offset < end) {
    const chunkEnd = min(offset + CHUNK_BYTES, end);
    let t0 = i32x4.splat(0);
    let t1 = t0;
    let t2 = t0;
    let t3 = t0;
    let t4 = t0;
    let t5 = t0;
    let t6 = t0;
    let t7 = t0;
    for (; offset < chunkEnd; offset += 32) {
      const q = v128.load(query + (offset >> 1));
      t0 = addSquares(t0, v0 + offset, q, shift);
      t1 = addSquares(t1, v1 + offset, q, shift);
      t2 = addSquares(t2, v2 + offset, q, shift);
      t3 = addSquares(t3, v3 + offset, q, shift);
      t4 = addSquares(t4, v4 + offset, q, shift);
      t5 = addSquares(t5, v5 + offset, q, shift);
      t6 = addSquares(t6, v6 + offset, q, shift);
      t7 = addSquares(t7, v7 + offset, q, shift);
    }
    sums01 = addSums(sums01, t0, t1);
    sums23 = addSums(sums23, t2, t3);
    sums45 = addSums(sums45, t4, t5);
    sums67 = addSums(sums67, t6, t7);
  }
  const limits = i64x2.splat(limit);
  return (
    i64x2.bitmask(i64x2.le_s(sums01, limits)) |
    (i64x2.bitmask(i64x2.le_s(sums23, limits)) << 2) |
    (i64x2.bitmask(i64x2.le_s(sums45, limits)) << 4) |
    (i64x2.bitmask(i64x2.le_s(sums67, limits)) << 6)
  );
}

// A shift by a constant is one instruction and by a variable four, so each shift has its own code.
export function passing4(scan: Scan, at: u32, apart: u32, limit: i64): i32 {
  return passing(scan, at, apart, limit, 4);
}

export function passing8(scan: Scan, at: u32, apart: u32, limit: i64): i32 {
  return passing(scan, at, apart, limit, 8);
}

export function passing12(scan: Scan, at: u32, apart: u32, limit: i64): i32 {
  return passing(scan, at, apart, limit, 12);
}

export function passing16(scan: Scan, at: u32, apart: u32, limit: i64): i32 {
  return passing(scan, at, apart, limit, 16);
}

/** `shift` is one of 4, 8, 12 and 16, and the one prepared. */
@inline export function sieveGroup(scan: Scan, at: u32, apart: u32, limit: i64, shift: i32): i32 {
  if (shift == 4) return passing4(scan, at, apart, limit);
  if (shift == 8) return passing8(scan, at, apart, limit);
  if (shift == 12) return passing12(scan, at, apart, limit);
  return passing16(scan, at, apart, limit);
}
