/** Worst inputs of the endpoints that read records. */
import { FILTER_CONDITIONS_MAX, FILTER_CONTAINS_MAX, FILTER_VALUES_MAX } from '../../../shared/limits.js';
import { colliding, HEAVY, heavy, longIds, many, named, stemmed, wide } from '../fixtures.js';
import { BODY_BYTES, collidingIntegers, FIELD_BYTES, longPaths, nested } from '../hostile.js';
import type { Rows } from '../row.js';
import type { Query, Stage } from '../stage.js';

/** Records in one page, and ids in one list. */
const RECORDS_MAX = 1_000;
/** Filters that fit a head of 4 KiB, where quotes and commas take three characters. */
const VALUES = 550;
const COLLIDING_VALUES = 230;
const CONDITIONS = 110;

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
/** Numbers that no record has. */
const longList = { nin: numbers(VALUES).map((i) => -i) };
/** Conditions on paths that are not indexed. */
const conditions = Object.fromEntries(numbers(CONDITIONS).map((i) => [`none${i}`, 1]));
const unindexed = (collection: string) => ({ collection, metadata_filter: JSON.stringify(conditions) });

const filters = (path: string, more: Query = {}) => [
  {
    input: 'a condition on a path that is not indexed, over 64 KB of metadata a record',
    because: 'the metadata of every record is read',
    prepare: async (stage: Stage) =>
      stage.get(path, { collection: await heavy(stage), metadata_filter: '{"none":1}', ...more }),
  },
  {
    input: '110 conditions on paths that are not indexed',
    because: 'the metadata of every record is read for each of them',
    statuses: [200, 400, 503],
    prepare: async (stage: Stage) => stage.get(path, { ...unindexed(await heavy(stage)), ...more }),
  },
  {
    input: '550 values, over 65,536 records',
    because: 'no more values fit a URL',
    prepare: async (stage: Stage) =>
      stage.get(path, { collection: await many(stage), metadata_filter: JSON.stringify({ n: longList }), ...more }),
  },
];

/** Bodies have room for all that a filter may hold. */
const bodyFilters = (path: string, more: Readonly<Record<string, unknown>> = {}) => [
  {
    input: '128 conditions on paths that are not indexed, over 64 KB of metadata a record',
    because: 'the metadata of every record is read for each of them',
    statuses: [200, 503],
    prepare: async (stage: Stage) => {
      const metadata_filter = Object.fromEntries(numbers(FILTER_CONDITIONS_MAX).map((i) => [`none${i}`, 1]));
      return stage.post(path, { collection: await heavy(stage), metadata_filter, ...more });
    },
  },
  {
    input: '16 texts to be contained, each in all characters of 64 KB of metadata but the last',
    because: 'a search that begins again at every character would take the product of both lengths',
    prepare: async (stage: Stage) => {
      const collection = await stage.shared('alike', () =>
        stage.filled({ count: 64, metadata: Array(64).fill({ a: 'a'.repeat(FIELD_BYTES - 100) }) }),
      );
      const conditions = numbers(FILTER_CONTAINS_MAX).map((i) => ({
        a: { contains: `${'b'.repeat(i + 1)}${'a'.repeat(3_000)}` },
      }));
      return stage.post(path, { collection, metadata_filter: { $and: conditions }, ...more });
    },
  },
  {
    input: '4,096 values, over 65,536 records',
    because: 'the value of each record is looked up among them',
    prepare: async (stage: Stage) => {
      const metadata_filter = { n: { nin: numbers(FILTER_VALUES_MAX).map((i) => -i) } };
      return stage.post(path, { collection: await many(stage), metadata_filter, ...more });
    },
  },
];

