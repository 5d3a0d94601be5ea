/**
 * Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond"). The score is the sum
 * of `termScore` over the query's distinct terms, in the order of their first occurrence. The order of all operations
 * is fixed, so a score has equal bits wherever it is computed.
 */
const K1 = 1.5;
const B = 0.75;

/** Returns the inverse document frequency, above 0. `frequency`: the number of documents that contain the term. */
export const idf = (documents: number, frequency: number): number =>
  Math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5));

/** Returns the score of a term that occurs `count` times in a document of `length` tokens. */
export const termScore = (termIdf: number, count: number, length: number, averageLength: number): number =>
  (termIdf * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / averageLength));

/** Returns an upper bound of `termScore` for a term with that idf. */
export const maxTermScore = (termIdf: number): number => termIdf * (K1 + 1);
