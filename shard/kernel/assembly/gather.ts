/**
 * Scans that hand their rows to the host a few at a time. The host has an order of its own for them, in which a row's
 * rank depends on more than its distance; between two calls it lowers the limit to what that order still lets in.
 */
import { entriesOf, enterBlock, listRows, Scan } from './scan';
import { considerListedNarrow } from './scanNarrow';
import { considerListedWide } from './scanWide';

/** Begins with a block; the scan's capacity must be BATCH, or as many as there are rows to be met in all. */
export function enterGather(scan: Scan, vectors: usize, ids: usize, bitmap: usize, words: u32, firstSlot: u32): void {
  enterBlock(scan, vectors, ids, bitmap, words, firstSlot);
  scan.gathers = 1;
}

@inline function beginGather(scan: Scan, limit: f64): void {
  scan.limit = limit;
  scan.gathered = 0;
  // As a heap that is full, or has room.
  scan.count = limit < Infinity ? scan.capacity : 0;
}

/**
 * Goes on with the block until rows within `limit` (a score) are met; returns how many, 0 at the end of the block. No
 * such row is passed over. The block is as `scanNarrow` has it.
 */
export function gatherNarrow(scan: Scan, limit: f64, sieveShift: i32): u32 {
  beginGather(scan, limit);
  while (scan.gathered == 0) {
    const listed = listRows(scan);
    if (listed == 0) break;
    considerListedNarrow(scan, listed, sieveShift);
  }
  return scan.gathered;
}

/** As `gatherNarrow`, whatever the components are. */
export function gatherWide(scan: Scan, limit: f64): u32 {
  beginGather(scan, limit);
  while (scan.gathered == 0) {
    const listed = listRows(scan);
    if (listed == 0) break;
    considerListedWide(scan, listed);
  }
  return scan.gathered;
}

/** Where the rows that were gathered lie. */
export function gatheredRows(scan: Scan): usize {
  return entriesOf(scan);
}
