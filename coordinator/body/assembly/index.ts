/**
 * Reads the numbers of a JSON array straight to Q16.16, eight digits at a time. The host reads unusual numbers, and those that need
 * more than eight digits of their fraction: see `vectorText.ts`, which also proves the results right.
 *
 * Memory: the results of a call (two u32), then the host's layout.
 */
const SPACE: u32 = 0x20;
const COMMA: u32 = 0x2c;
const MINUS: u32 = 0x2d;
const DOT: u32 = 0x2e;
const ZERO: u32 = 0x30;
const ARRAY_END: u32 = 0x5d;
/** The letter of an exponent in lower case, and the bit that differs in upper case. */
const EXPONENT: u32 = 0x65;
const CASE_BIT: u32 = 0x20;

/** Why a call ended: end of the array; more numbers than requested; a number for the host; too few bytes; not an array of numbers. */
const ENDED: u32 = 0;
const FULL: u32 = 1;
const LITERAL: u32 = 2;
const MORE: u32 = 3;
const BAD: u32 = 4;

const COUNT_AT: usize = 0;
const WHY_AT: usize = 4;

const WORD_DIGITS: u32 = 8;
/** Largest number of digits of a whole part in range. */
const WHOLE_DIGITS: u32 = 5;
/** Largest number of characters of a number, with sign and point; the host reads longer ones. */
const CHARS_MAX: usize = 32;
const FIXED_ONE: u32 = 65536;
/** Bounds of a component, as in `shared/limits.ts`. */
const VALUE_MIN: f64 = -32768;
const VALUE_MAX: f64 = 32767.99998;
/** FIXED_ONE / 10^8. */
const STEP: f64 = 0.00065536;
/** 2^-10: see `vectorText.ts`. */
const DOUBT: f64 = 0.0009765625;
/** A smaller whole part is in range with any fraction. */
const WHOLE_SAFE: u32 = 32767;

/** Eight bytes, with each digit as its value 0 to 9. */
@inline function unitsAt(at: usize): u64 {
  return load<u64>(at) ^ 0x3030303030303030;
}

/** The number of digits before the first other byte. */
@inline function digitsIn(units: u64): u32 {
  const others = ((units + 0x7676767676767676) | units) & 0x8080808080808080;
  // Without a bit set, `ctz` is 64: all eight are digits.
  return u32(ctz(others)) >> 3;
}

/** The number of eight digits, the first in the lowest byte: first pairs are joined, then fours, then all. */
@inline function numberOf(units: u64): u32 {
  const pairs = units * 10 + (units >> 8);
  const hundreds = (pairs & 0x000000ff000000ff) * 0x000f424000000064;
  const ones = ((pairs >> 16) & 0x000000ff000000ff) * 0x0000271000000001;
  return u32((hundreds + ones) >> 32);
}

@inline function isBlank(byte: u32): bool {
  return byte == SPACE || byte == 0x0a || byte == 0x0d || byte == 0x09;
}

@inline function ended(at: usize, count: u32, why: u32): usize {
  store<u32>(COUNT_AT, count);
  store<u32>(WHY_AT, why);
  return at;
}

/**
 * Writes the Q16.16 of `count` little-endian f32 from `at` to `out`: each times 65536, rounded half to even. Returns how many precede
 * the first that is not within VALUE_MIN and VALUE_MAX.
 */
export function readFloats(at: usize, count: u32, out: usize): u32 {
  const lows = f32x4.splat(f32(VALUE_MIN));
  const ends = f32x4.splat(-f32(VALUE_MIN));
  const one = f32x4.splat(f32(FIXED_ONE));
  let read: u32 = 0;
  // An f32 below -VALUE_MIN is at most VALUE_MAX. Its product with a power of two is exact.
  for (; read + 4 <= count; read += 4) {
    const values = v128.load(at);
    if (!i32x4.all_true(v128.and(f32x4.ge(values, lows), f32x4.lt(values, ends)))) break;
    v128.store(out, i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(values, one))));
    at += 16;
    out += 16;
  }
  for (; read < count; read++) {
    const value = f64(load<f32>(at));
    if (!(value >= VALUE_MIN && value <= VALUE_MAX)) break;
    store<i32>(out, i32(nearest(value * f64(FIXED_ONE))));
    at += 4;
    out += 4;
  }
  return read;
}

/**
 * Reads numbers from `at`, the position after `[` or a comma, and writes at most `most` components from `out`. Begins no number at
 * or after `limit`; 64 bytes after it must be readable. Returns the position after the array, or of the first unread number.
 */
export function readNumbers(at: usize, limit: usize, out: usize, most: u32): usize {
  let count: u32 = 0;
  while (true) {
    let byte: u32 = load<u8>(at);
    while (isBlank(byte) && at < limit) byte = load<u8>(++at);
    if (at >= limit) return ended(at, count, MORE);
    if (count == most) return ended(at, count, FULL);
    // No branch: signs cannot be predicted.
    const sign = i32(byte == MINUS);
    let next = at + usize(sign);
    let whole: u32 = load<u8>(next) - ZERO;
    // Most numbers have one digit before the point: the fraction's position is then known at once.
    let hasFraction = whole < 10 && load<u8>(next, 1) == DOT;
    if (hasFraction) next++;
    else {
      const units = unitsAt(next);
      const digits = digitsIn(units);
      if (digits == 0 || (whole == 0 && digits > 1)) return ended(at, count, BAD);
      if (digits > WHOLE_DIGITS) return ended(at, count, LITERAL);
      whole = numberOf(units << (64 - 8 * u64(digits)));
      next += usize(digits);
      byte = load<u8>(next);
      hasFraction = byte == DOT;
    }
    let fraction: u32 = 0;
    if (hasFraction) {
      const units = unitsAt(++next);
      let digits = digitsIn(units);
      if (digits == 0) return ended(at, count, BAD);
      // Bytes after the fraction count as 0.
      fraction = numberOf(digits == WORD_DIGITS ? units : units & ((u64(1) << (8 * u64(digits))) - 1));
      next += usize(digits);
      while (digits == WORD_DIGITS && next - at < CHARS_MAX) {
        digits = digitsIn(unitsAt(next));
        next += usize(digits);
      }
      if (digits == WORD_DIGITS) return ended(at, count, LITERAL);
      byte = load<u8>(next);
    }
    if ((byte | CASE_BIT) == EXPONENT || whole >= WHOLE_SAFE) return ended(at, count, LITERAL);
    const steps = f64(whole * FIXED_ONE) + f64(fraction) * STEP + 0.5;
    const rounded = i32(steps);
    const past = steps - f64(rounded);
    if (past < DOUBT || past > 1 - DOUBT) return ended(at, count, LITERAL);
    store<i32>(out + usize(count) * 4, (rounded ^ -sign) + sign);
    while (isBlank(byte)) {
      if (next >= limit) return ended(at, count, MORE);
      byte = load<u8>(++next);
    }
    count++;
    at = next + 1;
    if (byte != COMMA) return ended(at, count, byte == ARRAY_END ? ENDED : BAD);
  }
}
