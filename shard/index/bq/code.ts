/**
 * The code of a vector: a bit for each component, set where it is above the mean of the rows that the index was trained
 * on. Equal vectors have equal codes, and the codes of near vectors differ in few bits.
 */
const WORD_BITS = 32;
export const WORD_BYTES = 4;
/** The kernel compares codes in units of this. */
const UNIT_BYTES = 16;

/** Returns the bytes of a code: a bit a component, and zeros at the end. */
export const codeBytesOf = (dimension: number): number => Math.ceil(dimension / (8 * UNIT_BYTES)) * UNIT_BYTES;

/** Writes the code of `components` to `into`, from word `at` on. */
export function encode(components: Int32Array, mean: Int32Array, into: Uint32Array, at = 0): void {
  const { length } = mean;
  const words = codeBytesOf(length) / WORD_BYTES;
  for (let word = 0; word < words; word++) {
    const end = Math.min((word + 1) * WORD_BITS, length);
    let bits = 0;
    for (let i = word * WORD_BITS; i < end; i++) if (components[i]! > mean[i]!) bits |= 1 << (i & (WORD_BITS - 1));
    into[at + word] = bits;
  }
}
