/**
 * One-bit codes after RaBitQ (arXiv 2405.12497). A vector x is rotated, so that its length spreads over all components.
 * Its code is the signs s of its components, as +1 and −1, with two numbers: the norm |x|² and the factor |x|² / ⟨x,
 * s⟩. The distance of a row from a query u, less |u|², is estimated as follows.
 *
 *   |x|² − 2⟨u, x⟩, with ⟨u, x⟩ ≈ factor ⟨u, s⟩.
 *
 * The estimate is exact if u = x. Otherwise its error comes from the part of u across x. For D components it is about
 * |u| sqrt((factor² D − norm) / (D − 1)), as often above as below. A query may lower estimates by a multiple of that
 * error. The sum ⟨u, s⟩ over eight components (a byte of the code) is a sum of two table entries. Each half byte has a
 * table of 16 whole numbers. One instruction looks up 16 rows, as in the fast scan of FAISS.
 *
 *   Query:    header | u before a centre is subtracted: f32 × D | a table per half byte: 16 sums i8.
 *   Code:     signs (D / 8 bytes) | norm f32 | factor f32.
 *   16 rows:  their first bytes, their second bytes, … | 16 norms | 16 factors.
 *   Found:    number of the row u32, estimate f32.
 *
 * Numbers are f32. Results are equal on every machine.
 */
import { largestOf, totalOf } from './lanes';

@unmanaged
export class SignQuery {
  /** D / 8. */
  codeBytes: u32;
  /** Twice the value of one whole number of the tables. */
  step: f32;
  /** Greatest possible sum: that of a row with the query's own signs. */
  own: i32;
  /** |u|². */
  square: f32;
  /** Estimates are lowered by this times sqrt(factor² D − norm). */
  doubt: f32;
}

const QUERY_HEADER_BYTES: usize = 32;
const NUMBER_BYTES: usize = 4;
const GROUP: u32 = 16;
const TABLES_BYTES: usize = 32;
/** Bytes of a found row. */
export const ESTIMATE_BYTES: usize = 8;
/** Bytes of a code whose sums fit 16 bits: each is at most 8 × 15. */
const STRETCH: usize = 256;
/** Largest number of steps in a component of a query, so that the sum of eight fits a byte. */
const LEVEL_MAX: f32 = 15;
/** Added to a number near 0 to round it to a whole one: the difference of the two bit patterns is that whole number. */
const WHOLES: f32 = 12582912;

/**
 * Rotates `components` numbers (f32, a multiple of 64) in place. Each of `rounds` rounds flips signs and then applies a
 * Walsh–Hadamard transform, in turn at the front and at the back. A transform has `size` components, a power of
 * two. In `flips` there is a bit per component and round.
 */
export function rotate(vector: usize, components: u32, size: u32, rounds: u32, flips: usize): void {
  const bytes = usize(components) * NUMBER_BYTES;
  const sign = i32x4.splat(i32.MIN_VALUE);
  for (let round: u32 = 0; round < rounds; round++) {
    for (let at = vector; at < vector + bytes; at += 32, flips++) {
      const bits = i32x4.splat(load<u8>(flips));
      const low = v128.and(i32x4.ne(v128.and(bits, i32x4(1, 2, 4, 8)), i32x4.splat(0)), sign);
      const high = v128.and(i32x4.ne(v128.and(bits, i32x4(16, 32, 64, 128)), i32x4.splat(0)), sign);
      v128.store(at, v128.xor(v128.load(at), low));
      v128.store(at, v128.xor(v128.load(at, 16), high), 16);
    }
    transform(round & 1 ? vector + bytes - usize(size) * NUMBER_BYTES : vector, usize(size) * NUMBER_BYTES);
  }
}

