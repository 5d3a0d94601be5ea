/**
 * Estimates how far rows are from a query by codes of a bit a component, the sign s of each, as +1 or −1: norm − factor × step × ⟨s, u⟩,
 * where u is the query in whole numbers. The sum over eight components, a byte of the code, is that of two tables of 16
 * entries, one for each half of the byte: 16 rows look it up with one instruction each (as FAISS' fast scan does).
 *
 *   query:  code bytes u32, step f32, own i32, unused | a table for each half byte: 16 sums i8
 *   16 rows: their first bytes, their second bytes, … | 16 norms f32 | 16 factors f32
 *   found:  row u32, estimate f32
 */

@unmanaged
class BitQuery {
  codeBytes: u32;
  step: f32;
  /** The greatest sum there is: that of rows whose signs are the query's. */
  own: i32;
}

const QUERY_HEADER_BYTES: usize = 16;
const NUMBER_BYTES: usize = 4;
const GROUP: u32 = 16;
const TABLES_BYTES: usize = 32;
const FOUND_BYTES: usize = 8;
/** Bytes of a code whose sums fit into 16 bits: each is at most 8 × 15. */
const STRETCH: usize = 256;

/**
 * Writes the rows of a block whose bit is set in `bitmap` and whose estimate is below the limit, in order, and returns how many
 * they are. There must be room for all and for 64 bytes more. The estimate of a row with the query's own signs is −infinity.
 */
export function estimateRows(query: BitQuery, codes: usize, rows: u32, bitmap: usize, limit: f32, found: usize): u32 {
  const codeBytes: usize = query.codeBytes;
  const tables = changetype<usize>(query) + QUERY_HEADER_BYTES;
  const groupBytes = (codeBytes + 2 * NUMBER_BYTES) * GROUP;
  const half = i8x16.splat(15);
  const step = f32x4.splat(query.step);
  const own = i32x4.splat(query.own);
  const limits = f32x4.splat(limit);
  let to = found;
  for (let first: u32 = 0; first < rows; first += GROUP, codes += groupBytes) {
    const chosen = u32(load<u16>(bitmap + (usize(first) >> 3)));
    if (chosen == 0) continue;
    let sums0 = i32x4.splat(0);
    let sums1 = i32x4.splat(0);
    let sums2 = i32x4.splat(0);
    let sums3 = i32x4.splat(0);
    let at = codes;
    let table = tables;
    for (let left = codeBytes; left > 0; ) {
      const stretch = min(left, STRETCH);
      left -= stretch;
      let low = i16x8.splat(0);
      let high = i16x8.splat(0);
      for (const end = at + stretch * GROUP; at < end; at += GROUP) {
        const bytes = v128.load(at);
        const sum = i8x16.add(
          i8x16.swizzle(v128.load(table), v128.and(bytes, half)),
          i8x16.swizzle(v128.load(table, 16), v128.and(i16x8.shr_u(bytes, 4), half)),
        );
        low = i16x8.add(low, i16x8.extend_low_i8x16_s(sum));
        high = i16x8.add(high, i16x8.extend_high_i8x16_s(sum));
        table += TABLES_BYTES;
      }
      sums0 = i32x4.add(sums0, i32x4.extend_low_i16x8_s(low));
      sums1 = i32x4.add(sums1, i32x4.extend_high_i16x8_s(low));
      sums2 = i32x4.add(sums2, i32x4.extend_low_i16x8_s(high));
      sums3 = i32x4.add(sums3, i32x4.extend_high_i16x8_s(high));
    }
    const estimates0 = estimatesOf(sums0, at, step, own);
    const estimates1 = estimatesOf(sums1, at + 16, step, own);
    const estimates2 = estimatesOf(sums2, at + 32, step, own);
    const estimates3 = estimatesOf(sums3, at + 48, step, own);
    let near =
      u32(i32x4.bitmask(f32x4.lt(estimates0, limits))) |
      (u32(i32x4.bitmask(f32x4.lt(estimates1, limits))) << 4) |
      (u32(i32x4.bitmask(f32x4.lt(estimates2, limits))) << 8) |
      (u32(i32x4.bitmask(f32x4.lt(estimates3, limits))) << 12);
    near &= chosen;
    if (near == 0) continue;
    // Behind the 16 places that may be written below, one of which is read before the next is written.
    const staged = to + GROUP * FOUND_BYTES;
    v128.store(staged, estimates0);
    v128.store(staged, estimates1, 16);
    v128.store(staged, estimates2, 32);
    v128.store(staged, estimates3, 48);
    do {
      const row = u32(ctz(near));
      near &= near - 1;
      store<u32>(to, first + row);
      store<f32>(to, load<f32>(staged + (usize(row) << 2)), 4);
      to += FOUND_BYTES;
    } while (near != 0);
  }
  return u32((to - found) / FOUND_BYTES);
}

/** Of four rows, whose norms begin at `numbers`. */
@inline function estimatesOf(sums: v128, numbers: usize, step: v128, own: v128): v128 {
  const across = f32x4.mul(v128.load(numbers, GROUP * NUMBER_BYTES), f32x4.mul(step, f32x4.convert_i32x4_s(sums)));
  const estimates = f32x4.sub(v128.load(numbers), across);
  return v128.bitselect(f32x4.splat(-Infinity), estimates, i32x4.eq(sums, own));
}
