/** Measures listed rows exactly and offers them to the heap, in groups that are read side by side. */
import { offer, worstTotal } from './heap';
import { narrowTotal, narrowTotals } from './narrow';
import { GROUP, Scan, totalsOf } from './scan';
import { joinListed, SPLIT_GROUP, splitTotal, splitTotals } from './splitRows';
import { BYTES, SPLIT, WIDE, WORDS } from './way';
import { considerWide, considerWideAt, considerWideGroup, WIDE_GROUP } from './wide';

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

/** Considers the first `listed` rows of the list, by the way of the scan. */
export function considerListed(scan: Scan, listed: u32): void {
  const way = scan.way;
  if (way & WIDE) {
    if (way & SPLIT) considerJoined(scan, listed);
    else considerWideRows(scan, listed);
  } else if (way & BYTES) {
    considerSplit<i8>(scan, listed);
  } else if (way & WORDS) {
    considerSplit<i16>(scan, listed);
  } else {
    const groups = listed / GROUP;
    considerGroups(scan, groups);
    considerRows(scan, groups * GROUP, listed);
  }
}

function considerSplit<Residual>(scan: Scan, listed: u32): void {
  const totals = totalsOf(scan);
  const groups = listed / SPLIT_GROUP;
  let worst = worstTotal(scan);
  for (let at: u32 = 0; at < groups; at++) {
    splitTotals<Residual>(scan, at, groups);
    for (let stream: u32 = 0; stream < SPLIT_GROUP; stream++) {
      worst = consider(scan, at + stream * groups, load<u64>(totals + (usize(stream) << 3)), worst);
    }
  }
  for (let at = groups * SPLIT_GROUP; at < listed; at++) {
    worst = consider(scan, at, splitTotal<Residual>(scan, at), worst);
  }
}

/** Considers split rows whose components may be any. */
function considerJoined(scan: Scan, listed: u32): void {
  for (let at: u32 = 0; at < listed; at++) considerWideAt(scan, at, joinListed(scan, at));
}

/** Considers rows whose components may be any. */
function considerWideRows(scan: Scan, listed: u32): void {
  const groups = listed / WIDE_GROUP;
  for (let at: u32 = 0; at < groups; at++) considerWideGroup(scan, at, groups);
  for (let at = groups * WIDE_GROUP; at < listed; at++) considerWide(scan, at);
}
