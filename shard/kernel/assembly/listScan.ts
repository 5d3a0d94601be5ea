/**
 * The lists of an inverted file, read for one query: rows are codes under a plane, beside the slots that they are of. The heap
 * of the scan holds the smallest distances that rows cannot exceed, so that what a row cannot fall below says whether it may
 * be among the nearest.
 */
import { keep, worstTotal } from './heap';
import { BEYOND_F64, enterPlane, leastDistance, listNear, mostDistance, setReach } from './nearness';
import { Plane } from './plane';
import { dotsOf, rowsOf, Scan } from './scan';

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
  const listed = listNear(scan, first, rows);
  const list = rowsOf(scan);
  const dots = dotsOf(scan);
  for (let at: u32 = 0; at < listed; at++) {
    const row = load<u32>(list + (usize(at) << 2));
    const place = usize(row) << 2;
    const dot = load<i32>(dots + (usize(row - first) << 2));
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
