import { considerListedNarrow } from './scanNarrow';
import { enterBlock, rowsOf, Scan } from './scan';
import { considerListedWide } from './scanWide';

/** Where the host writes the numbers of rows (u32, at most BATCH) before it calls `offerNarrow` or `offerWide`. */
export function rowList(scan: Scan): usize {
  return rowsOf(scan);
}

/** Offers the first `listed` rows of the scan's row list. The rest is as `scanNarrow` has it. */
export function offerNarrow(scan: Scan, vectors: usize, ids: usize, listed: u32, firstSlot: u32, sieveShift: i32): void {
  enterBlock(scan, vectors, ids, 0, 0, firstSlot);
  considerListedNarrow(scan, listed, sieveShift);
}

/** Offers the first `listed` rows of the scan's row list, whatever their components are. */
export function offerWide(scan: Scan, vectors: usize, ids: usize, listed: u32, firstSlot: u32): void {
  enterBlock(scan, vectors, ids, 0, 0, firstSlot);
  considerListedWide(scan, listed);
}
