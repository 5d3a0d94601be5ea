/**
 * Searches many texts for one, in time linear in their lengths. `String.includes` may take the product of both lengths,
 * so only short needles use it. Longer ones use the algorithm of Knuth, Morris and Pratt (SIAM J. Comput. 6, 1977).
 */

const SHORT_CHARS = 8;

export class Needle {
  /** For each prefix of the needle, the length of its longest proper suffix that is also a prefix. */
  readonly #borders: Uint32Array | undefined;

  constructor(private readonly text: string) {
    if (text.length > SHORT_CHARS) this.#borders = bordersOf(text);
  }

  /** Whether `haystack` contains the text, compared by UTF-16 code units. */
  isIn(haystack: string): boolean {
    const { text } = this;
    const borders = this.#borders;
    if (borders === undefined) return haystack.includes(text);
    let matched = 0;
    for (let i = 0; i < haystack.length; i++) {
      const unit = haystack.charCodeAt(i);
      while (matched > 0 && text.charCodeAt(matched) !== unit) matched = borders[matched - 1]!;
      if (text.charCodeAt(matched) === unit) matched += 1;
      if (matched === text.length) return true;
    }
    return false;
  }
}

function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  for (let i = 1, length = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    while (length > 0 && text.charCodeAt(length) !== unit) length = borders[length - 1]!;
    if (text.charCodeAt(length) === unit) length += 1;
    borders[i] = length;
  }
  return borders;
}
