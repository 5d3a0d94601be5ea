/** The score of high * 2^32 + low: that / 2^32, rounded once, since high < 2^47 and low / 2^32 are both exact. */
@inline export function scoreOf(high: u64, low: u32): f64 {
  return f64(high) + f64(low) / 4294967296.0;
}
