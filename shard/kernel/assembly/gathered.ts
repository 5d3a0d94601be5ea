/**
 * The rows within a limit, in the order they were met, where a scan gathers those instead of keeping the nearest. They
 * lie where the heap would, as entries of a finished scan do.
 */
import { entriesOf, rowsOf, Scan } from './scan';
import { scoreOf } from './score';

@unmanaged
class Gathered {
  score: f64;
  id: f64;
  /** Of no meaning. */
  rest: u32;
  slot: u32;
}

/**
 * A total above this has a score above the limit. The score is a total rounded by 2^-53 of it at most; the limit is
 * raised by eight times that, so that neither that rounding nor the one here cuts a row whose score is within it.
 */
export function limitTotal(scan: Scan): u64 {
  const total = scan.limit * 4294967296.0 * 1.000000000000001;
  return total < 18446744073709551616.0 ? u64(total) : u64.MAX_VALUE;
}

/** Adds the listed row `at`, at the distance high * 2^32 + low, where it is within the limit. */
export function gather(scan: Scan, at: u32, high: u64, low: u32): void {
  const score = scoreOf(high, low);
  if (score > scan.limit) return;
  const row = load<u32>(rowsOf(scan) + (usize(at) << 2));
  const entry = changetype<Gathered>(entriesOf(scan) + usize(scan.gathered) * offsetof<Gathered>());
  entry.score = score;
  entry.id = load<f64>(usize(scan.ids) + (usize(row) << 3));
  entry.slot = scan.firstSlot + row;
  scan.gathered++;
}
