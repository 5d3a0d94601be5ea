import { enterBlock, listRows, Scan } from './scan';
import { considerWide, considerWideGroup, WIDE_GROUP } from './wide';

/** Considers the first `listed` rows of the list. */
export function considerListedWide(scan: Scan, listed: u32): void {
  const groups = listed / WIDE_GROUP;
  for (let at: u32 = 0; at < groups; at++) considerWideGroup(scan, at, groups);
  for (let at = groups * WIDE_GROUP; at < listed; at++) considerWide(scan, at);
}

/** Offers every row of a block whose bit is set in `bitmap` (of `words` u64), whatever its components are. */
export function scanWide(scan: Scan, vectors: usize, ids: usize, bitmap: usize, words: u32, firstSlot: u32): void {
  enterBlock(scan, vectors, ids, bitmap, words, firstSlot);
  for (;;) {
    const listed = listRows(scan);
    if (listed == 0) return;
    considerListedWide(scan, listed);
  }
}
