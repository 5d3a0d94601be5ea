/**
 * The nearest rows so far: a binary heap with the farthest at its root. An exact squared distance is high * 2^32 + low.
 * Equal distances are ordered by id, so the order is total and equal on every machine.
 */
import { ENTRY_BYTES, entriesOf, rowsOf, Scan } from './scan';

@unmanaged
class Entry {
  high: u64;
  id: f64;
  low: u32;
  slot: u32;
}

@inline function entryAt(entries: usize, index: u32): Entry {
  return changetype<Entry>(entries + usize(index) * ENTRY_BYTES);
}

/** Compares without a branch, since none could be predicted. */
@inline function isFarther(entry: Entry, high: u64, low: u32, id: f64): bool {
  const byId = u32(entry.low == low) & u32(entry.id > id);
  const byLow = u32(entry.high == high) & (u32(entry.low > low) | byId);
  return <bool>(u32(entry.high > high) | byLow);
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
 * Rows farther than this are dropped. It is the farthest row's distance, or the maximum while the heap has room or if
 * the distance is 2^64 or more. While gathering, it is the limit.
 */
export function worstTotal(scan: Scan): u64 {
  if (scan.gathers) return limitTotal(scan);
  if (scan.count < scan.capacity) return u64.MAX_VALUE;
  const worst = entryAt(entriesOf(scan), 0);
  return worst.high >> 32 ? u64.MAX_VALUE : (worst.high << 32) | worst.low;
}

/** Offers the listed row `at` at distance high * 2^32 + low. Returns true if the worst total changed. */
export function offer(scan: Scan, at: u32, high: u64, low: u32): bool {
  if (scan.gathers) {
    gather(scan, at, high, low);
    return false;
  }
  return keep(scan, scan.firstSlot + rowAt(scan, at), idAt(scan, at), high, low);
}

@inline export function rowAt(scan: Scan, at: u32): u32 {
  return load<u32>(rowsOf(scan) + (usize(at) << 2));
}

/** The id of the listed row `at`. */
@inline export function idAt(scan: Scan, at: u32): f64 {
  return load<f64>(usize(scan.ids) + (usize(rowAt(scan, at)) << 3));
}

/** Offers a row whose id is already read, when rows are not being gathered. */
export function keep(scan: Scan, slot: u32, id: f64, high: u64, low: u32): bool {
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

/** Inserts an entry at place `count` of a heap, or above it. */
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

/**
 * Replaces the root of a heap of `count`. The hole sinks to the bottom and the entry, which usually belongs there,
 * rises from it (Wegener's bottom-up heapsort).
 */
function siftDown(entries: usize, count: u32, high: u64, low: u32, id: f64, slot: u32): void {
  let index: u32 = 0;
  for (let right: u32 = 2; right < count; right = (index << 1) + 2) {
    const left = entryAt(entries, right - 1);
    const child = right - u32(isFarther(left, entryAt(entries, right).high, entryAt(entries, right).low, entryAt(entries, right).id));
    copy(entryAt(entries, index), entryAt(entries, child));
    index = child;
  }
  const last = (index << 1) + 1;
  if (last < count) {
    copy(entryAt(entries, index), entryAt(entries, last));
    index = last;
  }
  siftUp(entries, index, high, low, id, slot);
}

/** Offers the nearest rows of another scan for the same query, which is not finished. */
export function mergeScan(scan: Scan, other: Scan): void {
  const entries = entriesOf(other);
  for (let index: u32 = 0; index < other.count; index++) {
    const entry = entryAt(entries, index);
    keep(scan, entry.slot, entry.id, entry.high, entry.low);
  }
}

/** Sorts the heap, nearest first, and replaces `high` by the score. Returns the number of entries and ends the scan. */
export function finishScan(scan: Scan): u32 {
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
  return scan.count;
}

/** Returns (high * 2^32 + low) / 2^32, rounded once: high < 2^47 and low / 2^32 are both exact. */
@inline function scoreOf(high: u64, low: u32): f64 {
  return f64(high) + f64(low) / 4294967296.0;
}

/**
 * A total above this has a score above the limit. A score is a total rounded by at most 2^-53 of it. The limit is
 * raised by eight times that, so that no rounding drops a row whose score is within the limit.
 */
function limitTotal(scan: Scan): u64 {
  const total = scan.limit * 4294967296.0 * 1.000000000000001;
  return total < 18446744073709551616.0 ? u64(total) : u64.MAX_VALUE;
}

/** Adds the listed row `at` at distance high * 2^32 + low as a finished entry, if it is within the limit. */
function gather(scan: Scan, at: u32, high: u64, low: u32): void {
  const score = scoreOf(high, low);
  if (score > scan.limit) return;
  const entry = entryAt(entriesOf(scan), scan.gathered);
  store<f64>(changetype<usize>(entry), score);
  entry.id = idAt(scan, at);
  entry.slot = scan.firstSlot + rowAt(scan, at);
  scan.gathered++;
}
