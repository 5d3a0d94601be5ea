/**
 * Assigns rows to lists: each row to the centroid at the least exact distance, to the first of equals. Codes (`cut.ts`)
 * exclude most centroids, so that usually one or two are measured exactly. The result is that of the exact kernel.
 */
import { CODE_GROUP, codeTotals, cutRows, totalsWithin } from './cut';
import { offer, worstTotal } from './heap';
import { narrowTotal } from './narrow';
import { ENTRY_BYTES, enterBlock, entriesOf, queryOf, rowsOf, Scan } from './scan';
import { considerWide } from './wide';

/** Arguments, laid out by the host. The scan has a capacity of 1. */
@unmanaged
class Lists {
  scan: u32;
  strideBytes: u32;
  codeBytes: u32;
  /** See `cut.ts`. */
  shift: u32;
  limit: u32;
  dimension: u32;
  /** Number of centroids. */
  count: u32;
  /** Address of the centroids. */
  centroids: u32;
  /** Address of the numbers 0, 1, 2, … as f64: their ids. */
  numbers: u32;
  /** Address of their codes. */
  codes: u32;
  /** Room for the code of the row. */
  query: u32;
  /** Room for one total per centroid, in whole groups. */
  totals: u32;
}

/**
 * Largest total of a centroid that may be within the exact distance `worst`, with room for the rounding of f64. A total
 * is |d'|^2 (d' in `cut.ts`).
 */
@inline function totalLimitOf(lists: Lists, worst: u64): u32 {
  const radius = sqrt(f64(worst)) / f64(u64(1) << lists.shift) + sqrt(f64(lists.dimension));
  const limit = radius * radius * 1.0000001 + 1.0;
  return limit < 4294967295.0 ? u32(limit) : u32.MAX_VALUE;
}

@inline function measure(scan: Scan, list: u32, wide: bool): void {
  store<u32>(rowsOf(scan), list);
  if (wide) {
    considerWide(scan, 0);
  } else {
    const total = narrowTotal(scan, 0);
    offer(scan, 0, total >> 32, u32(total));
  }
}

/** Fills the totals; returns the index of the first least one. */
function leastTotal(lists: Lists): u32 {
  const count = lists.count;
  const codeBytes: usize = lists.codeBytes;
  let least = u32.MAX_VALUE;
  let at: u32 = 0;
  for (let first: u32 = 0; first < count; first += CODE_GROUP) {
    const totals = usize(lists.totals) + (usize(first) << 2);
    codeTotals(usize(lists.codes) + usize(first) * codeBytes, codeBytes, codeBytes, lists.query, 0, totals);
    let mask = totalsWithin(totals, i32x4.splat(least));
    while (mask != 0) {
      const list = first + u32(ctz(mask));
      mask &= mask - 1;
      const total = load<u32>(usize(lists.totals) + (usize(list) << 2));
      if (total >= least || list >= count) continue;
      least = total;
      at = list;
    }
  }
  return at;
}

/** Returns the centroid nearest to the row at address `row`. */
function nearestList(lists: Lists, row: usize, wide: bool): u32 {
  const scan = changetype<Scan>(usize(lists.scan));
  cutRows(row, lists.strideBytes, 1, lists.query, lists.codeBytes, lists.shift, lists.limit);
  memory.copy(queryOf(scan), row, lists.strideBytes);
  scan.count = 0;
  const first = leastTotal(lists);
  measure(scan, first, wide);
  const count = lists.count;
  let limits = i32x4.splat(totalLimitOf(lists, worstTotal(scan)));
  for (let group: u32 = 0; group < count; group += CODE_GROUP) {
    let mask = totalsWithin(usize(lists.totals) + (usize(group) << 2), limits);
    while (mask != 0) {
      const list = group + u32(ctz(mask));
      mask &= mask - 1;
      if (list == first || list >= count) continue;
      measure(scan, list, wide);
      limits = i32x4.splat(totalLimitOf(lists, worstTotal(scan)));
    }
  }
  return load<u32>(entriesOf(scan) + ENTRY_BYTES - 4);
}

/**
 * Writes the list of each of `rows` rows to `assigned` (u32) and returns how many entries changed. `assigned` may hold
 * anything before. If `wide`, components have no bound, otherwise that of `narrow.ts`.
 */
export function assignRows(lists: Lists, from: usize, rows: u32, assigned: usize, wide: bool): u32 {
  const scan = changetype<Scan>(usize(lists.scan));
  enterBlock(scan, lists.centroids, lists.numbers, 0, 0, 0);
  let changed: u32 = 0;
  for (let row: u32 = 0; row < rows; row++) {
    const list = nearestList(lists, from + usize(row) * lists.strideBytes, wide);
    const to = assigned + (usize(row) << 2);
    if (load<u32>(to) != list) changed++;
    store<u32>(to, list);
  }
  return changed;
}
