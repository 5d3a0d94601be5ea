/**
 * Yields the numbers below `count`, each once, in an order that spreads them: 0, the middle, the quarters, … (van der
 * Corput's sequence in base 2). Consecutive rows are often alike. In this order a search soon has a low bound.
 */
export function* spread(count: number): Generator<number, undefined> {
  const bits = 32 - Math.clz32(Math.max(count - 1, 0));
  for (let at = 0; at < 2 ** bits; at++) {
    let reversed = 0;
    for (let bit = 0; bit < bits; bit++) reversed = 2 * reversed + ((at >>> bit) & 1);
    if (reversed < count) yield reversed;
  }
  return undefined;
}
