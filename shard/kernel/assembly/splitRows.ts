/**
 * Split rows: the codes of a block's code plane, and residuals of 8 or 16 bits. A component is exactly
 *
 *   middle + code * step + residual.
 *
 * A row of residuals has a whole number of groups of eight; those beyond the dimension are 0. With residuals of 8 bits
 * every step is at most STEP_MAX. Therefore code * step + residual fits 16 bits. The bound of `narrow.ts` holds for
 * middles as for components.
 */
import { sumOf } from './lanes';
import { Plane } from './plane';
import { centredOf, exactWeightsOf, queryOf, rowsOf, Scan, totalsOf } from './scan';
import { BYTES } from './way';

/** Rows read side by side. */
export const SPLIT_GROUP: u32 = 4;

const STEP_MAX: u32 = 255;

/** Bytes of a row of residuals. */
@inline function residualBytes<Residual>(strideBytes: usize): usize {
  return (((strideBytes >> 2) + 7) & ~7) * sizeof<Residual>();
}

/** Computes the query less the middles, unless that is current. */
@inline export function centre(scan: Scan, plane: Plane): void {
  if (scan.centredVersion != plane.version) centreAnew(scan, plane);
}

function centreAnew(scan: Scan, plane: Plane): void {
  scan.centredVersion = plane.version;
  const query = queryOf(scan);
  const centred = centredOf(scan);
  const end: usize = scan.strideBytes;
  for (let offset: usize = 0; offset < end; offset += 16) {
    v128.store(centred + offset, i32x4.sub(v128.load(query + offset), v128.load(usize(plane.middles) + offset)));
  }
  memory.fill(centred + end, 0, (usize(plane.codeBytes) << 2) - end);
}

/** Eight components less those of the query, squared and added. */
@inline function addSquares<Residual>(total: v128, code: usize, residual: usize, steps: usize, centred: usize): v128 {
  const codes = v128.load_ext<i8>(code);
  let low: v128;
  let high: v128;
  if (sizeof<Residual>() == 1) {
    const step = i16x8.narrow_i32x4_u(v128.load(steps), v128.load(steps, 16));
    const parts = i16x8.add(i16x8.mul(codes, step), v128.load_ext<i8>(residual));
    low = i32x4.extend_low_i16x8_s(parts);
    high = i32x4.extend_high_i16x8_s(parts);
  } else {
    const residuals = v128.load(residual);
    low = i32x4.mul(i32x4.extend_low_i16x8_s(codes), v128.load(steps));
    high = i32x4.mul(i32x4.extend_high_i16x8_s(codes), v128.load(steps, 16));
    low = i32x4.add(low, i32x4.extend_low_i16x8_s(residuals));
    high = i32x4.add(high, i32x4.extend_high_i16x8_s(residuals));
  }
  low = i32x4.sub(low, v128.load(centred));
  high = i32x4.sub(high, v128.load(centred, 16));
  const first = i64x2.add(i64x2.extmul_low_i32x4_s(low, low), i64x2.extmul_high_i32x4_s(low, low));
  const second = i64x2.add(i64x2.extmul_low_i32x4_s(high, high), i64x2.extmul_high_i32x4_s(high, high));
  return i64x2.add(total, i64x2.add(first, second));
}

@inline function rowAt(scan: Scan, at: u32): usize {
  return usize(load<u32>(rowsOf(scan) + (usize(at) << 2)));
}

/** The distance of the listed row `at`. */
export function splitTotal<Residual>(scan: Scan, at: u32): u64 {
  const plane = changetype<Plane>(usize(scan.plane));
  const centred = centredOf(scan);
  const steps: usize = plane.steps;
  const row = rowAt(scan, at);
  const end = ((usize(scan.strideBytes) >> 2) + 7) & ~7;
  const code = usize(plane.codes) + row * plane.codeBytes;
  const residual = usize(scan.vectors) + row * residualBytes<Residual>(scan.strideBytes);
  let total = i64x2.splat(0);
  for (let i: usize = 0; i < end; i += 8) {
    const place = i << 2;
    total = addSquares<Residual>(total, code + i, residual + i * sizeof<Residual>(), steps + place, centred + place);
  }
  return sumOf(total);
}

