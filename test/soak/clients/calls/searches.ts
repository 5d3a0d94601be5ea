/** HTTP requests and answers of searches. */
import type { MultiHit, MultiSearchCall, SearchAnswer, SearchCall } from '../../history/searches.js';
import { post, type Way } from './call.js';

interface FoundHit {
  readonly id: number;
  readonly score: number;
  /** Present in collections that divide vectors by their length. */
  readonly similarity?: number;
}

export interface SearchBody {
  readonly results: readonly FoundHit[];
  readonly sequence?: number;
  readonly as_of_log_index?: number;
  readonly as_of_state_hash?: string;
}

export const search: Way<SearchCall, SearchBody> = {
  request: ({ collection, query, k, asOf, ...wanted }) =>
    post('/v1/search', { collection, query, k, as_of_log_index: asOf, ...options(wanted) }),
  answer: (body) => shownHits(body),
};

/** Throws an Error if the similarity of a hit contradicts its score. */
export const shownHits = ({
  results,
  sequence,
  as_of_log_index: asOf,
  as_of_state_hash: stateHash,
}: SearchBody): SearchAnswer => ({
  ids: results.map(({ id }) => id),
  scores: results.map(scoreOf),
  sequence: sequence ?? asOf,
  stateHash,
});

interface MultiBody {
  readonly results: readonly (MultiHit & FoundHit)[];
  readonly collections_searched: readonly string[];
  readonly sequences?: Readonly<Record<string, number>>;
  readonly partial_failures?: readonly { readonly collection: string; readonly code: string }[];
}

export const multiSearch: Way<MultiSearchCall, MultiBody> = {
  request: ({ collections, query, k, ...wanted }) =>
    post('/v1/search/multi', { collections, query, k, ...options(wanted) }),
  answer: ({ results, collections_searched: searched, sequences = {}, partial_failures: failures = [] }) => ({
    hits: results.map((hit) => ({ collection: hit.collection, id: hit.id, score: scoreOf(hit) })),
    searched,
    sequences,
    failures: failures.map(({ collection, code }) => ({ collection, code })),
  }),
};

function scoreOf({ score, similarity = 1 - score / 2 }: FoundHit): number {
  if (similarity !== 1 - score / 2)
    throw new Error(`score ${score} and similarity ${similarity} contradict each other`);
  return score;
}

const options = ({ color, isEventual }: { readonly color: number | null; readonly isEventual: boolean }): object => ({
  ...(color === null ? {} : { metadata_filter: { color } }),
  ...(isEventual ? { consistency: 'eventual' } : {}),
});
