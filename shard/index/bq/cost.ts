/**
 * What a search costs in nanoseconds, as measured on one thread of the development machine (3 GHz, AVX-512) from 4 to
 * 4,096 dimensions. Only ratios matter, and those differ little between machines.
 */
const FIXED_NS = 10_000;
const CODE_NS = 1;
const CODE_BYTE_NS = 0.045;
/** Taken in by the scan of codes, then fetched from a place of its own and measured. */
const CANDIDATE_NS = 90;
const CANDIDATE_BYTE_NS = 0.1;
const EXACT_ROW_NS = 1.5;
const EXACT_BYTE_NS = 0.04;

export interface SearchSize {
  readonly dimension: number;
  readonly strideBytes: number;
  readonly codeBytes: number;
  /** Rows whose codes are compared. */
  readonly covered: number;
  /** Candidates, if no more have the very code of the query. */
  readonly wanted: number;
}

/** What a search costs, in rows of an exact scan. */
export function searchCost({ dimension, strideBytes, codeBytes, covered, wanted }: SearchSize): number {
  // As many have the code of the query by chance, and all of those are measured.
  const alike = covered / 2 ** dimension;
  const candidates = Math.min(covered, Math.max(wanted, alike));
  const costNs =
    FIXED_NS +
    covered * (CODE_NS + codeBytes * CODE_BYTE_NS) +
    candidates * (CANDIDATE_NS + strideBytes * CANDIDATE_BYTE_NS);
  return costNs / (EXACT_ROW_NS + strideBytes * EXACT_BYTE_NS);
}
