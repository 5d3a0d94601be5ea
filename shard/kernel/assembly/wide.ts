/**
 * Exact squared distances over the whole range of i32. A difference is below 2^32 and its square below 2^64. So each
 * lane keeps two sums: of the upper halves of the squares, and of the squares themselves modulo 2^64. The sum of the
 * lower halves is the second less 2^32 times the first, modulo 2^64. It is exact, since it stays below 2^64 for up to
 * 2^32 components.
 */
import { offer } from './heap';
import { sumOf } from './lanes';
import { queryOf, Scan, vectorOf } from './scan';

/** Rows read side by side. Their eight sums leave registers for the rest. */
export const WIDE_GROUP: u32 = 4;

@inline function absoluteDifference(vector: usize, query: v128): v128 {
  const row = v128.load(vector);
  return i32x4.sub(i32x4.max_s(row, query), i32x4.min_s(row, query));
}

@inline function addSquares(sums: v128, difference: v128): v128 {
  const first = i64x2.extmul_low_i32x4_u(difference, difference);
  const second = i64x2.extmul_high_i32x4_u(difference, difference);
  return i64x2.add(sums, i64x2.add(first, second));
}

@inline function addUppers(uppers: v128, difference: v128): v128 {
  const first = i64x2.extmul_low_i32x4_u(difference, difference);
  const second = i64x2.extmul_high_i32x4_u(difference, difference);
  return i64x2.add(uppers, i64x2.add(i64x2.shr_u(first, 32), i64x2.shr_u(second, 32)));
}

@inline function offerSums(scan: Scan, at: u32, sums: v128, uppers: v128): void {
  const upper = sumOf(uppers);
  const lower = sumOf(sums) - (upper << 32);
  offer(scan, at, upper + (lower >> 32), u32(lower));
}

/** Considers the listed row `at`. */
export function considerWide(scan: Scan, at: u32): void {
  considerWideAt(scan, at, vectorOf(scan, at));
}

/** Considers the listed row `at`, whose vector is at an address. */
export function considerWideAt(scan: Scan, at: u32, vector: usize): void {
  const query = queryOf(scan);
  const end: usize = scan.strideBytes;
  let sums = i64x2.splat(0);
  let uppers = sums;
  for (let offset: usize = 0; offset < end; offset += 16) {
    const difference = absoluteDifference(vector + offset, v128.load(query + offset));
    sums = addSquares(sums, difference);
    uppers = addUppers(uppers, difference);
  }
  offerSums(scan, at, sums, uppers);
}

/** Considers the listed rows at, at + apart, … (WIDE_GROUP of them). */
export function considerWideGroup(scan: Scan, at: u32, apart: u32): void {
  const query = queryOf(scan);
  const end: usize = scan.strideBytes;
  const v0 = vectorOf(scan, at);
  const v1 = vectorOf(scan, at + apart);
  const v2 = vectorOf(scan, at + apart * 2);
  const v3 = vectorOf(scan, at + apart * 3);
  let s0 = i64x2.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  let u0 = s0;
  let u1 = s0;
  let u2 = s0;
  let u3 = s0;
  for (let offset: usize = 0; offset < end; offset += 16) {
    const q = v128.load(query + offset);
    let difference = absoluteDifference(v0 + offset, q);
    s0 = addSquares(s0, difference);
    u0 = addUppers(u0, difference);
    difference = absoluteDifference(v1 + offset, q);
    s1 = addSquares(s1, difference);
    u1 = addUppers(u1, difference);
    difference = absoluteDifference(v2 + offset, q);
    s2 = addSquares(s2, difference);
    u2 = addUppers(u2, difference);
    difference = absoluteDifference(v3 + offset, q);
    s3 = addSquares(s3, difference);
    u3 = addUppers(u3, difference);
  }
  offerSums(scan, at, s0, u0);
  offerSums(scan, at + apart, s1, u1);
  offerSums(scan, at + apart * 2, s2, u2);
  offerSums(scan, at + apart * 3, s3, u3);
}
