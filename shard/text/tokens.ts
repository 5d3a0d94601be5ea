/**
 * The words of a text. A word is a run of Unicode letters and digits (`\p{L}`, `\p{N}`) with the marks that follow them
 * (`\p{M}`, such as the vowels of Hindi). It is lowered by Unicode's own rules, in no locale. First the text is
 * converted to NFKC, so that spellings that look alike are equal. Examples are é of one code point and of two, the
 * ligature ﬁ, and full-width Latin. No stemming, no stop words. Scripts written without spaces are not split.
 *
 * Normalisation sorts the marks that follow a letter, in time quadratic in their number. So a run of more than 30 marks
 * is split first, as in the Stream-Safe Text Process of UAX #15. No word of any language has so many.
 */

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/** 1 for each ASCII code that is a letter or a digit. */
const IS_ASCII_WORD = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/[0-9a-z]/i.test(String.fromCharCode(code))),
);

/** Longest run of marks that is not split. */
const MARKS_MAX = 30;
/** Characters that normalisation may sort: their decomposition begins with a mark. */
const SORTED = '\\p{M}\uFF9E\uFF9F';
const IS_SORTED = new RegExp(`[${SORTED}]`, 'u');
const FULL_RUN = new RegExp(`([${SORTED}]{${MARKS_MAX}})(?=[${SORTED}])`, 'gu');
/** COMBINING GRAPHEME JOINER, a mark across which no mark is sorted. */
const CUT = '$1\u034F';

/** 1 for each UTF-16 code unit that may be part of a character that normalisation may sort. */
const MAY_BE_SORTED = Uint8Array.from({ length: 0x10000 }, (_, unit) =>
  Number((unit >= 0xd800 && unit < 0xe000) || IS_SORTED.test(String.fromCharCode(unit))),
);

/** Returns the words of a text, in its order. */
export const tokensOf = (text: string): string[] => asciiTokens(text) ?? unicodeTokens(text);

/** Lowers each word separately, so that a sigma at the end of a word is a final one. */
const unicodeTokens = (text: string): string[] =>
  streamSafe(text)
    .normalize('NFKC')
    .match(WORD)
    ?.map((word) => word.toLowerCase()) ?? [];

/** Returns the text with a split after every 30 marks of a longer run. */
const streamSafe = (text: string): string => (hasLongRun(text) ? text.replace(FULL_RUN, CUT) : text);

/** Looks at one code unit in 31, and around each that may be in a run. */
function hasLongRun(text: string): boolean {
  for (let at = MARKS_MAX; at < text.length; at += MARKS_MAX + 1) {
    if (MAY_BE_SORTED[text.charCodeAt(at)] === 0) continue;
    let first = at;
    while (first > 0 && MAY_BE_SORTED[text.charCodeAt(first - 1)] === 1) first--;
    while (at + 1 < text.length && MAY_BE_SORTED[text.charCodeAt(at + 1)] === 1) at++;
    if (at - first >= MARKS_MAX) return true;
  }
  return false;
}

/** Computes `unicodeTokens` several times faster; undefined if the text is not all ASCII. */
function asciiTokens(text: string): string[] | undefined {
  const lower = text.toLowerCase();
  const tokens: string[] = [];
  let start = -1;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 128) return undefined;
    if (IS_ASCII_WORD[code] === 1) {
      if (start < 0) start = i;
    } else if (start >= 0) {
      tokens.push(lower.slice(start, i));
      start = -1;
    }
  }
  if (start >= 0) tokens.push(lower.slice(start));
  return tokens;
}
