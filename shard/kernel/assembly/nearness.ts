/**
 * Decides which rows are too far away by the code plane of their block, a filter with a proven bound. Let q be the
 * query, x a row, x' the point of its codes c, and T^2 the largest squared distance of interest. A row is too far if
 * |q - x'| > T + |x - x'|, by the triangle inequality. Squared, with the middles m and the weights w = (q - m) * step,
 * that is the first line. The second line is the first one, solved for w·c, with the `residual` |x - x'| and the `gain`
 * of `plane.ts`. The tests in `codePlane.test.ts` and `scan.test.ts` measure every row and compare.
 *
 *   |q - m|^2 - 2 w·c + |x' - m|^2 > T^2 + 2 T |x - x'| + |x - x'|^2.
 *   2 w·c + 2 T residual - gain < |q - m|^2 - T^2.
 *
 * The weights are rounded to a unit W times an i16, v, so that the kernel adds whole numbers. The error has a bound:
 * |w·c - W v·c| <= 127 Σ|w - W v| = E / 2. In f32, each result with an error below 2^-24 of it, the kernel computes:
 *
 *   2 W v·c + 2 T residual - gain < |q - m|^2 - T^2 - E - S.
 *
 * The left side is wrong by less than 2^-22 (|2 W v·c| + 2 T residual + |gain|). The plane's residual is greater, and
 * its gain less, by at least 2^-21 of it. S is 2^-20 of the largest possible |2 W v·c|. The right side is computed in
 * f64 and lowered by more than its rounding. If a number is not finite, no row is excluded.
 */
import { Plane } from './plane';
import { dotsOf, exactWeightsOf, queryOf, rowsOf, Scan, totalsOf, weightsOf } from './scan';
import { LINE_BYTES, largestOf, sumOf, totalOf } from './lanes';

/** Bounds of |v|, so that it fits i16 after rounding, and of the sum of all |v|, so that 127 times it fits i32. */
const WEIGHT_MAX: f32 = 32700;
const WEIGHTS_SUM_MAX: f32 = 16000000;

const CODE_MAX: f64 = 127;
/**
 * Four rows in a line are read as one stream while they are short. The processor treats longer ones as four streams.
 */
const ONE_STREAM_BYTES: usize = 192;
/** More than any rounding error of f64, and of f32. */
export const BEYOND_F64: f64 = 1.0 / 1125899906842624.0;
const BEYOND_F32: f64 = 1.0 / 1048576.0;
/** More than the rounding error of a sum of 32,768 numbers in f32. */
const SUM_BEYOND: f64 = 1.0 + 1.0 / 256.0;

/** More than the error of gains and residuals. */
const BEYOND_PLANE: f64 = 1.0 / 262144.0;

/** Lower bound of the squared distance of a row with these codes. */
@inline export function leastDistance(scan: Scan, dot: i32, gain: f64, residual: f64): f64 {
  const product = 2.0 * f64(scan.unit) * f64(dot);
  const square = scan.planeDistance - product + gain + residual * residual * (1.0 - BEYOND_PLANE);
  const distance = max<f64>(0, sqrt(max<f64>(0, square)) * (1.0 - BEYOND_F64) - residual);
  return distance * distance * (1.0 - BEYOND_F64);
}

/** Upper bound of the squared distance of a row with these codes; the largest number if it is not known. */
@inline export function mostDistance(scan: Scan, dot: i32, gain: f64, residual: f64): u64 {
  const product = 2.0 * f64(scan.unit) * f64(dot);
  const square = scan.planeDistanceMost - product + gain + abs(gain) * BEYOND_PLANE + residual * residual;
  const distance = sqrt(max<f64>(0, square)) * (1.0 + BEYOND_F64) + residual;
  const most = distance * distance * (1.0 + BEYOND_F64) + 1.0;
  return most < 18446744073709551616.0 ? u64(most) : u64.MAX_VALUE;
}

/** Computes the weights of the query for a plane, unless they are current. */
export function enterPlane(scan: Scan, plane: Plane): void {
  scan.plane = changetype<usize>(plane) as u32;
  if (scan.preparedVersion == plane.version) return;
  scan.preparedVersion = plane.version;
  const end: usize = scan.strideBytes;
  const query = queryOf(scan);
  const exact = exactWeightsOf(scan);
  let squares = i64x2.splat(0);
  let sums = f32x4.splat(0);
  let most = sums;
  for (let offset: usize = 0; offset < end; offset += 16) {
    const from = i32x4.sub(v128.load(query + offset), v128.load(usize(plane.middles) + offset));
    squares = i64x2.add(squares, i64x2.extmul_low_i32x4_s(from, from));
    squares = i64x2.add(squares, i64x2.extmul_high_i32x4_s(from, from));
    const step = f32x4.convert_i32x4_s(v128.load(usize(plane.steps) + offset));
    const weight = f32x4.mul(f32x4.convert_i32x4_s(from), step);
    v128.store(exact + offset, weight);
    const size = f32x4.abs(weight);
    sums = f32x4.add(sums, size);
    most = f32x4.max(most, size);
  }
  const sum = totalOf(sums);
  const unit = max<f32>(max<f32>(largestOf(most) / WEIGHT_MAX, sum / WEIGHTS_SUM_MAX), f32(1e-30));
  scan.unit = unit;
  const error = roundWeights(scan, unit);
  const distance = f64(i64(sumOf(squares)));
  const rounded = 2.0 * CODE_MAX * (error + f64(sum) * BEYOND_F32) * SUM_BEYOND;
  const slack = 2.0 * CODE_MAX * f64(sum) * SUM_BEYOND * BEYOND_F32 * 2.0;
  scan.planeDistance = distance * (1.0 - BEYOND_F64) - rounded - slack;
  scan.planeDistanceMost = distance * (1.0 + BEYOND_F64) + rounded;
}