/** Applies the transform, scaled so that lengths stay the same. */
function transform(from: usize, bytes: usize): void {
  const end = from + bytes;
  const oddSigns = i32x4(0, i32.MIN_VALUE, 0, i32.MIN_VALUE);
  const highSigns = i32x4(0, 0, i32.MIN_VALUE, i32.MIN_VALUE);
  const scale = f32x4.splat(1 / sqrt(f32(bytes / NUMBER_BYTES)));
  for (let at = from; at < end; at += 16) {
    let four = v128.load(at);
    four = f32x4.add(v128.shuffle<i32>(four, four, 1, 0, 3, 2), v128.xor(four, oddSigns));
    four = f32x4.add(v128.shuffle<i32>(four, four, 2, 3, 0, 1), v128.xor(four, highSigns));
    v128.store(at, f32x4.mul(four, scale));
  }
  let half: usize = 16;
  // Two steps at a time read and write each number half as often.
  for (; half << 1 < bytes; half <<= 2)
    for (let begin = from; begin < end; begin += half << 2)
      for (let at = begin; at < begin + half; at += 16) {
        const a = v128.load(at);
        const b = v128.load(at + half);
        const c = v128.load(at + half * 2);
        const d = v128.load(at + half * 3);
        const sum = f32x4.add(a, b);
        const difference = f32x4.sub(a, b);
        const otherSum = f32x4.add(c, d);
        const otherDifference = f32x4.sub(c, d);
        v128.store(at, f32x4.add(sum, otherSum));
        v128.store(at + half, f32x4.add(difference, otherDifference));
        v128.store(at + half * 2, f32x4.sub(sum, otherSum));
        v128.store(at + half * 3, f32x4.sub(difference, otherDifference));
      }
  if (half < bytes)
    for (let at = from; at < from + half; at += 16) {
      const a = v128.load(at);
      const b = v128.load(at + half);
      v128.store(at, f32x4.add(a, b));
      v128.store(at + half, f32x4.sub(a, b));
    }
}

/** Writes the code of a rotated vector to `code`. */
export function encodeSigns(vector: usize, components: u32, code: usize): void {
  let squares = f32x4.splat(0);
  let sizes = squares;
  const zero = squares;
  for (const end = vector + usize(components) * NUMBER_BYTES; vector < end; vector += 32, code++) {
    const low = v128.load(vector);
    const high = v128.load(vector, 16);
    store<u8>(code, i32x4.bitmask(f32x4.ge(low, zero)) | (i32x4.bitmask(f32x4.ge(high, zero)) << 4));
    squares = f32x4.add(squares, f32x4.add(f32x4.mul(low, low), f32x4.mul(high, high)));
    sizes = f32x4.add(sizes, f32x4.add(f32x4.abs(low), f32x4.abs(high)));
  }
  const norm = totalOf(squares);
  const size = totalOf(sizes);
  store<f32>(code, norm);
  store<f32>(code, size == 0 ? 0 : norm / size, NUMBER_BYTES);
}

/** Returns components `at` to `at` + 3 of a query, less those of the centre. */
@inline function fourOf(from: usize, centre: usize, at: usize): v128 {
  const four = v128.load(from + at);
  return centre == 0 ? four : f32x4.sub(four, v128.load(centre + at));
}

/** Rounds four numbers to whole multiples of 1 / `perUnit`. */
@inline function levelsOf(four: v128, perUnit: v128): v128 {
  const wholes = f32x4.splat(WHOLES);
  return i32x4.sub(f32x4.add(f32x4.mul(four, perUnit), wholes), wholes);
}

/**
 * Makes the tables of a query whose rotated components are written, less those of `centre` (f32; 0 for none). The codes
 * were made around the same centre. `doubt`: multiple of the usual error by which estimates are lowered.
 */
export function enterSigns(query: SignQuery, centre: usize, doubt: f32): void {
  const from = changetype<usize>(query) + QUERY_HEADER_BYTES;
  const bytes = (usize(query.codeBytes) * NUMBER_BYTES) << 3;
  let squares = f32x4.splat(0);
  let most = squares;
  for (let at: usize = 0; at < bytes; at += 16) {
    const four = fourOf(from, centre, at);
    squares = f32x4.add(squares, f32x4.mul(four, four));
    most = f32x4.max(most, f32x4.abs(four));
  }
  const square = totalOf(squares);
  const unit = largestOf(most) / LEVEL_MAX;
  const perUnit = f32x4.splat(unit == 0 ? 0 : 1 / unit);
  let owns = i16x8.splat(0);
  let tables = from + bytes;
  for (let at: usize = 0; at < bytes; at += 64, tables += 64) {
    const low = i16x8.narrow_i32x4_s(
      levelsOf(fourOf(from, centre, at), perUnit),
      levelsOf(fourOf(from, centre, at + 16), perUnit),
    );
    const high = i16x8.narrow_i32x4_s(
      levelsOf(fourOf(from, centre, at + 32), perUnit),
      levelsOf(fourOf(from, centre, at + 48), perUnit),
    );
    const levels = i8x16.narrow_i16x8_s(low, high);
    owns = i16x8.add(owns, i16x8.extadd_pairwise_i8x16_s(i8x16.abs(levels)));
    writeTables(levels, tables);
  }
  const words = i32x4.extadd_pairwise_i16x8_s(owns);
  const pairs = i32x4.add(words, v128.shuffle<i32>(words, words, 2, 3, 0, 1));
  query.step = unit + unit;
  // If the query is the centre, this sum is that of all rows, and all are measured.
  query.own = i32x4.extract_lane(pairs, 0) + i32x4.extract_lane(pairs, 1);
  query.square = square;
  query.doubt = 2 * doubt * sqrt(square / f32((query.codeBytes << 3) - 1));
}

