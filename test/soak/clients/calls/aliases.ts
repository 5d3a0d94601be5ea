/** HTTP requests and answers of calls about the alias. */
import type { MoveAliasCall, SearchAliasCall } from '../../history/aliases.js';
import { post, type Way } from './call.js';
import { type SearchBody, shownHits } from './searches.js';

/** The one alias of a soak. */
const ALIAS = 'alias';

export const moveAlias: Way<MoveAliasCall, object> = {
  request: ({ to }) => ({ method: 'PUT', path: `/v1/aliases/${ALIAS}`, body: { collection: to } }),
  answer: () => ({}),
};

export const searchAlias: Way<SearchAliasCall, SearchBody> = {
  request: ({ query, k, color }) =>
    post('/v1/search', { collection: ALIAS, query, k, ...(color !== null && { metadata_filter: { color } }) }),
  answer: (body) => shownHits(body),
  // The alias was never moved to a collection.
  noes: { '404 collection_not_found': 'absent' },
};
