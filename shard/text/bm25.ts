/**
 * Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond"): the sum over the query's
 * distinct terms, in the order they are first asked for, of `termScore`. The order of every operation is fixed, so that a
 * score has the same bits wherever it is computed.
 */
const K1 = 1.5;
const B = 0.75;

/** `documents`: how many there are; `holding`: how many of them hold the term. Above 0. */
export const idf = (documents: number, holding: number): number =>
  Math.log(1 + (documents - holding + 0.5) / (holding + 0.5));

/** Of a term that occurs `count` times in a document of `length` tokens. */
export const termScore = (termIdf: number, count: number, length: number, averageLength: number): number =>
  (termIdf * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / averageLength));

/** Above whatever `termScore` gives for a term of that idf. */
export const mostOf = (termIdf: number): number => termIdf * (K1 + 1);