/**
 * Writes a table per four of the 16 numbers. Entry i is their sum with signs given by the bits of i, a set bit being +.
 * It is one of four sums of the first two plus one of four sums of the others.
 */
@inline function writeTables(levels: v128, tables: usize): void {
  const first = v128.shuffle<i8>(levels, levels, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
  const second = v128.shuffle<i8>(levels, levels, 1, 1, 1, 1, 5, 5, 5, 5, 9, 9, 9, 9, 13, 13, 13, 13);
  const third = v128.shuffle<i8>(levels, levels, 2, 2, 2, 2, 6, 6, 6, 6, 10, 10, 10, 10, 14, 14, 14, 14);
  const fourth = v128.shuffle<i8>(levels, levels, 3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15);
  const alternate = i16x8.splat(0x00ff);
  const pairwise = i32x4.splat(0x0000ffff);
  const low = i8x16.add(negated(first, alternate), negated(second, pairwise));
  const high = i8x16.add(negated(third, alternate), negated(fourth, pairwise));
  v128.store(tables, i8x16.add(v128.shuffle<i32>(low, low, 0, 0, 0, 0), fourTimes(high, 0)));
  v128.store(tables, i8x16.add(v128.shuffle<i32>(low, low, 1, 1, 1, 1), fourTimes(high, 1)), 16);
  v128.store(tables, i8x16.add(v128.shuffle<i32>(low, low, 2, 2, 2, 2), fourTimes(high, 2)), 32);
  v128.store(tables, i8x16.add(v128.shuffle<i32>(low, low, 3, 3, 3, 3), fourTimes(high, 3)), 48);
}

/** Returns the numbers, negated if all bits are set in `minus`. */
@inline function negated(numbers: v128, minus: v128): v128 {
  return i8x16.sub(v128.xor(numbers, minus), minus);
}

/** Returns each byte of a word four times. */
@inline function fourTimes(bytes: v128, word: i32): v128 {
  if (word == 0) return v128.shuffle<i8>(bytes, bytes, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  if (word == 1) return v128.shuffle<i8>(bytes, bytes, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7);
  if (word == 2) return v128.shuffle<i8>(bytes, bytes, 8, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 11, 11, 11, 11);
  return v128.shuffle<i8>(bytes, bytes, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15);
}

/**
 * Writes rows whose bit is set in `bitmap` and whose estimate is below the limit, in order; returns how many. There
 * must be room for all `rows` and for 64 bytes more. A row with the query's own signs has the estimate −infinity.
 * `number`: the number of the first row.
 */
export function estimateRows(
  query: SignQuery,
  codes: usize,
  rows: u32,
  number: u32,
  bitmap: usize,
  limit: f32,
  found: usize,
): u32 {
  const codeBytes: usize = query.codeBytes;
  const tables = changetype<usize>(query) + QUERY_HEADER_BYTES + ((codeBytes * NUMBER_BYTES) << 3);
  const half = i8x16.splat(15);
  const limits = f32x4.splat(limit);
  let to = found;
  for (let first: u32 = 0; first < rows; first += GROUP, codes += (codeBytes + 2 * NUMBER_BYTES) * GROUP) {
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
    const estimates0 = estimatesOf(query, sums0, at);
    const estimates1 = estimatesOf(query, sums1, at + 16);
    const estimates2 = estimatesOf(query, sums2, at + 32);
    const estimates3 = estimatesOf(query, sums3, at + 48);
    let near =
      u32(i32x4.bitmask(f32x4.lt(estimates0, limits))) |
      (u32(i32x4.bitmask(f32x4.lt(estimates1, limits))) << 4) |
      (u32(i32x4.bitmask(f32x4.lt(estimates2, limits))) << 8) |
      (u32(i32x4.bitmask(f32x4.lt(estimates3, limits))) << 12);
    near &= chosen;
    if (near == 0) continue;
    // Stage the estimates behind the 16 places that may be written below. Each is read before the next is written.
    const staged = to + usize(GROUP) * ESTIMATE_BYTES;
    v128.store(staged, estimates0);
    v128.store(staged, estimates1, 16);
    v128.store(staged, estimates2, 32);
    v128.store(staged, estimates3, 48);
    do {
      const row = u32(ctz(near));
      near &= near - 1;
      store<u32>(to, number + first + row);
      store<f32>(to, load<f32>(staged + (usize(row) << 2)), 4);
      to += ESTIMATE_BYTES;
    } while (near != 0);
  }
  return u32((to - found) / ESTIMATE_BYTES);
}

/** Returns the address of the codes from `row` on, which is the first of 16. */
@inline export function codesFrom(query: SignQuery, codes: usize, row: u32): usize {
  return codes + usize(row) * (usize(query.codeBytes) + 2 * NUMBER_BYTES);
}

/** Returns the estimates of four rows, whose norms begin at `numbers`. */
@inline function estimatesOf(query: SignQuery, sums: v128, numbers: usize): v128 {
  const norms = v128.load(numbers);
  const factors = v128.load(numbers, 64);
  const across = f32x4.mul(factors, f32x4.mul(f32x4.splat(query.step), f32x4.convert_i32x4_s(sums)));
  let estimates = f32x4.sub(norms, across);
  if (query.doubt != 0) {
    const components = f32x4.splat(f32(query.codeBytes << 3));
    const missed = f32x4.sub(f32x4.mul(f32x4.mul(factors, factors), components), norms);
    const errors = f32x4.sqrt(f32x4.max(missed, f32x4.splat(0)));
    estimates = f32x4.sub(estimates, f32x4.mul(errors, f32x4.splat(query.doubt)));
  }
  return v128.bitselect(f32x4.splat(-Infinity), estimates, i32x4.eq(sums, i32x4.splat(query.own)));
}

const BUCKETS: u32 = 256;
const BUCKET_BITS: u32 = 8;
/** Key of an estimate of −infinity. */
const OWN_KEY: u32 = 0x007fffff;
/** Key of the least finite number. */
const LEAST_KEY: u32 = 0x00800000;

/** Maps an estimate to a whole number with the same order. */
@inline function keyOf(estimate: u32): u32 {
  return estimate ^ (u32(i32(estimate) >> 31) | 0x80000000);
}

@inline function estimateOf(key: u32): f32 {
  return reinterpret<f32>(key & 0x80000000 ? key ^ 0x80000000 : ~key);
}

/**
 * Keeps the `wanted` rows with the least estimates of the `count` found; returns how many. Of equal ones the first
 * stay. All rows with the query's own signs stay. Writes to `work` the limit that another row must be below. `work` has
 * room for 256 counts.
 */
export function keepLeast(found: usize, count: u32, wanted: u32, work: usize): u32 {
  const end = found + usize(count) * ESTIMATE_BYTES;
  let last = OWN_KEY;
  let alike = count;
  if (wanted > 0 && wanted <= count) {
    // Find the key of the last row to keep, from its highest bits on, and its rank among keys with that prefix.
    last = 0;
    alike = wanted;
    let known: u32 = 0;
    for (let shift: u32 = 32 - BUCKET_BITS; ; shift -= BUCKET_BITS) {
      memory.fill(work, 0, usize(BUCKETS) << 2);
      for (let at = found; at < end; at += ESTIMATE_BYTES) {
        const key = keyOf(load<u32>(at, 4));
        if ((key & known) != last) continue;
        const place = work + (usize((key >> shift) & (BUCKETS - 1)) << 2);
        store<u32>(place, load<u32>(place) + 1);
      }
      let bucket: u32 = 0;
      for (let size = load<u32>(work); alike > size; size = load<u32>(work + (usize(bucket) << 2))) {
        alike -= size;
        bucket++;
      }
      last |= bucket << shift;
      known |= (BUCKETS - 1) << shift;
      if (shift == 0) break;
    }
  } else if (wanted > 0) {
    last = u32.MAX_VALUE;
  }
  let to = found;
  for (let at = found; at < end; at += ESTIMATE_BYTES) {
    const row = load<u64>(at);
    const key = keyOf(u32(row >> 32));
    const isLast = u32(key == last) & u32(alike > 0);
    alike -= isLast;
    store<u64>(to, row);
    to += usize(u32(key < last) | isLast | u32(key == OWN_KEY)) * ESTIMATE_BYTES;
  }
  store<f32>(work, estimateOf(max(last, LEAST_KEY)));
  return u32((to - found) / ESTIMATE_BYTES);
}
