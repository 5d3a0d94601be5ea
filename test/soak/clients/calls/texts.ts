/** HTTP requests and answers of searches by text. */
import type { HybridCall, TextCall } from '../../history/texts.js';
import { post, type Way } from './call.js';

interface TextBody {
  readonly results: readonly { readonly id: number; readonly text_score: number }[];
}

interface HybridBody {
  readonly results: readonly { readonly id: number; readonly score: number; readonly text_score: number }[];
}

const filterOf = (color: number | null): object => (color === null ? {} : { metadata_filter: { color } });

export const searchText: Way<TextCall, TextBody> = {
  request: ({ collection, words, k, color }) =>
    post('/v1/search/text', { collection, query_text: words.join(' '), k, ...filterOf(color) }),
  answer: ({ results }) => ({ ids: results.map(({ id }) => id), textScores: results.map((hit) => hit.text_score) }),
};

export const searchHybrid: Way<HybridCall, HybridBody> = {
  request: ({ collection, query, words, k, color, weight, fusion }) => {
    const hybrid = { text_weight: weight, fusion };
    return post('/v1/search', { collection, query, query_text: words.join(' '), k, hybrid, ...filterOf(color) });
  },
  answer: ({ results }) => ({
    ids: results.map(({ id }) => id),
    scores: results.map(({ score }) => score),
    textScores: results.map((hit) => hit.text_score),
  }),
};
