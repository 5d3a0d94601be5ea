/** Worst inputs of searches. */
import { BATCH_CONDITIONS_MAX, BATCH_VALUES_MAX } from '../../../shared/limits.js';
import {
  colliding,
  DIMENSION_MAX,
  heavy,
  hub,
  INDEXED_RECORDS,
  indexed,
  many,
  marks,
  plainTexts,
  wide,
  wordy,
} from '../fixtures.js';
import { BODY_BYTES, collidingIntegers, differentWords, KEY_CHARS, largestFilter, nested } from '../hostile.js';
import type { Rows, WorstInput } from '../row.js';
import type { Attack, Stage } from '../stage.js';

const SEARCH = '/v1/search';
const BATCH = '/v1/search/batch';
const TEXT = '/v1/search/text';
const MULTI = '/v1/search/multi';
const K_MAX = 5_000;
const BATCHED = 256;
const COLLECTIONS = 32;

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

const searching =
  (collection: (stage: Stage) => Promise<string>, options: object | (() => object)) =>
  async (stage: Stage): Promise<Attack> => {
    const asked = typeof options === 'function' ? options() : options;
    return stage.post(SEARCH, { collection: await collection(stage), query: [1], k: 10, ...asked });
  };

const searchingTexts =
  (collection: (stage: Stage) => Promise<string>, options: () => object) =>
  async (stage: Stage): Promise<Attack> =>
    stage.post(TEXT, { collection: await collection(stage), k: K_MAX, ...options() });

const batching =
  (collection: (stage: Stage) => Promise<string>, searches: () => readonly object[]) =>
  async (stage: Stage): Promise<Attack> =>
    stage.post(BATCH, {
      collection: await collection(stage),
      searches: searches().map((search) => ({ query: [1], k: 1, ...search })),
    });

/** Searches with filters of one kind. */
const filtersOf = (filter: (i: number) => object, count = BATCHED): object[] =>
  range(count).map((i) => ({ metadata_filter: filter(i) }));

/** Shares all allowed conditions and values between 256 filters. `at` returns a path and a value. */
function shareOfFilter(at: (condition: number, value: number) => readonly [path: string, value: unknown]): object {
  const values = BATCH_VALUES_MAX / BATCH_CONDITIONS_MAX;
  const conditions = range(BATCH_CONDITIONS_MAX / BATCHED).map((condition) => ({
    [at(condition, 0)[0]]: { nin: range(values).map((value) => at(condition, value)[1]) },
  }));
  return { $and: conditions };
}

const unindexedValues = (): object =>
  largestFilter(
    (i) => `none${i}`,
    (i) => `value ${i}`,
  );

const FILTERED: readonly WorstInput[] = [
  {
    input: 'a filter on a path that is not indexed, over 64 KB of metadata a record',
    because: 'the metadata of every record is read',
    prepare: searching(heavy, { metadata_filter: { none: 1 } }),
  },
  {
    input: '16 conditions with words, over 64 KB of metadata a record',
    because: 'each string is cut into words',
    statuses: [200, 400, 503],
    prepare: searching(heavy, () => ({
      metadata_filter: { $or: range(16).map((i) => ({ none: { words: { phrase: `a${i} `.repeat(900) } } })) },
    })),
  },
  {
    input: '16 conditions with rows of a frequent word in the text',
    because: 'each text with the word is cut into words',
    statuses: [200, 400, 503],
    prepare: searching(wordy, () => ({
      metadata_filter: {
        $or: range(16).map((i) => ({ $text: { words: { phrase: differentWords(i).slice(0, 4_000) } } })),
      },
    })),
  },
  {
    input: 'dates in a window of a day among 65,536 different strings',
    because: 'each string near the date is compared in time',
    prepare: searching(many, () => ({ metadata_filter: { s: { gte: '2026-01-31T00:00+02' } } })),
  },
  {
    input: '128 conditions and 4,096 values on such paths',
    because: 'the metadata of every record is read for each condition',
    statuses: [200, 400, 503],
    prepare: searching(heavy, () => ({ metadata_filter: unindexedValues() })),
  },
  {
    input: '128 conditions and 4,096 values over 65,536 records',
    because: 'no filter has more',
    prepare: searching(many, () => ({
      metadata_filter: largestFilter(
        (i) => 'sn'[i % 2]!,
        (i) => i,
      ),
    })),
  },
  {
    input: '4,096 numbers that share a bucket',
    because: 'the hash of numbers in a Map is public and unseeded',
    prepare: searching(colliding, () => ({ metadata_filter: { n: { nin: collidingIntegers(4_096) } } })),
  },
  {
    input: 'a filter whose path has thousands of keys',
    because: 'a path is split at its dots',
    statuses: [200, 400],
    prepare: searching(many, () => ({ metadata_filter: { ['a.'.repeat(KEY_CHARS / 2 - 1)]: 1 } })),
  },
  {
    input: 'a comparison with an object 60 levels deep',
    because: 'it is brought to its canonical form',
    prepare: searching(many, () => ({ metadata_filter: { n: { eq: nested(60, KEY_CHARS, 1) } } })),
  },
];

