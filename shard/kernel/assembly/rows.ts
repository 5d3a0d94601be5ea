/** Scans of rows. `plane`: the code plane of the block, or 0. `way`: how to read the rows; see `way.ts`. */
import { considerListed } from './consider';
import { worstTotal } from './heap';
import { enterPlane, keepNear, listNear, setReach, touchHead } from './nearness';
import { Plane } from './plane';
import { BATCH, enterBlock, listRows, rowsOf, Scan } from './scan';
import { centre } from './splitRows';
import { FILTERS, SPLIT, WIDE } from './way';

/**
 * Longest pause of the plane, in batches. The plane pauses after it has kept more than half of a batch. The pause is
 * one batch, doubled on each repeat. At the beginning of a search the plane soon becomes useful; for some rows it never
 * does.
 */
const REST_MAX: u16 = 16;

/** If fewer than one in this many rows of a batch is eligible, only the codes of eligible rows are read. */
const SPARSE: u32 = 3;

const WORD_ROWS: u32 = 64;

@inline function enter(scan: Scan, plane: u32, way: u32): void {
  scan.plane = plane;
  scan.way = way;
  if (way & FILTERS) enterPlane(scan, changetype<Plane>(usize(plane)));
  if (way & SPLIT && !(way & WIDE)) centre(scan, changetype<Plane>(usize(plane)));
}

/** Whether the plane filters the next batch. */
@inline function usesPlane(scan: Scan): bool {
  if (!(scan.way & FILTERS) || scan.count < scan.capacity) return false;
  if (scan.planeRest == 0) return true;
  scan.planeRest--;
  return false;
}

/** Records that the plane kept `kept` of `asked` rows. */
@inline function rate(scan: Scan, kept: u32, asked: u32): void {
  if (kept * 2 > asked) {
    scan.planeRests = max<u16>(1, min<u16>(REST_MAX, scan.planeRests * 2));
    scan.planeRest = scan.planeRests;
  } else {
    scan.planeRests = 0;
  }
}

/** Considers the next eligible rows of the bitmap, at most BATCH, that their codes show to be near. */
function considerNear(scan: Scan): void {
  const from = scan.nextWord;
  const to = min<u32>(scan.words, from + BATCH / WORD_ROWS);
  let eligible: u32 = 0;
  // Find the last eligible row; beyond it there may be no row.
  let end = from;
  let last: u64 = 0;
  for (let word = from; word < to; word++) {
    const bits = load<u64>(usize(scan.bitmap) + (usize(word) << 3));
    if (bits == 0) continue;
    eligible += u32(popcnt(bits));
    end = word;
    last = bits;
  }
  if (eligible == 0) {
    scan.nextWord = to;
    return;
  }
  const rows = (end - from + 1) * WORD_ROWS - u32(clz(last));
  let kept: u32;
  if (eligible * SPARSE < rows) {
    eligible = listRows(scan);
    kept = keepNear(scan, eligible);
  } else {
    kept = listNear(scan, from * WORD_ROWS, rows);
    scan.nextWord = to;
  }
  rate(scan, kept, eligible);
  considerListed(scan, kept);
}

/** Considers the rows of the next batch; false at the end of the block. */
function considerBatch(scan: Scan): bool {
  if (usesPlane(scan)) {
    if (scan.nextWord >= scan.words) return false;
    setReach(scan, worstTotal(scan));
    considerNear(scan);
    return true;
  }
  const listed = listRows(scan);
  considerListed(scan, listed);
  return listed > 0;
}

/** Offers every row of a block whose bit is set in `bitmap` (`words` words of u64). */
export function scanRows(
  scan: Scan,
  vectors: usize,
  ids: usize,
  bitmap: usize,
  words: u32,
  firstSlot: u32,
  plane: u32,
  way: u32,
): void {
  enterBlock(scan, vectors, ids, bitmap, words, firstSlot);
  enter(scan, plane, way);
  while (considerBatch(scan)) {}
}

/** Keeps the listed rows whose bit is set, and returns how many. */
function keepSet(scan: Scan, bitmap: usize, listed: u32): u32 {
  const rows = rowsOf(scan);
  let kept: u32 = 0;
  for (let at: u32 = 0; at < listed; at++) {
    const row = load<u32>(rows + (usize(at) << 2));
    store<u32>(rows + (usize(kept) << 2), row);
    kept += (u32(load<u8>(bitmap + (row >> 3))) >> (row & 7)) & 1;
  }
  return kept;
}

/**
 * Offers the first `listed` rows of the scan's row list, which the host has written. Only rows whose bit is set
 * in `bitmap` count; 0 if all do. `next`: the code plane of the next block, which the processor loads meanwhile; 0 for none.
 */
export function offerRows(
  scan: Scan,
  vectors: usize,
  ids: usize,
  bitmap: usize,
  listed: u32,
  firstSlot: u32,
  plane: u32,
  way: u32,
  next: u32,
): void {
  if (next != 0) touchHead(scan, next);
  enterBlock(scan, vectors, ids, 0, 0, firstSlot);
  enter(scan, plane, way);
  const asked = bitmap == 0 ? listed : keepSet(scan, bitmap, listed);
  if (asked == 0) return;
  let kept = asked;
  if (usesPlane(scan)) {
    setReach(scan, worstTotal(scan));
    kept = keepNear(scan, asked);
    rate(scan, kept, asked);
  }
  considerListed(scan, kept);
}

/**
 * Begins a block whose rows the host receives a few at a time. The host orders them by more than distance, and lowers
 * the limit between two calls. The scan's capacity must be BATCH, or the number of all rows.
 */
export function enterGather(
  scan: Scan,
  vectors: usize,
  ids: usize,
  bitmap: usize,
  words: u32,
  firstSlot: u32,
  plane: u32,
  way: u32,
): void {
  enterBlock(scan, vectors, ids, bitmap, words, firstSlot);
  enter(scan, plane, way);
  scan.gathers = 1;
}

/** Continues the block until it finds rows within `limit` (a score); returns how many, 0 at the end of the block. */
export function gatherRows(scan: Scan, limit: f64): u32 {
  scan.limit = limit;
  scan.gathered = 0;
  // A finite limit works like a full heap.
  scan.count = limit < Infinity ? scan.capacity : 0;
  while (scan.gathered == 0 && considerBatch(scan)) {}
  return scan.gathered;
}
