import { idAt, keep, offer, rowAt, worstTotal } from './heap';
import { narrowTotal, narrowTotals } from './narrow';
import { enterBlock, GROUP, listRows, Scan, totalsOf } from './scan';
import { prepareSieve, sieveGroup, sieveLimit } from './sieve';

/**
 * Batches that go without the sieve after one of which it held back less than half: one, and twice as many each time that
 * it does so again, up to this many. At the beginning of a search it is soon of use, among some rows it never is.
 */
const SIEVE_REST_MAX: u16 = 16;

/** Offers the listed row `at`; returns the worst total afterwards, which was `worst` before. */
@inline function consider(scan: Scan, at: u32, total: u64, worst: u64): u64 {
  if (total > worst || !offer(scan, at, total >> 32, u32(total))) return worst;
  return worstTotal(scan);
}

/** Considers the listed rows from `from` to `to`, one after another. */
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

/**
 * Considers the listed row `at`, which passed the sieve; true where that changed the worst total. The id is far away in
 * memory: it is asked for first, and comes while the distance is measured.
 */
@inline function considerPassed(scan: Scan, at: u32, worst: u64): bool {
  const id = idAt(scan, at);
  const total = narrowTotal(scan, at);
  if (total > worst) return false;
  if (scan.gathers) return offer(scan, at, total >> 32, u32(total));
  return keep(scan, scan.firstSlot + rowAt(scan, at), id, total >> 32, u32(total));
}

/** Considers those of the first `groups` * GROUP listed rows that pass the sieve; returns how many did. */
function considerSieved(scan: Scan, groups: u32, shift: i32): u32 {
  prepareSieve(scan, shift);
  let worst = worstTotal(scan);
  let limit = sieveLimit(scan, worst, shift);
  let passed: u32 = 0;
  for (let group: u32 = 0; group < groups; group++) {
    let mask = sieveGroup(scan, group, groups, limit, shift);
    while (mask != 0) {
      const at = group + u32(ctz(mask)) * groups;
      mask &= mask - 1;
      passed++;
      if (considerPassed(scan, at, worst)) {
        worst = worstTotal(scan);
        limit = sieveLimit(scan, worst, shift);
      }
    }
  }
  return passed;
}

/** Considers the first `listed` rows of the list, with the sieve where it pays. */
export function considerListedNarrow(scan: Scan, listed: u32, sieveShift: i32): void {
  const groups = listed / GROUP;
  if (sieveShift == 0 || scan.sieveRest > 0 || scan.count < scan.capacity) {
    considerGroups(scan, groups);
    if (scan.sieveRest > 0) scan.sieveRest--;
  } else if (considerSieved(scan, groups, sieveShift) * 2 > groups * GROUP) {
    scan.sieveRests = max<u16>(1, min<u16>(SIEVE_REST_MAX, scan.sieveRests * 2));
    scan.sieveRest = scan.sieveRests;
  } else {
    scan.sieveRests = 0;
  }
  considerRows(scan, groups * GROUP, listed);
}

/**
 * Offers every row of a block whose bit is set in `bitmap` (of `words` u64). See `narrow.ts` for what the components
 * must fulfil. `sieveShift`: 0 (no sieve), or one that fulfils what `sieve.ts` asks.
 */
export function scanNarrow(
  scan: Scan,
  vectors: usize,
  ids: usize,
  bitmap: usize,
  words: u32,
  firstSlot: u32,
  sieveShift: i32,
): void {
  enterBlock(scan, vectors, ids, bitmap, words, firstSlot);
  for (;;) {
    const listed = listRows(scan);
    if (listed == 0) return;
    considerListedNarrow(scan, listed, sieveShift);
  }
}
