/** k-means: seeds drawn by k-means++ (Arthur and Vassilvitskii, 2007), and the means of the rows assigned to a list. */
import { CODE_GROUP, codeTotals } from './cut';

/**
 * Takes account of a new seed, the code at `seed`. Lowers the squared distance of each of `rows` codes to its nearest
 * seed (u32, in whole groups) if the new one is nearer. Returns the sum of the distances, exact below 2^53.
 */
export function lowerDistancesToSeed(
  codes: usize,
  rows: u32,
  codeBytes: u32,
  seed: usize,
  nearest: usize,
  totals: usize,
): f64 {
  let sum: f64 = 0;
  for (let first: u32 = 0; first < rows; first += CODE_GROUP) {
    codeTotals(codes + usize(first) * codeBytes, codeBytes, codeBytes, seed, 0, totals);
    const end = min(CODE_GROUP, rows - first);
    for (let lane: u32 = 0; lane < end; lane++) {
      const at = nearest + (usize(first + lane) << 2);
      const total = min(load<u32>(at), load<u32>(totals + (usize(lane) << 2)));
      store<u32>(at, total);
      sum += f64(total);
    }
  }
  return sum;
}

/** Returns the first row at which the running sum of `nearest` exceeds `target`; the last row if it never does. */
export function rowAtSum(nearest: usize, rows: u32, target: f64): u32 {
  let sum: f64 = 0;
  for (let row: u32 = 0; row < rows; row++) {
    sum += f64(load<u32>(nearest + (usize(row) << 2)));
    if (sum > target) return row;
  }
  return rows - 1;
}

/** Adds each row to the sums (i64 per component) of its assigned list, and counts it there. */
export function addToSums(from: usize, rows: u32, strideBytes: u32, assigned: usize, sums: usize, counts: usize): void {
  const end: usize = strideBytes;
  for (let row: u32 = 0; row < rows; row++) {
    const list = usize(load<u32>(assigned + (usize(row) << 2)));
    const count = counts + (list << 2);
    store<u32>(count, load<u32>(count) + 1);
    const vector = from + usize(row) * end;
    const sum = sums + list * end * 2;
    for (let offset: usize = 0; offset < end; offset += 16) {
      const part = v128.load(vector + offset);
      const to = sum + offset * 2;
      v128.store(to, i64x2.add(v128.load(to), i64x2.extend_low_i32x4_s(part)));
      v128.store(to, i64x2.add(v128.load(to, 16), i64x2.extend_high_i32x4_s(part)), 16);
    }
  }
}

/** Replaces the centroid of each list that has rows by their mean, rounded half to even. */
export function moveToMeans(sums: usize, counts: usize, lists: u32, strideBytes: u32, centroids: usize): void {
  const components = usize(strideBytes) >> 2;
  for (let list: usize = 0; list < lists; list++) {
    const count = load<u32>(counts + (list << 2));
    if (count == 0) continue;
    for (let i: usize = 0; i < components; i++) {
      const at = list * components + i;
      store<i32>(centroids + (at << 2), i32(nearest(f64(load<i64>(sums + (at << 3))) / f64(count))));
    }
  }
}