/** Writes the distances of a group (the listed rows at, at + apart, …) to the scan's totals. */
export function splitTotals<Residual>(scan: Scan, at: u32, apart: u32): void {
  const plane = changetype<Plane>(usize(scan.plane));
  const centred = centredOf(scan);
  const steps: usize = plane.steps;
  const codes: usize = plane.codes;
  const codeBytes: usize = plane.codeBytes;
  const rowBytes = residualBytes<Residual>(scan.strideBytes);
  const residuals: usize = scan.vectors;
  const end = ((usize(scan.strideBytes) >> 2) + 7) & ~7;
  const r0 = rowAt(scan, at);
  const r1 = rowAt(scan, at + apart);
  const r2 = rowAt(scan, at + apart * 2);
  const r3 = rowAt(scan, at + apart * 3);
  const c0 = codes + r0 * codeBytes;
  const c1 = codes + r1 * codeBytes;
  const c2 = codes + r2 * codeBytes;
  const c3 = codes + r3 * codeBytes;
  const v0 = residuals + r0 * rowBytes;
  const v1 = residuals + r1 * rowBytes;
  const v2 = residuals + r2 * rowBytes;
  const v3 = residuals + r3 * rowBytes;
  let t0 = i64x2.splat(0);
  let t1 = t0;
  let t2 = t0;
  let t3 = t0;
  for (let i: usize = 0; i < end; i += 8) {
    const place = i << 2;
    const offset = i * sizeof<Residual>();
    t0 = addSquares<Residual>(t0, c0 + i, v0 + offset, steps + place, centred + place);
    t1 = addSquares<Residual>(t1, c1 + i, v1 + offset, steps + place, centred + place);
    t2 = addSquares<Residual>(t2, c2 + i, v2 + offset, steps + place, centred + place);
    t3 = addSquares<Residual>(t3, c3 + i, v3 + offset, steps + place, centred + place);
  }
  const totals = totalsOf(scan);
  store<u64>(totals, sumOf(t0), 0);
  store<u64>(totals, sumOf(t1), 8);
  store<u64>(totals, sumOf(t2), 16);
  store<u64>(totals, sumOf(t3), 24);
}

/** Writes the vector of the listed row `at` over the exact weights, which are used only while weights are rounded. */
export function joinListed(scan: Scan, at: u32): usize {
  const to = exactWeightsOf(scan);
  const plane = changetype<Plane>(usize(scan.plane));
  joinRow(plane, scan.vectors, scan.strideBytes, u32(rowAt(scan, at)), to, scan.way & BYTES);
  return to;
}

/** Writes the vector of a row, padded with zeros. `residuals`: of all rows; `isBytes`: whether they have 8 bits. */
export function joinRow(plane: Plane, residuals: usize, strideBytes: u32, row: u32, to: usize, isBytes: u32): void {
  if (isBytes) join<i8>(plane, residuals, strideBytes, row, to);
  else join<i16>(plane, residuals, strideBytes, row, to);
}

function join<Residual>(plane: Plane, residuals: usize, strideBytes: usize, row: usize, to: usize): void {
  const code = usize(plane.codes) + row * plane.codeBytes;
  const residual = residuals + row * residualBytes<Residual>(strideBytes);
  for (let offset: usize = 0; offset < strideBytes; offset += 16) {
    let words: v128;
    if (sizeof<Residual>() == 1) words = i16x8.extend_low_i8x16_s(v128.load32_zero(residual + (offset >> 2)));
    else words = v128.load64_zero(residual + (offset >> 1));
    const step = v128.load(usize(plane.steps) + offset);
    const point = i32x4.add(v128.load(usize(plane.middles) + offset), i32x4.mul(fourCodes(code + (offset >> 2)), step));
    v128.store(to + offset, i32x4.add(point, i32x4.extend_low_i16x8_s(words)));
  }
}

@inline function fourCodes(code: usize): v128 {
  return i32x4.extend_low_i16x8_s(i16x8.extend_low_i8x16_s(v128.load32_zero(code)));
}

/**
 * Writes the residuals of the first `rows` rows, with as many bits as they and the steps need: `isBytes` for 8, else
 * 16. Returns false if they need more; then what is written has no meaning.
 */
export function splitRows(plane: Plane, vectors: usize, strideBytes: u32, rows: u32, to: usize, isBytes: u32): bool {
  return isBytes ? split<i8>(plane, vectors, strideBytes, rows, to) : split<i16>(plane, vectors, strideBytes, rows, to);
}

function split<Residual>(plane: Plane, vectors: usize, strideBytes: usize, rows: u32, to: usize): bool {
  const steps: usize = plane.steps;
  const middles: usize = plane.middles;
  const rowBytes = residualBytes<Residual>(strideBytes);
  if (sizeof<Residual>() == 1) {
    for (let offset: usize = 0; offset < strideBytes; offset += 4) {
      if (load<u32>(steps + offset) > STEP_MAX) return false;
    }
  }
  let lost = i32x4.splat(0);
  for (let row: u32 = 0; row < rows; row++) {
    const code = usize(plane.codes) + usize(row) * plane.codeBytes;
    for (let offset: usize = 0; offset < strideBytes; offset += 16) {
      const from = i32x4.sub(v128.load(vectors + offset), v128.load(middles + offset));
      const rest = i32x4.sub(from, i32x4.mul(fourCodes(code + (offset >> 2)), v128.load(steps + offset)));
      const words = i16x8.narrow_i32x4_s(rest, rest);
      let written: v128;
      if (sizeof<Residual>() == 1) {
        const bytes = i8x16.narrow_i16x8_s(words, words);
        v128.store_lane<i32>(to + (offset >> 2), bytes, 0);
        written = i16x8.extend_low_i8x16_s(bytes);
      } else {
        v128.store_lane<i64>(to + (offset >> 1), words, 0);
        written = words;
      }
      lost = v128.or(lost, v128.xor(i32x4.extend_low_i16x8_s(written), rest));
    }
    const writtenBytes = (strideBytes >> 2) * sizeof<Residual>();
    if (writtenBytes < rowBytes) memory.fill(to + writtenBytes, 0, rowBytes - writtenBytes);
    if (v128.any_true(lost)) return false;
    vectors += strideBytes;
    to += rowBytes;
  }
  return true;
}
