/** Bitmaps as words of 32: bit b is bit b % 32 of word b / 32. */

/** Set bits of a word, added up in pairs, then fours, then bytes. */
export function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The bits that are set, ascending. */
export function* setBits(words: Uint32Array): Generator<number> {
  for (let index = 0; index < words.length; index++) {
    for (let rest = words[index]! >>> 0; rest !== 0; rest = (rest & (rest - 1)) >>> 0)
      yield index * 32 + 31 - Math.clz32(rest & -rest);
  }
}
