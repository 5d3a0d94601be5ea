/**
 * A scan for the `wanted` bit codes that differ least from a query's. The rows of one distance are a shell. A row is taken
 * while it is nearer than `limit`, the smallest distance such that as many rows as wanted are no farther. So shells below
 * the limit are taken whole, and of the shell at the limit the rows that come first. Shell 0 is always taken whole.
 *
 *   header | distances of a batch (u16 each) | query code | rows taken, by distance (u32 each) | entries: slot u32, distance u32
 */

@unmanaged
class BitScan {
  codeBytes: u32;
  wanted: u32;
  /** Rows at this distance or farther are not taken any more; at least 1. */
  limit: u32;
  /** Rows taken that are nearer than the limit. */
  nearer: u32;
  /** The number of entries, some of which may be beyond the limit by now. */
  count: u32;
}

const HEADER_BYTES: usize = 64;
const ENTRY_BYTES: u32 = 8;
/** Rows measured at a stretch, in streams a part of the batch apart: one stream does not keep the memory busy. */
const BATCH: u32 = 256;
const STREAMS: u32 = 4;
const DISTANCES_BYTES: usize = usize(BATCH) * 2;

@inline function queryOf(scan: BitScan): usize {
  return changetype<usize>(scan) + HEADER_BYTES + DISTANCES_BYTES;
}

@inline function takenOf(scan: BitScan): usize {
  return queryOf(scan) + scan.codeBytes;
}

@inline export function entriesOf(scan: BitScan): usize {
  return takenOf(scan) + shellsBytes(scan.codeBytes);
}

@inline function distancesOf(scan: BitScan): usize {
  return changetype<usize>(scan) + HEADER_BYTES;
}

/** A count for each distance from 0 to the number of bits and one beyond, a multiple of 8 bytes. */
@inline function shellsBytes(codeBytes: u32): usize {
  return (usize(codeBytes) * 8 + 2) << 2;
}

/** Bytes that a scan of codes of `codeBytes` (a multiple of 16) needs with room for `entries`. */
export function bitScanBytes(codeBytes: u32, entries: u32): u32 {
  return u32(HEADER_BYTES + DISTANCES_BYTES) + codeBytes + u32(shellsBytes(codeBytes)) + entries * ENTRY_BYTES;
}

/** Prepares the scratch. The host then writes the query's code at the address returned. */
export function beginBitScan(scan: BitScan, codeBytes: u32, wanted: u32): usize {
  memory.fill(changetype<usize>(scan), 0, HEADER_BYTES + DISTANCES_BYTES + codeBytes + shellsBytes(codeBytes));
  scan.codeBytes = codeBytes;
  scan.wanted = wanted;
  scan.limit = codeBytes * 8 + 1;
  return queryOf(scan);
}

/** Takes a row that is nearer than the limit, and lowers the limit as far as that allows. */
function take(scan: BitScan, slot: u32, distance: u32): void {
  const taken = takenOf(scan);
  const entry = entriesOf(scan) + usize(scan.count) * ENTRY_BYTES;
  store<u32>(entry, slot);
  store<u32>(entry, distance, 4);
  scan.count++;
  const shell = taken + (usize(distance) << 2);
  store<u32>(shell, load<u32>(shell) + 1);
  let nearer = scan.nearer + 1;
  let limit = scan.limit;
  while (limit > 1 && nearer >= scan.wanted) {
    limit--;
    nearer -= load<u32>(taken + (usize(limit) << 2));
  }
  scan.nearer = nearer;
  scan.limit = limit;
}

/** Counts the bits that differ in 16 bytes. A count of 64 bits is one instruction; one of a vector is ten. */
@inline function differing(code: usize, low: u64, high: u64): u32 {
  return u32(popcnt<u64>(load<u64>(code) ^ low) + popcnt<u64>(load<u64>(code, 8) ^ high));
}

