/**
 * Scratch of one scan, in the memory of the blocks that it reads. It holds no address of itself, so the host may move
 * it to another memory between two blocks by copying its bytes.
 *
 *   Header | row list | totals of a group | products of a batch | query |
 *   weights, exact and rounded | query less middles | heap of the nearest
 */
/** Rows listed before they are read. A batch is split into GROUP streams. */
export const BATCH: u32 = 256;
/** Rows read side by side. One stream of addresses does not keep the memory busy; eight, a batch apart, do. */
export const GROUP: u32 = 8;

/** Bytes of an entry: score f64, id f64, unused u32, slot u32. */
export const ENTRY_BYTES: u32 = 24;

const HEADER_BYTES: usize = 112;
const ROWS_BYTES: usize = usize(BATCH) * 4;
const TOTALS_BYTES: usize = usize(GROUP) * 8;
const DOTS_BYTES: usize = usize(BATCH) * 4;

@unmanaged
export class Scan {
  /** Largest and current number of entries in the heap. */
  capacity: u32;
  count: u32;
  strideBytes: u32;
  /**
   * Batches left to read without the plane, since it excluded few rows when last tried; and the length of that pause.
   */
  planeRest: u16;
  planeRests: u16;
  /** Block that is being scanned. */
  vectors: u32;
  ids: u32;
  bitmap: u32;
  words: u32;
  firstSlot: u32;
  /** Next word of the bitmap to list rows from. */
  nextWord: u32;
  /**
   * Whether the scan gathers rows within a limit instead of keeping the nearest. Then the number gathered, and the
   * limit as a score.
   */
  gathers: u32;
  gathered: u32;
  limit: f64;
  /** Code plane of the block, or 0; and the version that the weights are for. */
  plane: u32;
  preparedVersion: u32;
  /** How to read the block's rows; see `way.ts`. Then the version that the query less middles is for. */
  way: u32;
  centredVersion: u32;
  /** See `nearness.ts`: |q - m|^2 - E - S, then W, 2 T, and the lower bound of near rows. */
  planeDistance: f64;
  unit: f32;
  reach: f32;
  leastNearness: f32;
  /** |q - m|^2 + E. */
  planeDistanceMost: f64;
}

/** Row list: row numbers (u32, at most BATCH), written by `listRows` or by the host. */
@inline export function rowsOf(scan: Scan): usize {
  return changetype<usize>(scan) + HEADER_BYTES;
}

@inline export function totalsOf(scan: Scan): usize {
  return rowsOf(scan) + ROWS_BYTES;
}

/** Products of the codes of a batch with the weights, as i32. */
@inline export function dotsOf(scan: Scan): usize {
  return totalsOf(scan) + TOTALS_BYTES;
}

@inline export function queryOf(scan: Scan): usize {
  return dotsOf(scan) + DOTS_BYTES;
}

/** The weights as f32. */
@inline export function exactWeightsOf(scan: Scan): usize {
  return queryOf(scan) + scan.strideBytes;
}

/** Weights as i16, one per byte of a code. */
@inline export function weightsOf(scan: Scan): usize {
  return exactWeightsOf(scan) + scan.strideBytes;
}

/** Components of the query less the middles, as i32, one per byte of a code: see `splitRows.ts`. */
@inline export function centredOf(scan: Scan): usize {
  return weightsOf(scan) + weightsBytes(scan.strideBytes);
}

/** Entries of the heap, or of the gathered rows. */
@inline export function entriesOf(scan: Scan): usize {
  return centredOf(scan) + 2 * weightsBytes(scan.strideBytes);
}

@inline function weightsBytes(strideBytes: usize): usize {
  return (((strideBytes >> 2) + 15) & ~15) << 1;
}

/** Bytes that a scan for the nearest `capacity` needs. */
export function scanBytes(capacity: u32, strideBytes: u32): u32 {
  const fixed = u32(HEADER_BYTES + ROWS_BYTES + TOTALS_BYTES + DOTS_BYTES + 3 * weightsBytes(strideBytes));
  return fixed + 2 * strideBytes + capacity * ENTRY_BYTES;
}

/** Prepares the scratch. The host then writes the query at the address returned, padded with zeros. */
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
 * Lists the next eligible rows of the block, at most BATCH; returns how many, 0 at the end of the block. Lists few
 * while the heap has room, since all of those are measured.
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