const TEXTS: readonly WorstInput[] = [
  {
    input: 'a query_text of combining marks in the wrong order',
    because: 'NFKC brings a run of marks into order in quadratic time',
    prepare: searching(plainTexts, () => ({ query_text: marks(1)[0] })),
  },
  {
    input: 'a query_text of as many different words as it can have, among texts with all of them',
    because: 'the postings of each word are read',
    prepare: searching(wordy, () => ({ query_text: differentWords(1_000), hybrid: true, k: K_MAX })),
  },
  {
    input: 'ranks of 10,000 candidates by distance and by such a query_text',
    because: 'the candidates are sorted twice',
    prepare: searching(wordy, () => ({ query_text: differentWords(1_000), hybrid: { fusion: 'rrf' }, k: K_MAX })),
  },
];

const GROUPS: readonly WorstInput[] = [
  {
    input: 'group_by of 49,152 numbers that share a bucket',
    because: 'the hash of numbers in a Map is public and unseeded',
    prepare: searching(colliding, { group_by: 'n', k: K_MAX, group_size: 4 }),
  },
  {
    input: 'group_by of 65,536 different values',
    because: 'there are as many groups as records',
    prepare: searching(many, { group_by: 's', k: K_MAX, group_size: 4, with: ['metadata', 'vector'] }),
  },
  {
    input: 'group_by of a key that is not indexed, over 64 KB of metadata a record',
    because: 'the metadata of every record is read',
    prepare: searching(heavy, { group_by: '0____' }),
  },
];

const ANSWERS: readonly WorstInput[] = [
  {
    input: 'diversity among as many vectors of 32,768 components as there may be',
    because: 'each candidate is compared with each hit',
    statuses: [200, 413, 503],
    prepare: searching(wide, () => ({ query: new Array(DIMENSION_MAX).fill(1.25), k: 100, diversity: 0.5 })),
  },
  {
    input: '100 hits with diversity among 65,536 records',
    because: 'each candidate is compared with each hit',
    prepare: searching(many, { k: 100, diversity: 0.5 }),
  },
  {
    input: '5,000 hits with all fields and decay',
    because: 'it is the longest answer',
    prepare: searching(many, { k: K_MAX, with: ['metadata', 'text', 'vector'], decay_half_life_secs: 1 }),
  },
  {
    input: 'hits whose metadata and texts are as large as they may be',
    because: 'the answer may have 8 MiB',
    statuses: [200, 413],
    prepare: searching(heavy, { k: 80, with: ['metadata', 'text'] }),
  },
  {
    input: 'vectors of 32,768 components',
    because: 'numbers are read and written one by one',
    statuses: [200, 413],
    prepare: searching(wide, () => ({ query: new Array(DIMENSION_MAX).fill(1.25), k: 60, with: ['vector'] })),
  },
  {
    input: 'graph_rerank from a node with 50,000 edges',
    because: 'the walk visits all of them',
    prepare: searching(hub, { graph_rerank: { max_depth: 4, seed_count: 10, direction: 'both' } }),
  },
];

