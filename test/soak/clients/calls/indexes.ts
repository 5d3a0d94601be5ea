/** HTTP requests and answers of index calls. */
import type { ConfigureIndexCall, IndexAnswer, IndexStateCall } from '../../history/indexes.js';
import { INDEX_PARAMETERS } from '../../shapes.js';
import { get, post, type Way } from './call.js';

interface StateBody {
  readonly active_type: string;
  readonly desired_type: string;
  readonly status: string;
  readonly error?: string;
}

const shown = ({ active_type: active, desired_type: desired, status, error }: StateBody): IndexAnswer => ({
  active,
  desired,
  status,
  error: error ?? null,
});

export const configureIndex: Way<ConfigureIndexCall, StateBody> = {
  request: ({ collection, kind }) =>
    post(`/v1/namespaces/${collection}/index`, { type: kind === 'none' ? null : kind, parameters: INDEX_PARAMETERS }),
  answer: shown,
  noes: { '409 conflict': 'busy' },
};

export const indexState: Way<IndexStateCall, StateBody> = {
  request: ({ collection }) => get(`/v1/namespaces/${collection}/index`),
  answer: shown,
};
