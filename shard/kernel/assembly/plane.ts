/**
 * The code plane of a block: a scalar quantizer with a byte per component, stored beside the rows. A component x of
 * dimension j becomes the code c, within ±127, for which middle[j] + c * step[j] is nearest to x. Let
 * x' = middle + step * c be the point of a row's codes. The plane also holds two numbers per row.
 *
 *   Residual   |x - x'|, or a little more.
 *   Gain       |x' - middle|^2 - |x - x'|^2, or a little less.
 *
 * `nearness.ts` uses them. All sums are exact. Let L be the largest |component| that was ever in the block. The host
 * ensures that dimension * (2 * L + 256)^2 < 2^63 and 2 * L + 256 < 2^31. The step is 1/254 of the range of a
 * dimension, rounded up. Therefore |step * c| <= L + 127, and no difference exceeds 2 * L + 256.
 */
import { sumOf } from './lanes';

@unmanaged
export class Plane {
  /** Version of the steps and their codes, unique in the process; 0 before the first. */
  version: u32;
  /** Bytes of a row's codes: a multiple of 16, zeros from the dimension on. */
  codeBytes: u32;
  /** Addresses of middles and steps (an i32 per component), gains and residuals (an f32 per row), and codes, row by row. */
  middles: u32;
  steps: u32;
  gains: u32;
  residuals: u32;
  codes: u32;
}

/** Relative margin by which stored numbers are on the safe side. */
const SAFE: f64 = 1.0 / 1048576.0;

const CODE_MAX: f32 = 127;

/** An f32 of this size has no fraction, so that a small number added to it is rounded, half to even. */
const WHOLE: f32 = 12582912;
const WHOLE_BITS: i32 = 0x4b400000;

/** Begins to choose middles and steps. `fitRows` with all rows follows, then `endFit`. */
export function beginFit(plane: Plane): void {
  // During the fit, the two arrays hold the smallest and the largest components.
  for (let offset: usize = 0; offset < usize(plane.codeBytes) << 2; offset += 16) {
    v128.store(usize(plane.middles) + offset, i32x4.splat(i32.MAX_VALUE));
    v128.store(usize(plane.steps) + offset, i32x4.splat(i32.MIN_VALUE));
  }
}

/** Adds `rows` rows to the fit. `ids`: address of their ids, to skip rows whose id is 0; 0 to add all. */
export function fitRows(plane: Plane, vectors: usize, ids: usize, rows: u32, strideBytes: u32): void {
  const lows: usize = plane.middles;
  const highs: usize = plane.steps;
  const end: usize = strideBytes;
  for (let row: u32 = 0; row < rows; row++) {
    if (ids != 0 && load<f64>(ids + (usize(row) << 3)) == 0) continue;
    const vector = vectors + usize(row) * end;
    for (let offset: usize = 0; offset < end; offset += 16) {
      const components = v128.load(vector + offset);
      v128.store(lows + offset, i32x4.min_s(v128.load(lows + offset), components));
      v128.store(highs + offset, i32x4.max_s(v128.load(highs + offset), components));
    }
  }
}

/** Chooses middles and steps for the rows of the fit. */
export function endFit(plane: Plane, strideBytes: u32): void {
  const lows: usize = plane.middles;
  const highs: usize = plane.steps;
  const end: usize = strideBytes;
  for (let offset: usize = 0; offset < usize(plane.codeBytes) << 2; offset += 4) {
    const low = offset < end ? i64(load<i32>(lows + offset)) : 0;
    const high = offset < end ? i64(load<i32>(highs + offset)) : 0;
    store<i32>(lows + offset, i32((low + high) >> 1));
    store<i32>(highs + offset, i32(max<i64>(1, (high - low + 253) / 254)));
  }
}

/** Writes the codes, gains and residuals of `rows` rows from `first` on. */
export function encodeRows(plane: Plane, vectors: usize, strideBytes: u32, first: u32, rows: u32): void {
  const middles: usize = plane.middles;
  const steps: usize = plane.steps;
  const end: usize = strideBytes;
  for (let row = first; row < first + rows; row++) {
    const vector = vectors + usize(row) * end;
    const code = usize(plane.codes) + usize(row) * plane.codeBytes;
    let spans = i64x2.splat(0);
    let losses = spans;
    for (let offset: usize = 0; offset < end; offset += 16) {
      const step = v128.load(steps + offset);
      const from = i32x4.sub(v128.load(vector + offset), v128.load(middles + offset));
      const exact = f32x4.div(f32x4.convert_i32x4_s(from), f32x4.convert_i32x4_s(step));
      const within = f32x4.pmax(f32x4.splat(-CODE_MAX), f32x4.pmin(f32x4.splat(CODE_MAX), exact));
      const codes = i32x4.sub(f32x4.add(within, f32x4.splat(WHOLE)), i32x4.splat(WHOLE_BITS));
      const span = i32x4.mul(codes, step);
      spans = addSquares(spans, span);
      losses = addSquares(losses, i32x4.sub(from, span));
      const words = i16x8.narrow_i32x4_s(codes, codes);
      v128.store_lane<i32>(code + (offset >> 2), i8x16.narrow_i16x8_s(words, words), 0);
    }
    for (let offset = end >> 2; offset < usize(plane.codeBytes); offset += 4) store<i32>(code + offset, 0);
    const loss = i64(sumOf(losses));
    const gain = f64(i64(sumOf(spans)) - loss);
    const place = usize(row) << 2;
    store<f32>(usize(plane.gains) + place, f32(gain - abs(gain) * SAFE));
    store<f32>(usize(plane.residuals) + place, f32(sqrt(f64(loss)) * (1.0 + SAFE)));
  }
}

@inline function addSquares(total: v128, components: v128): v128 {
  const low = i64x2.extmul_low_i32x4_s(components, components);
  const high = i64x2.extmul_high_i32x4_s(components, components);
  return i64x2.add(total, i64x2.add(low, high));
}
