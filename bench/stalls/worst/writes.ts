/** Worst inputs of the endpoints that write records. */

import { JSON_KEYS_MAX, JSON_MEMBERS_MAX, JSON_PIECES_MAX } from '../../../shared/limits.js';
import { BATCH, batchLog, HUB, heavyLog, hubLog, longIds, longKey, manyLog, marks, STEMMING } from '../fixtures.js';
import {
  BODY_BYTES,
  collidingIntegers,
  differentWords,
  FIELD_BYTES,
  HASHED_CHARS,
  inflectedWords,
  KEY_CHARS,
  keyed,
  largestFilter,
  longPaths,
  manyKeys,
  names,
  nested,
} from '../hostile.js';
import type { Rows, WorstInput } from '../row.js';
import { type Attack, insertsOf, type Records, type Stage } from '../stage.js';

const INSERT = '/v1/vectors/batch-insert';
const UPSERT = '/v1/vectors/batch-upsert';
/** Records with fields of 64 KB that fit a body. */
const LARGE = 120;

/** Members, or arrays, in metadata of 64 KB. */
const MEMBERS = 6_500;
const ARRAYS = 21_000;
/** The number of objects with `each` members that stay within `most`. */
const objectsOf = (each: number, most: number): number => Math.floor((most - 100) / (each + 2));

const repeat = <T>(count: number, value: T): T[] => new Array(count).fill(value);
const ids = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

const metadataOf =
  (metadata: object) =>
  async (stage: Stage): Promise<Attack> => {
    const bytes = [...Buffer.from(JSON.stringify(metadata))];
    return stage.post('/v1/records', { collection: await stage.collection(), values: [1], metadata: bytes });
  };
const textOf =
  (text: string) =>
  async (stage: Stage): Promise<Attack> =>
    stage.post('/v1/records', { collection: await stage.collection(), values: [1], text });

const batchOf =
  (records: () => Records, more: object = {}) =>
  async (stage: Stage): Promise<Attack> =>
    stage.post(INSERT, [...insertsOf(await stage.collection(more), records())][0]!);

/** A body of about 32 MiB: `begin`, as many repetitions as fit, `end`. */
const bodyOf =
  (path: string, begin: string, repeated: string, end: string) =>
  async (stage: Stage): Promise<Attack> => {
    const collection = await stage.collection();
    const head = `{"collection":"${collection}",${begin}`;
    const room = BODY_BYTES - head.length - end.length - 1;
    return stage.post(path, `${head}${repeated.repeat(Math.floor(room / repeated.length))}${end}}`);
  };

/** A batch as large as a body, whose components have all digits of a double. */
const divided = async (stage: Stage): Promise<Attack> => {
  const dimension = 1_000;
  const collection = await stage.collection({ dimension, normalise: true });
  const row = `[${repeat(dimension, '0.1234567890123456').join()}]`;
  const rows = Math.floor((BODY_BYTES - 100) / (row.length + 1));
  return stage.post(INSERT, `{"batch":[${repeat(rows, row).join()}],"collection":"${collection}"}`);
};

const longKeysBody = async (stage: Stage): Promise<Attack> => {
  const keys = Array.from({ length: 2_000 }, (_, i) => `"${String(i).padStart(HASHED_CHARS + 2, '_')}":1`);
  return stage.post(INSERT, `{"collection":"${await stage.collection()}","batch":[[1]],"metadata":[{${keys.join()}}]}`);
};

const VALUES = 500_000;
const uint32 = (value: number): number[] => [value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff];
/** A map of msgpack. */
const packed = (fields: readonly (readonly [name: string, value: readonly number[]])[]): Buffer =>
  Buffer.concat([
    Buffer.from([0x80 + fields.length]),
    ...fields.flatMap(([name, value]) => [Buffer.from([0xa0 + name.length]), Buffer.from(name), Buffer.from(value)]),
  ]);

