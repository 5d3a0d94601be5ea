/**
 * Scans lists of an inverted file for one query. A list holds codes under a plane, and the slots of its rows. For each
 * row the codes give a lower and an upper bound of its distance. The heap keeps the smallest upper bounds: a row whose
 * lower bound is beyond the largest of them is not among the nearest.
 */
import { keep, worstTotal } from './heap';
import { BEYOND_F64, enterPlane, keepNear, leastDistance, listNear, mostDistance, setReach } from './nearness';
import { Plane } from './plane';
import { BATCH, dotsOf, rowsOf, Scan } from './scan';
import { codesFrom, ESTIMATE_BYTES, estimateRows, SignQuery } from './signs';

/** Bytes of a found row: the least squared distance f64, slot u32, unused u32. */
const FOUND_BYTES: usize = 16;

/**
 * Writes the rows that may be among the nearest to `found`, and returns how many. Looks at `rows` rows from `first` on
 * whose bit is set in `bitmap`. At most BATCH rows, and `first` begins a word.
 */
export function scanList(
  scan: Scan,
  plane: Plane,
  slots: usize,
  bitmap: usize,
  first: u32,
  rows: u32,
  found: usize,
): u32 {
  scan.bitmap = u32(bitmap);
  enterPlane(scan, plane);
  setReach(scan, worstTotal(scan));
  return takeListed(scan, listNear(scan, first, rows), slots, found);
}

/**
 * Scans any number of rows like `scanList`, but first skips rows that their sign codes show to be far. The signs are
 * relative to the centre that the query has entered.
 */
export function scanListBySigns(
  scan: Scan,
  plane: Plane,
  slots: usize,
  bitmap: usize,
  first: u32,
  rows: u32,
  found: usize,
  query: SignQuery,
  signs: usize,
): u32 {
  const list = rowsOf(scan);
  let taken: u32 = 0;
  for (let from = first; from < first + rows; from += BATCH) {
    const worst = worstTotal(scan);
    const limit = worst == u64.MAX_VALUE ? f32(Infinity) : f32(f64(worst) - f64(query.square));
    // The area behind the rows found so far.
    const to = found + usize(taken) * FOUND_BYTES;
    const batch = min(BATCH, first + rows - from);
    const estimated = estimateRows(query, codesFrom(query, signs, from), batch, from, bitmap + (usize(from) >> 3), limit, to);
    if (estimated == 0) continue;
    for (let at: u32 = 0; at < estimated; at++) {
      store<u32>(list + (usize(at) << 2), load<u32>(to + usize(at) * ESTIMATE_BYTES));
    }
    enterPlane(scan, plane);
    setReach(scan, worst);
    taken += takeListed(scan, keepNear(scan, estimated), slots, to);
  }
  return taken;
}

/** Takes the first `listed` rows of the list, whose products are computed. */
function takeListed(scan: Scan, listed: u32, slots: usize, found: usize): u32 {
  const plane = changetype<Plane>(scan.plane);
  const list = rowsOf(scan);
  const dots = dotsOf(scan);
  for (let at: u32 = 0; at < listed; at++) {
    const row = load<u32>(list + (usize(at) << 2));
    const place = usize(row) << 2;
    const dot = load<i32>(dots + (usize(at) << 2));
    const gain = f64(load<f32>(usize(plane.gains) + place));
    const residual = f64(load<f32>(usize(plane.residuals) + place));
    const slot = load<u32>(slots + place);
    store<f64>(found, leastDistance(scan, dot, gain, residual));
    store<u32>(found, slot, 8);
    found += FOUND_BYTES;
    const most = mostDistance(scan, dot, gain, residual);
    keep(scan, slot, f64(slot), most >> 32, u32(most));
  }
  return listed;
}

/** Returns the bound: a row whose least squared distance is above it is not among the nearest. */
export function worstDistance(scan: Scan): f64 {
  const worst = worstTotal(scan);
  return worst == u64.MAX_VALUE ? Infinity : f64(worst) * (1.0 + BEYOND_F64);
}
