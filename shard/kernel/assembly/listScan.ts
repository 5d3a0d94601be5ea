/** The lists of an inverted file, read for one query: codes beside the slots of the rows they are of. */
import { CODE_GROUP, codeTotals, totalsWithin } from './cut';

/** Marks a place of a list that has no row. */
const NO_SLOT: u32 = 0xffffffff;

@inline function scan(
  codes: usize,
  slots: usize,
  rows: u32,
  codeBytes: usize,
  query: usize,
  shift: i32,
  limit: u32,
  found: usize,
): u32 {
  const limits = i32x4.splat(limit);
  // Codes are read in as many streams as there are in a group: one does not keep the memory busy.
  const groups = (rows + CODE_GROUP - 1) / CODE_GROUP;
  const apart = usize(groups) * codeBytes;
  // The totals of a group are stored behind the rows found so far: `scanList` asks for room for them.
  let at = found;
  for (let group: u32 = 0; group < groups; group++) {
    const totals = at + CODE_GROUP * 8;
    codeTotals(codes + usize(group) * codeBytes, apart, codeBytes, query, shift, totals);
    let mask = totalsWithin(totals, limits);
    while (mask != 0) {
      const lane = u32(ctz(mask));
      mask &= mask - 1;
      const slot = load<u32>(slots + (usize(group + lane * groups) << 2));
      if (slot == NO_SLOT) continue;
      store<u32>(at, slot);
      store<u32>(at, load<u32>(totals + (usize(lane) << 2)), 4);
      at += 8;
    }
  }
  return u32((at - found) >> 3);
}

/**
 * Writes slot and total (u32 each) of every row whose total is not above `limit` to `found`, which has room for the rows
 * and 2 * CODE_GROUP more; returns how many. `rows` up to a multiple of CODE_GROUP can be read, and have no slot where
 * there is none. `shift`: see `codeTotals`.
 */
export function scanList(
  codes: usize,
  slots: usize,
  rows: u32,
  codeBytes: u32,
  query: usize,
  shift: i32,
  limit: u32,
  found: usize,
): u32 {
  // Without a further cut the loop has one instruction less, so it has code of its own.
  if (shift == 0) return scan(codes, slots, rows, codeBytes, query, 0, limit, found);
  return scan(codes, slots, rows, codeBytes, query, shift, limit, found);
}
