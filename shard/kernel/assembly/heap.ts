/**
 * The nearest rows so far: a binary heap whose root is the farthest of them. An exact squared distance is
 * high * 2^32 + low; equal distances are ordered by id, so the order is total and the same everywhere.
 */
import { gather, limitTotal } from './gathered';
import { entriesOf, rowsOf, Scan } from './scan';
import { scoreOf } from './score';

@unmanaged
class Entry {
  high: u64;
  id: f64;
  low: u32;
  slot: u32;
}

export const ENTRY_BYTES: u32 = 24;

@inline function entryAt(entries: usize, index: u32): Entry {
  return changetype<Entry>(entries + usize(index) * ENTRY_BYTES);
}

@inline function isFarther(entry: Entry, high: u64, low: u32, id: f64): bool {
  if (entry.high != high) return entry.high > high;
  if (entry.low != low) return entry.low > low;
  return entry.id > id;
}

@inline function put(entry: Entry, high: u64, low: u32, id: f64, slot: u32): void {
  entry.high = high;
  entry.id = id;
  entry.low = low;
  entry.slot = slot;
}

@inline function copy(to: Entry, from: Entry): void {
  put(to, from.high, from.low, from.id, from.slot);
}

/**
 * No row farther than this can get in any more: the farthest kept, or the maximum where that is 2^64 or there is room.
 * Where rows are gathered, the limit.
 */
export function worstTotal(scan: Scan): u64 {
  if (scan.gathers) return limitTotal(scan);
  if (scan.count < scan.capacity) return u64.MAX_VALUE;
  const worst = entryAt(entriesOf(scan), 0);
  return worst.high >> 32 ? u64.MAX_VALUE : (worst.high << 32) | worst.low;
}

/** Offers the listed row `at`, at the distance high * 2^32 + low; true where that changed the worst total. */
export function offer(scan: Scan, at: u32, high: u64, low: u32): bool {
  if (scan.gathers) {
    gather(scan, at, high, low);
    return false;
  }
  const row = load<u32>(rowsOf(scan) + (usize(at) << 2));
  const id = load<f64>(usize(scan.ids) + (usize(row) << 3));
  const slot = scan.firstSlot + row;
  const entries = entriesOf(scan);
  const count = scan.count;
  if (count < scan.capacity) {
    siftUp(entries, count, high, low, id, slot);
    scan.count = count + 1;
    return true;
  }
  if (!isFarther(entryAt(entries, 0), high, low, id)) return false;
  siftDown(entries, count, high, low, id, slot);
  return true;
}

/** Adds an entry to a heap of `count`. */
function siftUp(entries: usize, count: u32, high: u64, low: u32, id: f64, slot: u32): void {
  let index = count;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = entryAt(entries, parent);
    if (isFarther(above, high, low, id)) break;
    copy(entryAt(entries, index), above);
    index = parent;
  }
  put(entryAt(entries, index), high, low, id, slot);
}

/** Puts an entry in the place of the root of a heap of `count`. */
function siftDown(entries: usize, count: u32, high: u64, low: u32, id: f64, slot: u32): void {
  let index: u32 = 0;
  for (;;) {
    let child = (index << 1) + 1;
    if (child >= count) break;
    const right = entryAt(entries, child + 1);
    const left = entryAt(entries, child);
    if (child + 1 < count && isFarther(right, left.high, left.low, left.id)) child++;
    const below = entryAt(entries, child);
    if (!isFarther(below, high, low, id)) break;
    copy(entryAt(entries, index), below);
    index = child;
  }
  put(entryAt(entries, index), high, low, id, slot);
}

/** Sorts the heap, nearest first, and puts scores in the place of `high`. Returns the entries; the scan is over. */
export function finishScan(scan: Scan): usize {
  const entries = entriesOf(scan);
  for (let last = i32(scan.count) - 1; last > 0; last--) {
    const entry = entryAt(entries, last);
    const high = entry.high;
    const low = entry.low;
    const id = entry.id;
    const slot = entry.slot;
    copy(entry, entryAt(entries, 0));
    siftDown(entries, last, high, low, id, slot);
  }
  for (let index: u32 = 0; index < scan.count; index++) {
    const entry = entryAt(entries, index);
    store<f64>(changetype<usize>(entry), scoreOf(entry.high, entry.low));
  }
  return entries;
}

/** Entries of the scan, finished or not. */
export function entryCount(scan: Scan): u32 {
  return scan.count;
}
