/**
 * The scratch of one scan, in the same memory as the blocks it reads. It holds offsets and no addresses of itself, so
 * the host may move it to another memory between two blocks by copying its bytes.
 *
 *   header | addresses of a batch of rows | totals of a group | query | coarse query | heap of the nearest
 */
import { ENTRY_BYTES } from './heap';

/** Rows listed before they are read; a batch is split into GROUP streams. */
export const BATCH: u32 = 256;
/** Rows read side by side. One stream of addresses does not keep the memory busy; eight, a batch apart, do. */
export const GROUP: u32 = 8;

const HEADER_BYTES: usize = 64;
const ROWS_BYTES: usize = usize(BATCH) * 4;
const TOTALS_BYTES: usize = usize(GROUP) * 8;

@unmanaged
export class Scan {
  /** Entries that the heap holds at most, and now. */
  capacity: u32;
  count: u32;
  strideBytes: u32;
  /** The shift that the coarse query was made with; 0: none yet. */
  coarseShift: u32;
  /** Batches still to be read without the sieve, because it held little back when last tried; and how many that were. */
  sieveRest: u16;
  sieveRests: u16;
  /** The block being scanned. */
  vectors: u32;
  ids: u32;
  bitmap: u32;
  words: u32;
  firstSlot: u32;
  /** Next word of the bitmap to list rows from. */
  nextWord: u32;
  /** Whether rows within a limit are gathered, and not the nearest kept; how many were, and that limit, as a score. */
  gathers: u32;
  gathered: u32;
  limit: f64;
}

@inline export function rowsOf(scan: Scan): usize {
  return changetype<usize>(scan) + HEADER_BYTES;
}

@inline export function totalsOf(scan: Scan): usize {
  return rowsOf(scan) + ROWS_BYTES;
}

@inline export function queryOf(scan: Scan): usize {
  return totalsOf(scan) + TOTALS_BYTES;
}

@inline export function coarseQueryOf(scan: Scan): usize {
  return queryOf(scan) + scan.strideBytes;
}

@inline export function entriesOf(scan: Scan): usize {
  return coarseQueryOf(scan) + coarseBytes(scan.strideBytes);
}

@inline function coarseBytes(strideBytes: usize): usize {
  return ((strideBytes >> 1) + 15) & ~15;
}

/** Bytes that a scan for the nearest `capacity` needs. */
export function scanBytes(capacity: u32, strideBytes: u32): u32 {
  const fixed = u32(HEADER_BYTES + ROWS_BYTES + TOTALS_BYTES + coarseBytes(strideBytes));
  return fixed + strideBytes + capacity * ENTRY_BYTES;
}

/** Makes the scratch ready, but for the query, which the host writes at the address returned (zero-padded). */
export function beginScan(scan: Scan, capacity: u32, strideBytes: u32): usize {
  memory.fill(changetype<usize>(scan), 0, HEADER_BYTES);
  scan.capacity = capacity;
  scan.strideBytes = strideBytes;
  return queryOf(scan);
}

@inline export function enterBlock(scan: Scan, vectors: usize, ids: usize, bitmap: usize, words: u32, firstSlot: u32): void {
  scan.vectors = u32(vectors);
  scan.ids = u32(ids);
  scan.bitmap = u32(bitmap);
  scan.words = words;
  scan.firstSlot = firstSlot;
  scan.nextWord = 0;
}

/**
 * Lists the next eligible rows of the block, at most BATCH; returns how many, 0 at the end of the block. Few as long as
 * the heap has room, since what is listed now is read without the sieve.
 */
export function listRows(scan: Scan): u32 {
  const rows = rowsOf(scan);
  const bitmap: usize = scan.bitmap;
  const words = scan.words;
  let word = scan.nextWord;
  const most: u32 = scan.count < scan.capacity ? 0 : BATCH - 64;
  let listed: u32 = 0;
  while (word < words && listed <= most) {
    let bits = load<u64>(bitmap + (usize(word) << 3));
    const first = word << 6;
    word++;
    while (bits != 0) {
      store<u32>(rows + (usize(listed) << 2), first + u32(ctz(bits)));
      listed++;
      bits &= bits - 1;
    }
  }
  scan.nextWord = word;
  return listed;
}

/** Address of the vector of the listed row `at`. */
@inline export function vectorOf(scan: Scan, at: u32): usize {
  return usize(scan.vectors) + usize(load<u32>(rowsOf(scan) + (usize(at) << 2))) * scan.strideBytes;
}