/** Writes the distances of the first `rows` codes (at most BATCH), and anything up to a multiple of STREAMS. */
function measure(codes: usize, rows: u32, codeBytes: usize, query: usize, distances: usize): void {
  const apart = (rows + STREAMS - 1) / STREAMS;
  const last = rows - 1;
  for (let row: u32 = 0; row < apart; row++) {
    let a = codes + usize(row) * codeBytes;
    let b = codes + usize(min(row + apart, last)) * codeBytes;
    let c = codes + usize(min(row + apart * 2, last)) * codeBytes;
    let d = codes + usize(min(row + apart * 3, last)) * codeBytes;
    let da: u32 = 0;
    let db: u32 = 0;
    let dc: u32 = 0;
    let dd: u32 = 0;
    const end = query + codeBytes;
    for (let at = query; at < end; at += 16) {
      const low = load<u64>(at);
      const high = load<u64>(at, 8);
      da += differing(a, low, high);
      db += differing(b, low, high);
      dc += differing(c, low, high);
      dd += differing(d, low, high);
      a += 16;
      b += 16;
      c += 16;
      d += 16;
    }
    const to = distances + (usize(row) << 1);
    store<u16>(to, u16(da));
    store<u16>(to + (usize(apart) << 1), u16(db));
    store<u16>(to + (usize(apart) << 2), u16(dc));
    store<u16>(to + usize(apart) * 6, u16(dd));
  }
}

@inline function isEmpty(bitmap: usize, rows: u32): bool {
  let bits: u64 = 0;
  for (let row: u32 = 0; row < rows; row += 64) bits |= load<u64>(bitmap + (usize(row) >> 3));
  return bits == 0;
}

/** A bit for each of 64 distances that is nearer than the limit. */
@inline function nearerThan(limit: u32, distances: usize): u64 {
  const limits = i16x8.splat(i16(limit));
  let mask: u64 = 0;
  for (let at: usize = 0; at < 64; at += 16) {
    const low = i16x8.lt_u(v128.load(distances + (at << 1)), limits);
    const high = i16x8.lt_u(v128.load(distances + (at << 1), 16), limits);
    mask |= u64(i8x16.bitmask(i8x16.narrow_i16x8_s(low, high))) << at;
  }
  return mask;
}

/**
 * Considers the rows of a block whose bit is set in `bitmap`; their codes lie one after another. There must be room for
 * as many entries as the block has rows. Returns how many entries there are.
 */
export function scanBits(scan: BitScan, codes: usize, rows: u32, bitmap: usize, firstSlot: u32): u32 {
  const codeBytes: usize = scan.codeBytes;
  const query = queryOf(scan);
  const distances = distancesOf(scan);
  for (let batch: u32 = 0; batch < rows; batch += BATCH) {
    const listed = min(BATCH, rows - batch);
    if (isEmpty(bitmap + (usize(batch) >> 3), listed)) continue;
    measure(codes + usize(batch) * codeBytes, listed, codeBytes, query, distances);
    for (let word: u32 = 0; word < listed; word += 64) {
      const first = batch + word;
      const bits = load<u64>(bitmap + (usize(first) >> 3));
      let near = bits & nearerThan(scan.limit, distances + (usize(word) << 1));
      while (near != 0) {
        const at = u32(ctz(near));
        near &= near - 1;
        const distance = <u32>load<u16>(distances + (usize(word + at) << 1));
        if (distance < scan.limit) take(scan, firstSlot + first + at, distance);
      }
    }
  }
  return scan.count;
}

/**
 * Drops the entries that are not among the nearest any more, and keeps the order of slots. Returns how many are left: at
 * most as many as wanted, or all of shell 0.
 */
export function keepNearest(scan: BitScan): u32 {
  const entries = entriesOf(scan);
  const count = scan.count;
  const limit = scan.limit;
  let atLimit = scan.wanted > scan.nearer ? scan.wanted - scan.nearer : 0;
  let kept: u32 = 0;
  for (let index: u32 = 0; index < count; index++) {
    const entry = load<u64>(entries + usize(index) * ENTRY_BYTES);
    const distance = u32(entry >> 32);
    if (distance > limit) continue;
    if (distance == limit) {
      if (atLimit == 0) continue;
      atLimit--;
    }
    store<u64>(entries + usize(kept) * ENTRY_BYTES, entry);
    kept++;
  }
  scan.count = kept;
  return kept;
}

/** Clears the entries, which the host has copied. */
export function forgetEntries(scan: BitScan): void {
  scan.count = 0;
}
