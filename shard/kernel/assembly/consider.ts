/** Measures listed rows exactly and offers them to the heap, in groups that are read side by side. */
import { offer, worstTotal } from './heap';
import { narrowTotal, narrowTotals } from './narrow';
import { GROUP, Scan, totalsOf } from './scan';
import { considerWide, considerWideGroup, WIDE_GROUP } from './wide';

/** Offers the listed row `at`. `worst` is the worst total before; returns the worst total after. */
@inline function consider(scan: Scan, at: u32, total: u64, worst: u64): u64 {
  if (total > worst || !offer(scan, at, total >> 32, u32(total))) return worst;
  return worstTotal(scan);
}

/** Considers the listed rows from `from` to `to` one by one. */
function considerRows(scan: Scan, from: u32, to: u32): void {
  let worst = worstTotal(scan);
  for (let at = from; at < to; at++) worst = consider(scan, at, narrowTotal(scan, at), worst);
}

/** Considers the first `groups` * GROUP of the listed rows. */
function considerGroups(scan: Scan, groups: u32): void {
  const totals = totalsOf(scan);
  let worst = worstTotal(scan);
  for (let at: u32 = 0; at < groups; at++) {
    narrowTotals(scan, at, groups);
    for (let stream: u32 = 0; stream < GROUP; stream++) {
      worst = consider(scan, at + stream * groups, load<u64>(totals + (usize(stream) << 3)), worst);
    }
  }
}

/** Considers the first `listed` rows of the list. They satisfy the bound of `narrow.ts`. */
export function considerNarrow(scan: Scan, listed: u32): void {
  const groups = listed / GROUP;
  considerGroups(scan, groups);
  considerRows(scan, groups * GROUP, listed);
}

/** Considers the first `listed` rows of the list, whose components may be any. */
export function considerWideRows(scan: Scan, listed: u32): void {
  const groups = listed / WIDE_GROUP;
  for (let at: u32 = 0; at < groups; at++) considerWideGroup(scan, at, groups);
  for (let at = groups * WIDE_GROUP; at < listed; at++) considerWide(scan, at);
}
