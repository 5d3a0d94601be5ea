/**
 * The words of a text: each is a run of Unicode letters and digits (`\p{L}`, `\p{N}`) with the marks that follow them
 * (`\p{M}`: the vowels of Hindi, accents that have no letter of their own), in lower case by Unicode's own rules, whatever
 * the locale. Before that the text is brought to NFKC, so that spellings which look alike are alike: é of one code point
 * and of two, the ligature ﬁ, full-width Latin. No stemming, no stop words; scripts written without spaces are not cut.
 *
 * Normalisation sorts the marks that follow a letter, in time that grows with the square of their number. So a run of more
 * than 30 marks is cut first, as the Stream-Safe Text Process of UAX #15 does. No word of any language has so many.
 */

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/** For each ASCII code, 1 if it is a letter or a digit. */
const IS_ASCII_WORD = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/[0-9a-z]/i.test(String.fromCharCode(code))),
);

/** The most marks in a row that are not cut. */
const MARKS_MAX = 30;
/** The characters that normalisation may sort: their decomposition begins with a mark. */
const SORTED = '\\p{M}\uFF9E\uFF9F';
const IS_SORTED = new RegExp(`[${SORTED}]`, 'u');
const FULL_RUN = new RegExp(`([${SORTED}]{${MARKS_MAX}})(?=[${SORTED}])`, 'gu');
/** COMBINING GRAPHEME JOINER, a mark across which nothing is sorted. */
const CUT = '$1\u034F';

/** Whether a UTF-16 code unit is, or may be a part of, a character that normalisation may sort: 1 or 0. */
const MAY_BE_SORTED = Uint8Array.from({ length: 0x10000 }, (_, unit) =>
  Number((unit >= 0xd800 && unit < 0xe000) || IS_SORTED.test(String.fromCharCode(unit))),
);

/** Returns the words of a text, in its order. */
export const tokensOf = (text: string): string[] => asciiTokens(text) ?? unicodeTokens(text);

/** Lowers each word by itself: a sigma at the end of a word is a final one, whatever follows. */
const unicodeTokens = (text: string): string[] =>
  streamSafe(text)
    .normalize('NFKC')
    .match(WORD)
    ?.map((word) => word.toLowerCase()) ?? [];

/** Returns the text with a cut behind every 30 marks of a run that is longer. */
const streamSafe = (text: string): string => (hasLongRun(text) ? text.replace(FULL_RUN, CUT) : text);

/** Looks at one code unit in 31, and around each that a run may contain. */
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

/** As `unicodeTokens`, several times as fast; undefined where the text is not all ASCII. */
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
