/**
 * The lists of an inverted file, read for one query: rows are codes under a plane, beside the slots that they are of. The heap
 * of the scan holds the smallest distances that rows cannot exceed, so that what a row cannot fall below says whether it may
 * be among the nearest.
 */
import { keep, worstTotal } from './heap';
import { BEYOND_F64, enterPlane, keepNear, leastDistance, listNear, mostDistance, setReach } from './nearness';
import { Plane } from './plane';
import { BATCH, dotsOf, rowsOf, Scan } from './scan';
import { codesFrom, ESTIMATE_BYTES, estimateRows, SignQuery } from './signs';

/** Bytes of a row that is found: the least squared distance f64, slot u32, unused u32. */
const FOUND_BYTES: usize = 16;

/**
 * Writes those of the `rows` rows from `first` on (at most BATCH, the first of a word) whose bit is set in `bitmap` and that may
 * be among the nearest to `found`; returns how many.
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
 * As `scanList`, of any number of rows, but leaves out what the signs of the rows, around the centre that the query has entered, show to
 * be far.
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
    // Where rows that are found come afterwards.
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

/** Takes the first `listed` rows of the list, whose products have been made. */
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

/** A row whose least squared distance is above this is not among the nearest. */
export function worstDistance(scan: Scan): f64 {
  const worst = worstTotal(scan);
  return worst == u64.MAX_VALUE ? Infinity : f64(worst) * (1.0 + BEYOND_F64);
}