/** Bodies that any endpoint may receive. */
const BODIES: readonly WorstInput[] = [
  {
    input: '2,000 keys of 16,385 characters',
    because: 'longer strings than 16,383 characters have a hash of their length alone',
    statuses: [400],
    reaches: 'coordinator',
    prepare: longKeysBody,
  },
  {
    input: '32 MiB of brackets',
    because: 'a parser that recurses or allocates for each level',
    statuses: [400],
    reaches: 'coordinator',
    prepare: bodyOf(INSERT, '"batch":[[1]],"metadata":[{"a":', '[', ']'),
  },
  {
    input: '32 MiB of arrays without elements',
    because: 'each takes 3 bytes to send and an object to hold',
    statuses: [400],
    reaches: 'coordinator',
    prepare: bodyOf(INSERT, '"batch":[[1]],"metadata":[{"a":[[]', ',[]', ']}]'),
  },
  {
    input: 'numbers of a million digits',
    because: 'decimal digits are read in quadratic time where they are read exactly',
    statuses: [400],
    reaches: 'coordinator',
    prepare: bodyOf(INSERT, '"batch":[[1]],"metadata":[{"a":[1', `,${'7'.repeat(1_000_000)}`, ']}]'),
  },
  {
    input: 'components of a million digits',
    because: 'vectors are read by a parser of their own',
    statuses: [400],
    reaches: 'coordinator',
    prepare: bodyOf(INSERT, '"batch":[[1', `,0.${'7'.repeat(1_000_000)}`, ']]'),
  },
  {
    input: '32 MiB of vectors for a collection with normalise',
    because: 'they are read twice, the second time as doubles',
    reaches: 'coordinator',
    prepare: divided,
  },
  {
    input: '32 MiB of escaped characters',
    because: 'each is decoded by itself',
    statuses: [400],
    reaches: 'coordinator',
    prepare: bodyOf(INSERT, '"batch":[[1]],"texts":["', '\\u0041', '"]'),
  },
  {
    input: '32 MiB of short texts for one vector',
    because: 'all are parsed before they are counted',
    statuses: [400],
    reaches: 'coordinator',
    prepare: bodyOf(INSERT, '"batch":[[1]],"texts":[null', ',"a"', ']'),
  },
  {
    input: '32 MiB of unknown fields',
    because: 'names of fields are compared with known ones',
    statuses: [200, 400],
    reaches: 'coordinator',
    prepare: async (stage) => {
      const fields = names(1_900_000, 6).map((name) => `"${name}":1`);
      return stage.post(INSERT, `{"collection":"${await stage.collection()}","batch":[[1]],${fields.join()}}`);
    },
  },
  {
    input: '32 MiB of arrays in arrays as msgpack',
    because: 'a byte nests one level deeper',
    statuses: [400],
    reaches: 'coordinator',
    prepare: async (stage) => stage.post(INSERT, Buffer.alloc(BODY_BYTES, 0x91), 'application/msgpack'),
  },
  {
    input: 'half a million values as msgpack',
    because: 'it has as many as a body may have, and more than metadata may',
    statuses: [400],
    reaches: 'coordinator',
    prepare: async (stage) => {
      const name = await stage.collection();
      const body = packed([
        ['collection', [0xa0 + name.length, ...Buffer.from(name)]],
        ['batch', [0x91, 0x91, 1]],
        ['metadata', [0x91, 0x81, 0xa1, 0x61, 0xdd, ...uint32(VALUES), ...repeat(VALUES, 0xc0)]],
      ]);
      return stage.post(INSERT, body, 'application/msgpack');
    },
  },
  {
    input: '32 MiB of empty maps as msgpack',
    because: 'a byte makes an object',
    statuses: [400],
    reaches: 'coordinator',
    prepare: async (stage) => {
      const count = BODY_BYTES - 12;
      const body = Buffer.concat([packed([['batch', [0xdd, ...uint32(count)]]]), Buffer.alloc(count, 0x80)]);
      return stage.post(INSERT, body, 'application/msgpack');
    },
  },
];

/** A collection with one record, number 1, which is linked to a node with 50,000 edges. */
const hubOf = async (stage: Stage): Promise<string> => stage.imported(await hubLog());

