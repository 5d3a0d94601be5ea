/**
 * BM25 straight from its formula, counted again for every query (Robertson and Zaragoza, "The Probabilistic Relevance
 * Framework").
 */

const K1 = 1.5;
const B = 0.75;

/** Runs of Unicode letters and digits with their marks, normalised, in lower case. */
export const wordsOf = (text: string): string[] =>
  (text.normalize('NFKC').match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? []).map((word) => word.toLowerCase());

/** Score of each of `texts` for `query`; the statistics come from `texts`. */
export function bm25(query: string, texts: ReadonlyMap<number, string>): Map<number, number> {
  const documents = [...texts].map(([id, text]) => ({ id, tokens: wordsOf(text) }));
  const averageLength = documents.reduce((sum, { tokens }) => sum + tokens.length, 0) / documents.length;
  const idfOf = (term: string): number => {
    const df = documents.filter(({ tokens }) => tokens.includes(term)).length;
    return Math.log(1 + (documents.length - df + 0.5) / (df + 0.5));
  };
  const terms = [...new Set(wordsOf(query))].map((term) => ({ term, idf: idfOf(term) }));
  const scoreOf = (tokens: readonly string[]): number =>
    terms.reduce((sum, { term, idf }) => {
      const tf = tokens.filter((token) => token === term).length;
      const norm = K1 * (1 - B + (B * tokens.length) / averageLength);
      return tf === 0 ? sum : sum + (idf * tf * (K1 + 1)) / (tf + norm);
    }, 0);
  return new Map(documents.map(({ id, tokens }) => [id, scoreOf(tokens)]));
}
