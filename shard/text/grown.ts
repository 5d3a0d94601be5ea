const FIRST_LENGTH = 16;

/** `words` with room for index `at`: itself where there is, else a copy half as long again, zero where new. */
export function grown(words: Uint32Array<ArrayBuffer>, at: number): Uint32Array<ArrayBuffer> {
  if (at < words.length) return words;
  const larger = new Uint32Array(Math.max(FIRST_LENGTH, at + 1, Math.ceil(1.5 * words.length)));
  larger.set(words);
  return larger;
}