export const WRITES: Rows = {
  'POST /v1/records': [
    {
      input: 'metadata of one long key over a thousand short ones',
      because: 'paths above 16,383 characters of one length have one hash in V8',
      statuses: [200, 400],
      prepare: metadataOf(longKey()),
    },
    {
      input: 'metadata of thousands of paths that are longer than their keys may be',
      because: 'the paths are joined from keys, and have one hash in V8',
      prepare: metadataOf(longPaths()),
    },
    {
      input: 'metadata 63 levels deep with keys of a thousand characters',
      because: 'each level has a path as long as all before it',
      prepare: metadataOf(nested(63, KEY_CHARS - 1, 1)),
    },
    {
      input: 'metadata of 7,000 keys',
      because: 'each is a path of the index',
      prepare: metadataOf(manyKeys()),
    },
    {
      input: 'metadata with integers that share a bucket',
      because: 'the hash of numbers in a Map is public and unseeded',
      prepare: metadataOf({ n: collidingIntegers(5_800) }),
    },
    {
      input: 'a text of combining marks in the wrong order',
      because: 'NFKC brings a run of marks into order in quadratic time',
      prepare: textOf(marks(1)[0]!),
    },
    { input: 'a text of different words', because: 'each is a word of the index', prepare: textOf(differentWords()) },
    {
      input: 'a text of one word',
      because: 'a word longer than 16,383 characters has a hash of its length alone',
      prepare: textOf('w'.repeat(FIELD_BYTES)),
    },
  ],
  'POST /v1/vectors/batch-insert': [
    ...BODIES,
    {
      input: 'as many members of objects as a body may have, with as many different keys',
      because: 'each is a value at a path',
      prepare: batchOf(() => {
        const of = objectsOf(MEMBERS, JSON_MEMBERS_MAX);
        const different = Math.floor(JSON_KEYS_MAX / MEMBERS);
        return {
          count: of,
          metadata: ids(of).map((n) => keyed(names(MEMBERS, 4, String.fromCharCode(64 + (n % different))))),
        };
      }),
    },
    {
      input: 'as many arrays as a body may have',
      because: 'three bytes make an object',
      prepare: batchOf(() => {
        const of = objectsOf(ARRAYS, JSON_PIECES_MAX);
        return { count: of, metadata: repeat(of, { a: repeat(ARRAYS, []) }) };
      }),
    },
    {
      input: 'metadata of 7,000 keys in each of 120 records',
      because: 'it has as many values as one commit can have',
      statuses: [200, 400],
      prepare: batchOf(() => ({ count: LARGE, metadata: repeat(LARGE, manyKeys()) })),
    },
    {
      input: 'metadata as a text of JSON, with long paths, in each of 120 records',
      because: 'paths have one hash in V8',
      prepare: batchOf(() => ({ count: LARGE, metadata: repeat(LARGE, JSON.stringify(longPaths())) })),
    },
    {
      input: '16,384 records with metadata',
      because: 'it is the largest batch',
      prepare: batchOf(() => ({ count: BATCH, metadata: ids(BATCH).map((n) => ({ n, s: `s${n}`, [`k${n}`]: n })) })),
    },
    {
      input: '120 texts of combining marks in the wrong order',
      because: 'each is normalised in quadratic time',
      prepare: batchOf(() => ({ count: LARGE, texts: marks(LARGE) })),
    },
    {
      input: '120 texts of different words',
      because: 'it has as many words as one commit can have',
      prepare: batchOf(() => ({ count: LARGE, texts: ids(LARGE).map((n) => differentWords(20_000 * n)) })),
    },
    {
      input: '120 texts of different words, in a language',
      because: 'the stem of each word takes some ten microseconds',
      prepare: batchOf(() => ({ count: LARGE, texts: ids(LARGE).map((n) => inflectedWords(5_000 * n)) }), STEMMING),
    },
  ],
  'POST /v1/vectors/batch-upsert': [
    {
      input: '16,384 new external ids of 256 bytes',
      because: 'they differ in their last characters',
      prepare: async (stage) =>
        stage.post(UPSERT, [...insertsOf(await stage.collection(), { count: BATCH, externalIds: longIds() })][0]!),
    },
    {
      input: 'records whose metadata and texts are as large as they may be, which are replaced',
      because: 'the old words and values are removed, and new ones added',
      prepare: async (stage) => {
        const externalIds = names(60);
        const before = {
          count: 60,
          externalIds,
          metadata: repeat(60, manyKeys('a')),
          texts: repeat(60, differentWords()),
        };
        const collection = await stage.filled(before);
        const after = { ...before, metadata: repeat(60, manyKeys('b')), texts: repeat(60, differentWords(50_000)) };
        return stage.post(UPSERT, [...insertsOf(collection, after)][0]!);
      },
    },
  ],
  'POST /v1/records/delete': [
    {
      input: '16,384 ids',
      because: 'it is the longest list',
      prepare: async (stage) =>
        stage.post('/v1/records/delete', { collection: await stage.imported(await batchLog()), ids: ids(BATCH) }),
    },
    {
      input: '16,384 external ids of 256 bytes',
      because: 'they differ in their last characters',
      prepare: async (stage) => {
        const collection = await stage.filled({ count: BATCH, externalIds: longIds() });
        return stage.post('/v1/records/delete', { collection, external_ids: longIds() });
      },
    },
    {
      input: 'a filter that 65,536 records match',
      because: 'all are deleted in one commit',
      prepare: async (stage) => {
        const collection = await stage.imported(await manyLog());
        return stage.post('/v1/records/delete', { collection, metadata_filter: { n: { gte: 0 } } });
      },
    },
    {
      input: 'the largest filter over paths that are not indexed',
      because: 'the metadata of every record is read for each condition',
      prepare: async (stage) => {
        const collection = await stage.imported(await heavyLog());
        return stage.post('/v1/records/delete', {
          collection,
          metadata_filter: largestFilter((i) => `none${i}`, String),
        });
      },
    },
  ],
  'POST /v1/soft-delete': [
    {
      input: 'a record whose metadata and text are as large as they may be',
      because: 'all its values and words are removed',
      prepare: async (stage) => {
        const records = { count: 1, metadata: [manyKeys()], texts: [differentWords()] };
        return stage.post('/v1/soft-delete', { collection: await stage.filled(records), id: 1 });
      },
    },
  ],
  'POST /v1/delete': [
    {
      input: 'a record whose metadata and text are as large as they may be',
      because: 'all its values and words are removed',
      prepare: async (stage) => {
        const records = { count: 1, metadata: [longPaths()], texts: [differentWords()] };
        return stage.post('/v1/delete', { collection: await stage.filled(records), id: 1 });
      },
    },
    {
      input: 'a record whose node has 50,000 edges',
      because: 'the node and its edges are deleted with it',
      prepare: async (stage) => stage.post('/v1/delete', { collection: await hubOf(stage), id: HUB }),
    },
  ],
};
