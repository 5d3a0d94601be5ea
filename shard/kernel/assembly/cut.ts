/**
 * Codes: vectors cut to i16, and their distances. A component c becomes c >> shift, kept within ±limit. Codes of one
 * shift can be subtracted. The cut moves a difference by less than 1 in each of n components. Let d be a difference of
 * vectors and d' that of their codes. By the triangle inequality there are two bounds.
 *
 *   Always:                         |d| / 2^shift > |d'| − sqrt(n), since clipping brings points nearer.
 *   If no component was clipped:    |d| / 2^shift < |d'| + sqrt(n).
 *
 * The host chooses shift and limit so that every component of d' fits i16 and |d'|^2 fits u32.
 */

/** Codes measured at once. The host pads every table of codes to a multiple of it. */
export const CODE_GROUP: u32 = 8;

/** Cuts `rows` vectors to codes, padded with zeros. */
export function cutRows(from: usize, strideBytes: u32, rows: u32, to: usize, codeBytes: u32, shift: i32, limit: i32): void {
  const most = i16x8.splat(i16(limit));
  const least = i16x8.splat(i16(-limit));
  const end: usize = strideBytes;
  for (let row: u32 = 0; row < rows; row++) {
    for (let offset: usize = 0; offset < end; offset += 32) {
      const first = i32x4.shr_s(v128.load(from + offset), shift);
      const second = offset + 16 < end ? i32x4.shr_s(v128.load(from + offset, 16), shift) : i32x4.splat(0);
      const code = i16x8.narrow_i32x4_s(first, second);
      v128.store(to + (offset >> 1), i16x8.max_s(least, i16x8.min_s(most, code)));
    }
    from += end;
    to += codeBytes;
  }
}

@inline function addSquares(total: v128, code: usize, query: v128, shift: i32): v128 {
  const components = shift == 0 ? v128.load(code) : i16x8.shr_s(v128.load(code), shift);
  const difference = i16x8.sub(components, query);
  return i32x4.add(total, i32x4.dot_i16x8_s(difference, difference));
}

/** The sums of the lanes of a, b, c and d. */
@inline function sums(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7));
  const cd = i32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7));
  return i32x4.add(v128.shuffle<i32>(ab, cd, 0, 1, 4, 5), v128.shuffle<i32>(ab, cd, 2, 3, 6, 7));
}

/**
 * Writes the squared distances from `query` (a code) to a group of codes, as u32. The codes are `apart` bytes apart.
 * `shift`: the extra shift of the codes, which the query already has.
 */
@inline export function codeTotals(
  codes: usize,
  apart: usize,
  codeBytes: usize,
  query: usize,
  shift: i32,
  totals: usize,
): void {
  const c4 = codes + apart * 4;
  let t0 = i32x4.splat(0);
  let t1 = t0;
  let t2 = t0;
  let t3 = t0;
  let t4 = t0;
  let t5 = t0;
  let t6 = t0;
  let t7 = t0;
  for (let offset: usize = 0; offset < codeBytes; offset += 16) {
    const q = v128.load(query + offset);
    const near = codes + offset;
    const far = c4 + offset;
    t0 = addSquares(t0, near, q, shift);
    t1 = addSquares(t1, near + apart, q, shift);
    t2 = addSquares(t2, near + apart * 2, q, shift);
    t3 = addSquares(t3, near + apart * 3, q, shift);
    t4 = addSquares(t4, far, q, shift);
    t5 = addSquares(t5, far + apart, q, shift);
    t6 = addSquares(t6, far + apart * 2, q, shift);
    t7 = addSquares(t7, far + apart * 3, q, shift);
  }
  v128.store(totals, sums(t0, t1, t2, t3));
  v128.store(totals, sums(t4, t5, t6, t7), 16);
}

/** Returns a bit per total of the group: set if it is at most `limits` (one value in every lane). */
@inline export function totalsWithin(totals: usize, limits: v128): u32 {
  return (
    i32x4.bitmask(i32x4.le_u(v128.load(totals), limits)) |
    (i32x4.bitmask(i32x4.le_u(v128.load(totals, 16), limits)) << 4)
  );
}