/** Writes the weights as multiples of `unit`; returns the sum of their errors. */
function roundWeights(scan: Scan, unit: f32): f64 {
  const exact = exactWeightsOf(scan);
  const weights = weightsOf(scan);
  const end: usize = scan.strideBytes;
  const units = f32x4.splat(unit);
  const perUnit = f32x4.splat(f32(1) / unit);
  let errors = f32x4.splat(0);
  for (let offset: usize = 0; offset < end; offset += 16) {
    const weight = v128.load(exact + offset);
    // Rounding a product across a half is wrong by one; the errors are computed from the written weights.
    const whole = f32x4.nearest(f32x4.mul(weight, perUnit));
    errors = f32x4.add(errors, f32x4.abs(f32x4.sub(weight, f32x4.mul(whole, units))));
    const words = i32x4.trunc_sat_f32x4_s(whole);
    v128.store_lane<i64>(weights + (offset >> 1), i16x8.narrow_i32x4_s(words, words), 0);
  }
  for (let offset = end; offset < usize(changetype<Plane>(scan.plane).codeBytes) << 2; offset += 4) {
    store<u16>(weights + (offset >> 1), 0);
  }
  return f64(totalOf(errors));
}

/** Sets the largest distance of interest. */
@inline export function setReach(scan: Scan, worst: u64): void {
  const distance = f64(worst);
  const least = scan.planeDistance - distance * (1.0 + BEYOND_F64);
  scan.leastNearness = f32(least - abs(least) * BEYOND_F32);
  scan.reach = f32(2.0 * sqrt(distance) * (1.0 + BEYOND_F32));
}

/** Adds the products of 16 codes with their weights. */
@inline function addProducts(sums: v128, code: usize, low: v128, high: v128): v128 {
  const first = i32x4.dot_i16x8_s(v128.load_ext<i8>(code), low);
  const second = i32x4.dot_i16x8_s(v128.load_ext<i8>(code, 8), high);
  return i32x4.add(sums, i32x4.add(first, second));
}

/** The sums of the lanes of a, b, c and d. */
@inline function sumsOf(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7));
  const cd = i32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7));
  return i32x4.add(v128.shuffle<i32>(ab, cd, 0, 1, 4, 5), v128.shuffle<i32>(ab, cd, 2, 3, 6, 7));
}

/** Returns v·c for the codes at a, b, c and d. */
@inline function products(scan: Scan, a: usize, b: usize, c: usize, d: usize): v128 {
  const weights = weightsOf(scan);
  const end: usize = changetype<Plane>(scan.plane).codeBytes;
  let sa = i32x4.splat(0);
  let sb = sa;
  let sc = sa;
  let sd = sa;
  for (let offset: usize = 0; offset < end; offset += 16) {
    const low = v128.load(weights + (offset << 1));
    const high = v128.load(weights + (offset << 1), 16);
    sa = addProducts(sa, a + offset, low, high);
    sb = addProducts(sb, b + offset, low, high);
    sc = addProducts(sc, c + offset, low, high);
    sd = addProducts(sd, d + offset, low, high);
  }
  return sumsOf(sa, sb, sc, sd);
}

/** Returns a bit per row of four: set if it may be within reach. */
@inline function near(scan: Scan, dots: v128, gains: v128, residuals: v128): u32 {
  const product = f32x4.mul(f32x4.convert_i32x4_s(dots), f32x4.splat(scan.unit + scan.unit));
  const nearness = f32x4.sub(f32x4.add(product, f32x4.mul(residuals, f32x4.splat(scan.reach))), gains);
  // Inverted so that a result that is not a number keeps the row.
  return ~i32x4.bitmask(f32x4.lt(nearness, f32x4.splat(scan.leastNearness))) & 15;
}

/** Writes v·c for `rows` rows from `code` on. */
function multiply(scan: Scan, code: usize, rows: u32): void {
  const codeBytes: usize = changetype<Plane>(scan.plane).codeBytes;
  const dots = dotsOf(scan);
  if (codeBytes <= ONE_STREAM_BYTES) {
    for (let at: u32 = 0; at < rows; at += 4) {
      v128.store(dots + (usize(at) << 2), products(scan, code, code + codeBytes, code + codeBytes * 2, code + codeBytes * 3));
      code += codeBytes * 4;
    }
    return;
  }
  const apart = usize((rows + 3) >> 2);
  const second = dots + (apart << 2);
  const third = second + (apart << 2);
  const fourth = third + (apart << 2);
  const apartBytes = apart * codeBytes;
  for (let at: usize = 0; at < apart << 2; at += 4) {
    const four = products(scan, code, code + apartBytes, code + apartBytes * 2, code + apartBytes * 3);
    v128.store_lane<i32>(dots + at, four, 0);
    v128.store_lane<i32>(second + at, four, 1);
    v128.store_lane<i32>(third + at, four, 2);
    v128.store_lane<i32>(fourth + at, four, 3);
    code += codeBytes;
  }
}