const INDEXED: readonly WorstInput[] = [
  {
    input: 'an hnsw index with its largest parameters and a filter that few records match',
    because: 'the walk goes on past records that do not match',
    prepare: searching(indexed, { k: 100, metadata_filter: { n: { gte: INDEXED_RECORDS / 2 } } }),
  },
];

const PAST: readonly WorstInput[] = [
  {
    input: 'as_of_log_index in the middle of 65,536 events',
    because: 'the state of that time is made from the log',
    prepare: searching(many, { as_of_log_index: 32_000, metadata_filter: { n: { gte: 5 } } }),
  },
  {
    input: 'as_of_log_index of records with as much metadata as they may have, with a filter',
    because: 'a state of the past has no index',
    statuses: [200, 400, 503],
    prepare: searching(heavy, () => ({ as_of_log_index: 100, metadata_filter: unindexedValues() })),
  },
  {
    input: 'as_of_log_index with group_by of numbers that share a bucket',
    because: 'the hash of numbers in a Map is public and unseeded',
    prepare: searching(colliding, { as_of_log_index: 9, group_by: 'n', k: K_MAX }),
  },
  {
    input: 'as_of_log_index with a query_text of combining marks',
    because: 'NFKC brings a run of marks into order in quadratic time',
    prepare: searching(plainTexts, () => ({ as_of_log_index: 2, query_text: marks(1)[0] })),
  },
];

