/** Worst addresses and heads, for every endpoint. */
import type { Rows } from '../row.js';

/** Fits a head of 4 KiB. */
const URL_CHARS = 3_600;
/** Fits a head of 16 KiB. */
const LONG_URL_CHARS = 15_000;

export const ANY_PATH: Rows = {
  'any path': [
    {
      input: 'a path of 7,500 elements',
      because: 'it is split at its slashes, and compared with every route',
      statuses: [404, 431],
      prepare: async (stage) => stage.get(`/v1${'/a'.repeat(LONG_URL_CHARS / 2)}`),
    },
    {
      input: 'a path of 1,800 elements',
      because: 'it is split at its slashes, and compared with every route',
      statuses: [404],
      prepare: async (stage) => stage.get(`/v1${'/a'.repeat(URL_CHARS / 2)}`),
    },
    {
      input: 'a query of 900 parameters',
      because: 'each is decoded, and looked for among those before it',
      statuses: [200, 400],
      prepare: async (stage) => {
        const parameters = Array.from({ length: 1_300 }, (_, i) => `${i.toString(36)}=1`);
        return stage.ask('GET', `/v1/namespaces?${parameters.join('&')}`.slice(0, URL_CHARS));
      },
    },
    {
      input: 'an element of 1,200 encoded bytes',
      because: 'each is decoded by itself',
      statuses: [400, 404],
      prepare: async (stage) => stage.ask('GET', `/v1/records/${'%C3%BC'.repeat(URL_CHARS / 6)}`),
    },
  ],
};
