/**
 * Exact squared distances when no difference can exceed i32 and no sum i64. That holds if (largest |row| + largest
 * |query| component) is below 2^31 and dimension times its square below 2^63. The host checks this bound.
 */
import { sumOf } from './lanes';
import { queryOf, Scan, totalsOf, vectorOf } from './scan';

@inline function addSquares(total: v128, vector: usize, query: v128): v128 {
  const difference = i32x4.sub(v128.load(vector), query);
  const low = i64x2.extmul_low_i32x4_s(difference, difference);
  const high = i64x2.extmul_high_i32x4_s(difference, difference);
  return i64x2.add(total, i64x2.add(low, high));
}

/** The distance of the listed row `at`. */
export function narrowTotal(scan: Scan, at: u32): u64 {
  const query = queryOf(scan);
  const vector = vectorOf(scan, at);
  const end: usize = scan.strideBytes;
  let total = i64x2.splat(0);
  for (let offset: usize = 0; offset < end; offset += 16) {
    total = addSquares(total, vector + offset, v128.load(query + offset));
  }
  return sumOf(total);
}

/** Writes the distances of a group (the listed rows at, at + apart, at + 2 * apart, …) to the scan's totals. */
export function narrowTotals(scan: Scan, at: u32, apart: u32): void {
  const query = queryOf(scan);
  const end: usize = scan.strideBytes;
  const v0 = vectorOf(scan, at);
  const v1 = vectorOf(scan, at + apart);
  const v2 = vectorOf(scan, at + apart * 2);
  const v3 = vectorOf(scan, at + apart * 3);
  const v4 = vectorOf(scan, at + apart * 4);
  const v5 = vectorOf(scan, at + apart * 5);
  const v6 = vectorOf(scan, at + apart * 6);
  const v7 = vectorOf(scan, at + apart * 7);
  let t0 = i64x2.splat(0);
  let t1 = t0;
  let t2 = t0;
  let t3 = t0;
  let t4 = t0;
  let t5 = t0;
  let t6 = t0;
  let t7 = t0;
  for (let offset: usize = 0; offset < end; offset += 16) {
    const q = v128.load(query + offset);
    t0 = addSquares(t0, v0 + offset, q);
    t1 = addSquares(t1, v1 + offset, q);
    t2 = addSquares(t2, v2 + offset, q);
    t3 = addSquares(t3, v3 + offset, q);
    t4 = addSquares(t4, v4 + offset, q);
    t5 = addSquares(t5, v5 + offset, q);
    t6 = addSquares(t6, v6 + offset, q);
    t7 = addSquares(t7, v7 + offset, q);
  }
  const totals = totalsOf(scan);
  store<u64>(totals, sumOf(t0), 0);
  store<u64>(totals, sumOf(t1), 8);
  store<u64>(totals, sumOf(t2), 16);
  store<u64>(totals, sumOf(t3), 24);
  store<u64>(totals, sumOf(t4), 32);
  store<u64>(totals, sumOf(t5), 40);
  store<u64>(totals, sumOf(t6), 48);
  store<u64>(totals, sumOf(t7), 56);
}