export const SEARCHES: Rows = {
  'POST /v1/search': [...FILTERED, ...TEXTS, ...GROUPS, ...ANSWERS, ...INDEXED, ...PAST],
  'POST /v1/search/text': [
    {
      input: 'a query_text of combining marks in the wrong order',
      because: 'NFKC brings a run of marks into order in quadratic time',
      prepare: searchingTexts(plainTexts, () => ({ query_text: marks(1)[0] })),
    },
    {
      input: 'as many different words as it can have, among texts with all of them, with all fields',
      because: 'the postings of each word are read',
      statuses: [200, 400],
      prepare: searchingTexts(wordy, () => ({
        query_text: differentWords(1_000),
        with: ['metadata', 'text', 'vector'],
      })),
    },
    {
      input: 'a filter on a path that is not indexed, over 64 KB of metadata a record',
      because: 'the metadata of every record is read',
      prepare: searchingTexts(heavy, () => ({ query_text: 'a', metadata_filter: { none: 1 } })),
    },
    {
      input: 'as_of_log_index with as many different words as it can have',
      because: 'the texts of that time are made from the log',
      statuses: [200, 400, 503],
      prepare: searchingTexts(wordy, () => ({ query_text: differentWords(1_000), as_of_log_index: 2 })),
    },
  ],
  'POST /v1/search/batch': [
    {
      input: '256 searches with as many conditions and values as they may have together',
      because: 'each filter is read and selected by itself',
      prepare: batching(many, () =>
        filtersOf((i) => shareOfFilter((condition, value) => ['sn'[condition % 2]!, i + value])),
      ),
    },
    {
      input: '16 searches with conditions on paths that are not indexed',
      because: 'the metadata of every record is read for each condition',
      statuses: [200, 503],
      prepare: batching(heavy, () =>
        filtersOf(() => shareOfFilter((condition, value) => [`none${condition}`, value]), 16),
      ),
    },
    {
      input: '15 searches with as many words as they may have together',
      because: 'the postings of each word are read',
      statuses: [200, 503],
      prepare: batching(wordy, () =>
        range(15).map((i) => ({ query_text: differentWords(500 * i), k: 100, hybrid: true })),
      ),
    },
    {
      input: '256 searches with 4,096 numbers each',
      because: 'bounds of filters are of each filter',
      statuses: [200, 400],
      prepare: batching(many, () => filtersOf((i) => ({ n: { nin: range(4_096).map((j) => i + 3 * j) } }))),
    },
    {
      input: '256 searches with 128 conditions and 4,096 texts each',
      because: 'bounds of filters are of each filter',
      statuses: [200, 400, 413, 503],
      prepare: batching(many, () =>
        filtersOf(() =>
          largestFilter(
            () => 's',
            (i) => `s${i}`,
          ),
        ),
      ),
    },
    {
      input: '120 searches with 128 conditions whose paths have hundreds of keys each',
      because: 'two bytes make an element of a path',
      statuses: [200, 400, 413],
      prepare: batching(many, () =>
        filtersOf(() => ({ $and: range(128).map((i) => ({ [`${'a.'.repeat(500)}${i}`]: 1 })) }), 120),
      ),
    },
    {
      input: '256 searches with 4,000 arrays without elements each',
      because: 'three bytes make an object',
      statuses: [200, 400],
      prepare: batching(many, () => filtersOf(() => ({ n: { in: new Array(4_000).fill([]) } }))),
    },
    {
      input: '8 searches with texts of combining marks in the wrong order',
      because: 'each is normalised in quadratic time',
      prepare: batching(plainTexts, () => marks(8).map((query_text) => ({ query_text }))),
    },
    {
      input: '256 searches with as many words as a text can have',
      because: 'all words are sent and looked up',
      statuses: [200, 400, 413, 503],
      prepare: batching(wordy, () => range(BATCHED).map((i) => ({ query_text: differentWords(500 * i) }))),
    },
    {
      input: '16 searches of a state of the past with filters on a path that is not indexed',
      because: 'a state of the past has no index',
      statuses: [200, 503],
      prepare: async (stage) => {
        const searches = filtersOf((i) => ({ [`none${i}`]: 1 }), 16).map((search) => ({ query: [1], k: 1, ...search }));
        return stage.post(BATCH, { collection: await heavy(stage), as_of_log_index: 90, searches });
      },
    },
    {
      input: '20,000 hits with all fields',
      because: 'it is the longest answer',
      prepare: batching(many, () => range(4).map(() => ({ k: K_MAX, with: ['metadata', 'text', 'vector'] }))),
    },
    {
      input: '4 searches with group_by of numbers that share a bucket',
      because: 'the hash of numbers in a Map is public and unseeded',
      prepare: batching(colliding, () => range(4).map(() => ({ k: K_MAX, group_by: 'n', group_size: 1 }))),
    },
    {
      input: '16 searches with filters on a path that is not indexed',
      because: 'the metadata of every record is read for each of them',
      statuses: [200, 400, 503],
      prepare: batching(heavy, () => filtersOf((i) => ({ [`none${i}`]: 1 }), 16)),
    },
  ],
  'POST /v1/search/multi': [
    {
      input: '5,000 hits of each of seven collections, with all fields',
      because: 'the hits are merged and sorted',
      statuses: [200, 413],
      prepare: async (stage) => {
        const filled = range(6).map(() => stage.filled({ count: K_MAX }));
        const collections = [await many(stage), ...(await Promise.all(filled))];
        return stage.post(MULTI, { collections, query: [1], k: K_MAX, with: ['metadata', 'text', 'vector'] });
      },
    },
    {
      input: 'the largest filter, for 32 collections',
      because: 'it is sent to each of them',
      statuses: [200, 400, 503],
      prepare: async (stage) => {
        const collections = await Promise.all(range(COLLECTIONS).map(() => stage.filled({ count: 1 })));
        const metadata_filter = largestFilter(
          (i) => `${'a.'.repeat(500)}${i}`,
          (i) => 'v'.repeat(1_000) + i,
        );
        return stage.post(MULTI, { collections, query: [1], k: 1, metadata_filter });
      },
    },
    {
      input: '32 MiB of names of collections',
      because: 'they are parsed before they are counted',
      statuses: [400],
      reaches: 'coordinator',
      prepare: async (stage) => {
        const collection = await stage.collection();
        const begin = `{"query":[1],"k":1,"collections":["${collection}"`;
        const one = `,"${collection}"`;
        return stage.post(MULTI, `${begin}${one.repeat(Math.floor((BODY_BYTES - begin.length - 2) / one.length))}]}`);
      },
    },
  ],
};