/**
 * Lists the rows that may be within reach, with their products, and returns how many. Looks at `rows` rows from `first`
 * on whose bit is set. At most BATCH rows, and `first` begins a word.
 */
export function listNear(scan: Scan, first: u32, rows: u32): u32 {
  const plane = changetype<Plane>(scan.plane);
  multiply(scan, usize(plane.codes) + usize(first) * plane.codeBytes, rows);
  const dots = dotsOf(scan);
  const gains = usize(plane.gains) + (usize(first) << 2);
  const residuals = usize(plane.residuals) + (usize(first) << 2);
  const list = rowsOf(scan);
  let listed: u32 = 0;
  for (let at: u32 = 0; at < rows; at += 4) {
    const place = usize(at) << 2;
    const bits = u32(load<u8>(usize(scan.bitmap) + ((first + at) >> 3)) >> (at & 4));
    let mask = near(scan, v128.load(dots + place), v128.load(gains + place), v128.load(residuals + place)) & bits;
    while (mask != 0) {
      const row = at + u32(ctz(mask));
      store<u32>(list + (usize(listed) << 2), first + row);
      // This place holds no product that is still to be read.
      store<i32>(dots + (usize(listed) << 2), load<i32>(dots + (usize(row) << 2)));
      listed++;
      mask &= mask - 1;
    }
  }
  return listed;
}

@inline function four(from: usize, a: u32, b: u32, c: u32, d: u32): v128 {
  let lanes = v128.load32_zero(from + (usize(a) << 2));
  lanes = v128.load_lane<i32>(from + (usize(b) << 2), lanes, 1);
  lanes = v128.load_lane<i32>(from + (usize(c) << 2), lanes, 2);
  return v128.load_lane<i32>(from + (usize(d) << 2), lanes, 3);
}

/** Reads a byte of each line, so that the processor loads all of them at once. Store the sum, or the compiler leaves the reads out. */
@inline function touch(code: usize, codeBytes: usize): u32 {
  let sum = u32(load<u8>(code + codeBytes - 1));
  for (let offset: usize = 0; offset < codeBytes; offset += LINE_BYTES) sum += load<u8>(code + offset);
  return sum;
}

/** Reads the head of a plane, and the end of the bitmap before it, so that the processor loads them. See `touch`. */
export function touchHead(scan: Scan, plane: usize): void {
  store<u32>(totalsOf(scan), load<u32>(plane) + load<u32>(plane - LINE_BYTES));
}

/**
 * Keeps the listed rows that may be within reach, with their products; returns how many. `listed`: length of the list.
 */
export function keepNear(scan: Scan, listed: u32): u32 {
  const plane = changetype<Plane>(scan.plane);
  const codes: usize = plane.codes;
  const codeBytes: usize = plane.codeBytes;
  const list = rowsOf(scan);
  const kepts = dotsOf(scan);
  // Fill the last group with its last row.
  const last = load<u32>(list + (usize(listed - 1) << 2));
  let kept: u32 = 0;
  for (let at: u32 = 0; at < listed; at += 4) {
    const rows = list + (usize(at) << 2);
    const a = load<u32>(rows);
    const b = at + 1 < listed ? load<u32>(rows, 4) : last;
    const c = at + 2 < listed ? load<u32>(rows, 8) : last;
    const d = at + 3 < listed ? load<u32>(rows, 12) : last;
    const ca = codes + usize(a) * codeBytes;
    const cb = codes + usize(b) * codeBytes;
    const cc = codes + usize(c) * codeBytes;
    const cd = codes + usize(d) * codeBytes;
    const gains = four(plane.gains, a, b, c, d);
    const residuals = four(plane.residuals, a, b, c, d);
    store<u32>(totalsOf(scan), touch(ca, codeBytes) + touch(cb, codeBytes) + touch(cc, codeBytes) + touch(cd, codeBytes));
    const dots = products(scan, ca, cb, cc, cd);
    let mask = near(scan, dots, gains, residuals);
    mask &= (1 << min<u32>(4, listed - at)) - 1;
    if (mask == 0) continue;
    // These places hold no kept product: they begin at the first of the four, or one behind it.
    const made = kepts + (usize(at) << 2);
    v128.store(made, dots);
    while (mask != 0) {
      const lane = usize(ctz(mask)) << 2;
      store<u32>(list + (usize(kept) << 2), load<u32>(rows + lane));
      store<i32>(kepts + (usize(kept) << 2), load<i32>(made + lane));
      kept++;
      mask &= mask - 1;
    }
  }
  return kept;
}