export const READS: Rows = {
  'GET /v1/records/{id}': [
    {
      input: 'a record with a vector of 32,768 components',
      because: 'it is the longest answer',
      prepare: async (stage) => stage.get('/v1/records/1', { collection: await wide(stage) }),
    },
    {
      input: 'a record whose metadata and text are as large as they may be',
      because: 'both are written as JSON',
      prepare: async (stage) => stage.get('/v1/records/1', { collection: await heavy(stage), with: 'text' }),
    },
    {
      input: 'a record with metadata that nests 63 levels',
      because: 'it is written as JSON again',
      prepare: async (stage) => {
        const collection = await stage.filled({ count: 2, metadata: [nested(63, 1_000, 1), longPaths()] });
        return async () => [
          await stage.client.get(`/v1/records/1?collection=${collection}`),
          await stage.client.get(`/v1/records/2?collection=${collection}`),
        ];
      },
    },
  ],
  'GET /v1/records/by-external-id': [
    {
      input: 'an external id of 256 bytes, among 16,384 of them',
      because: 'they differ in their last characters',
      prepare: async (stage) =>
        stage.get('/v1/records/by-external-id', { collection: await named(stage), external_id: longIds().at(-1)! }),
    },
    {
      input: 'an external id as long as a URL',
      because: 'it is decoded before it is counted',
      statuses: [400],
      reaches: 'coordinator',
      prepare: async (stage) =>
        stage.get('/v1/records/by-external-id', {
          collection: await named(stage),
          external_id: '\u{1f984}'.repeat(900),
        }),
    },
  ],
  'GET /v1/records': [
    {
      input: 'a page of records whose metadata and texts are as large as they may be',
      because: 'it ends at 8 MiB',
      prepare: async (stage) =>
        stage.get('/v1/records', { collection: await heavy(stage), limit: RECORDS_MAX, with: 'vector,text' }),
    },
    {
      input: 'a page of vectors of 32,768 components',
      because: 'numbers are written one by one',
      prepare: async (stage) =>
        stage.get('/v1/records', { collection: await wide(stage), limit: RECORDS_MAX, with: 'vector' }),
    },
    {
      input: 'the last page of 65,536 records',
      because: 'those before it are skipped',
      prepare: async (stage) => stage.get('/v1/records', { collection: await many(stage), after: 65_000, limit: 1 }),
    },
    {
      input: 'a page of 65,536 records in the descending order of their numbers',
      because: 'every record enters the page before a better one replaces it',
      prepare: async (stage) =>
        stage.get('/v1/records', { collection: await many(stage), limit: RECORDS_MAX, order_by: 'n', order: 'desc' }),
    },
    {
      input: 'an order by 49,152 numbers of nine records, which share a bucket',
      because: 'the first of many values of a record is its place',
      prepare: async (stage) => stage.get('/v1/records', { collection: await colliding(stage), order_by: 'n' }),
    },
    {
      input: 'an order by a key that is not indexed, over 64 KB of metadata a record',
      because: 'the metadata of every record is read',
      prepare: async (stage) =>
        stage.get('/v1/records', { collection: await heavy(stage), limit: RECORDS_MAX, order_by: 'none' }),
    },
    ...filters('/v1/records', { limit: RECORDS_MAX }),
  ],
  'POST /v1/records/get': [
    {
      input: '1,000 ids of records whose metadata and texts are as large as they may be',
      because: 'the answer ends at 8 MiB',
      statuses: [200, 400, 413],
      prepare: async (stage) => {
        const ids = numbers(RECORDS_MAX).map((i) => 1 + (i % HEAVY));
        return stage.post('/v1/records/get', { collection: await heavy(stage), ids, with: ['vector', 'text'] });
      },
    },
    {
      input: '80 ids of records whose metadata and texts are as large as they may be',
      because: 'the answer is nearly as large as it may be',
      statuses: [200, 413],
      prepare: async (stage) => {
        const ids = numbers(80).map((i) => i + 1);
        return stage.post('/v1/records/get', { collection: await heavy(stage), ids, with: ['vector', 'text'] });
      },
    },
    {
      input: '1,000 external ids of 256 bytes',
      because: 'they differ in their last characters',
      prepare: async (stage) =>
        stage.post('/v1/records/get', {
          ...{ collection: await named(stage), external_ids: longIds().slice(-RECORDS_MAX), with: ['vector', 'text'] },
        }),
    },
    {
      input: '32 MiB of ids',
      because: 'they are parsed before they are counted',
      statuses: [400],
      reaches: 'coordinator',
      prepare: async (stage) => {
        const body = `{"collection":"${await named(stage)}","ids":[1`;
        return stage.post('/v1/records/get', `${body}${',1'.repeat((BODY_BYTES - body.length - 2) >> 1)}]}`);
      },
    },
    {
      input: '2,000 keys of 16,385 characters',
      because: 'longer strings than 16,383 characters have a hash of their length alone',
      statuses: [400],
      reaches: 'coordinator',
      prepare: async (stage) => {
        const keys = numbers(2_000).map((i) => `"${String(i).padStart(16_385, '_')}":1`);
        return stage.post('/v1/records/get', `{"collection":"${await named(stage)}","ids":[1],${keys.join()}}`);
      },
    },
  ],
  'POST /v1/records/list': [
    ...bodyFilters('/v1/records/list', { limit: RECORDS_MAX }),
    {
      input: '4,096 values and an order by 65,536 different texts',
      because: 'every matching record enters the page before a better one replaces it',
      prepare: async (stage: Stage) => {
        const metadata_filter = { n: { nin: numbers(FILTER_VALUES_MAX).map((i) => -i) } };
        const page = { limit: RECORDS_MAX, order_by: 's', order: 'desc' };
        return stage.post('/v1/records/list', { collection: await many(stage), metadata_filter, ...page });
      },
    },
  ],
  'POST /v1/records/count': bodyFilters('/v1/records/count'),
  'POST /v1/facets': bodyFilters('/v1/facets', { key: 's', limit: 1_000 }),
  'GET /v1/records/count': [
    ...filters('/v1/records/count'),
    {
      input: 'a filter of words on long strings of a collection in a language',
      because: 'the stems of all words of all strings are made',
      prepare: async (stage) => {
        const metadata_filter = JSON.stringify({ s: { words: { all: 'none' } } });
        return stage.get('/v1/records/count', { collection: await stemmed(stage), metadata_filter });
      },
    },
    {
      input: 'numbers that share a bucket, over such numbers',
      because: 'the hash of numbers in a Map is public and unseeded',
      prepare: async (stage) => {
        const metadata_filter = JSON.stringify({ n: { in: collidingIntegers(COLLIDING_VALUES) } });
        return stage.get('/v1/records/count', { collection: await colliding(stage), metadata_filter });
      },
    },
  ],
  'GET /v1/facets': [
    {
      input: '49,152 numbers that share a bucket',
      because: 'the hash of numbers in a Map is public and unseeded',
      prepare: async (stage) => stage.get('/v1/facets', { collection: await colliding(stage), key: 'n', limit: 1_000 }),
    },
    {
      input: '65,536 different texts',
      because: 'all are counted and sorted',
      prepare: async (stage) => stage.get('/v1/facets', { collection: await many(stage), key: 's', limit: 1_000 }),
    },
    {
      input: 'a key that is not indexed, over 64 KB of metadata a record',
      because: 'the metadata of every record is read',
      prepare: async (stage) => stage.get('/v1/facets', { collection: await heavy(stage), key: 'none' }),
    },
    {
      input: 'the last path of long ones',
      because: 'it is as long as a URL',
      statuses: [200, 400],
      prepare: async (stage) => stage.get('/v1/facets', { collection: await heavy(stage), key: 'n.'.repeat(1_700) }),
    },
    ...filters('/v1/facets', { key: 'n' }),
  ],
};
