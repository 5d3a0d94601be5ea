/**
 * Reads the numbers of a JSON array straight to Q16.16, eight digits at a time. Numbers that need more than the first eight digits of
 * their fraction, or anything unusual, are left to the host: see `vectorText.ts`, which also says why the results are right.
 *
 * Memory: the results of a call (two u32), then what the host lays out.
 */
const SPACE: u32 = 0x20;
const COMMA: u32 = 0x2c;
const MINUS: u32 = 0x2d;
const DOT: u32 = 0x2e;
const ZERO: u32 = 0x30;
const ARRAY_END: u32 = 0x5d;
/** Lower case, with the bit that tells it from upper case. */
const EXPONENT: u32 = 0x65;
const CASE_BIT: u32 = 0x20;

/** Why a call has ended: the array has; it holds more than asked for; the next number is left to the host; too few bytes; not an array of numbers. */
const ENDED: u32 = 0;
const FULL: u32 = 1;
const LITERAL: u32 = 2;
const MORE: u32 = 3;
const BAD: u32 = 4;

const COUNT_AT: usize = 0;
const WHY_AT: usize = 4;

const WORD_DIGITS: u32 = 8;
/** Of a whole part in range. */
const WHOLE_DIGITS: u32 = 5;
/** With a sign and a point; a longer number is left to the host. */
const CHARS_MAX: usize = 32;
const FIXED_ONE: u32 = 65536;
/** FIXED_ONE / 10^8. */
const STEP: f64 = 0.00065536;
/** 2^-10: see `vectorText.ts`. */
const DOUBT: f64 = 0.0009765625;
/** Whole parts below this are in range with any fraction. */
const WHOLE_SAFE: u32 = 32767;

/** The bytes of a word as digits: 0 to 9 where they are. */
@inline function unitsAt(at: usize): u64 {
  return load<u64>(at) ^ 0x3030303030303030;
}

/** How many of the bytes are digits before the first that is none. */
@inline function digitsIn(units: u64): u32 {
  const others = ((units + 0x7676767676767676) | units) & 0x8080808080808080;
  // All eight where no bit is set: `ctz` gives 64.
  return u32(ctz(others)) >> 3;
}

/** The number that eight digits write, the first of them in the lowest byte: of pairs, then of fours, then of all. */
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
 * Reads numbers from `at` on, which stands behind `[` or a comma, and writes at most `most` components from `out` on. No number is begun
 * at or behind `limit`, behind which 64 bytes can be read. Returns the position behind the array, or of the number that was not read.
 */
export function readNumbers(at: usize, limit: usize, out: usize, most: u32): usize {
  let count: u32 = 0;
  while (true) {
    let byte: u32 = load<u8>(at);
    while (isBlank(byte) && at < limit) byte = load<u8>(++at);
    if (at >= limit) return ended(at, count, MORE);
    if (count == most) return ended(at, count, FULL);
    // Without a branch: signs cannot be predicted.
    const sign = i32(byte == MINUS);
    let next = at + usize(sign);
    let whole: u32 = load<u8>(next) - ZERO;
    // Most are one digit and a fraction: where that begins is known at once.
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
      // What is behind the fraction counts as 0.
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
