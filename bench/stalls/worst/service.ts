/** Worst inputs of collections, indexes, keys, encrypted records, and facts about the service. */
import { systemEntropy } from '../../../shared/clock.js';
import { toHex } from '../../../shared/hashing/hash.js';
import { ERASED_CONTENTS_MAX } from '../../../shared/limits.js';
import { INDEX_KINDS, type IndexKind } from '../../../shared/model/indexKinds.js';
import { batchLog, heavyLog, LARGEST_GRAPH, manyLog } from '../fixtures.js';
import { BODY_BYTES, FIELD_BYTES } from '../hostile.js';
import type { Rows, WorstInput } from '../row.js';
import type { Attack, Stage } from '../stage.js';

const LISTED = 100;
/** A few below the bound of a project. */
const ALIASES = 1_000;
const INDEXED = 3_000;
const KEY_ID = 'ab'.repeat(16);
const ENCRYPTED = 100;

/** Makes collections to list, which stay. */
const collections = (stage: Stage): Promise<string> =>
  stage.shared('collections', async () => {
    const made = Array.from({ length: LISTED }, (_, i) => `listed-${i}`).map((name) =>
      stage.client.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' }),
    );
    await Promise.all(made);
    return stage.collection();
  });

/** Makes a collection with many aliases, which stays. */
const aliased = (stage: Stage): Promise<string> =>
  stage.shared('aliased', async () => {
    const collection = await stage.collection();
    const body = JSON.stringify({ collection });
    for (let i = 0; i < ALIASES; i += 20)
      await Promise.all(Array.from({ length: 20 }, (_, j) => stage.client.ask('PUT', `/v1/aliases/a${i + j}`, body)));
    return collection;
  });

const listing =
  (path: string) =>
  async (stage: Stage): Promise<Attack> => {
    await collections(stage);
    return stage.get(path);
  };

const withIndex =
  (path: (collection: string) => string, body: object) =>
  async (stage: Stage): Promise<Attack> => {
    const collection = await stage.filled({ count: INDEXED });
    return stage.post(path(collection), body);
  };

const LARGEST_PARAMETERS: Readonly<Record<IndexKind, object>> = {
  hnsw: LARGEST_GRAPH,
  ivf: { n_list: 65_536, n_probe: 65_536 },
  bq: { candidates: 65_536 },
};

const indexOf = (type: IndexKind, parameters: object): WorstInput => ({
  input: `${type} with its largest parameters`,
  because: 'no index takes longer to build',
  statuses: [200, 202],
  prepare: withIndex((collection) => `/v1/namespaces/${collection}/index`, { type, parameters }),
});

/** A collection with records under one key. */
const encrypted = (stage: Stage): Promise<string> =>
  stage.shared('encrypted', async () => {
    const collection = await stage.collection();
    const payload = Buffer.alloc(FIELD_BYTES, 7).toString('base64');
    const body = { collection, payload, key_id: KEY_ID };
    for (let i = 0; i < ENCRYPTED; i += 10)
      await Promise.all(Array.from({ length: 10 }, () => stage.client.post('/v1/records/encrypted', body)));
    return collection;
  });

export const SERVICE: Rows = {
  'POST /v1/namespaces': [
    {
      input: '32 MiB of white space before the name',
      because: 'it is read before the fields are',
      reaches: 'coordinator',
      prepare: async (stage) => {
        const body = `{${' '.repeat(BODY_BYTES - 100)}"name":"${stage.newName()}","dimension":1,"metric":"squared_l2"}`;
        return stage.post('/v1/namespaces', body);
      },
    },
  ],
  'GET /v1/namespaces': [
    { input: 'many collections', because: 'each is described', prepare: listing('/v1/namespaces') },
  ],
  'GET /v1/namespaces/{name}': { small: 'one collection is looked up and counted' },
  'PATCH /v1/namespaces/{name}': { small: 'one event, and one entry of the catalog' },
  'PUT /v1/aliases/{alias}': [
    {
      input: '32 MiB of white space before the name',
      because: 'it is read before the field is',
      reaches: 'coordinator',
      prepare: async (stage) => {
        const body = `{${' '.repeat(BODY_BYTES - 100)}"collection":"${await aliased(stage)}"}`;
        return async () => [await stage.client.ask('PUT', '/v1/aliases/large', body)];
      },
    },
  ],
  'GET /v1/aliases': [
    {
      input: 'as many aliases as a project may have',
      because: 'each is listed',
      prepare: async (stage) => {
        await aliased(stage);
        return stage.get('/v1/aliases');
      },
    },
  ],
  'DELETE /v1/aliases/{alias}': { small: 'one entry of the catalog is deleted' },
  'DELETE /v1/namespaces/{name}': [
    {
      input: 'a collection of 16,384 records',
      because: 'its memory is given back',
      statuses: [204, 503],
      prepare: async (stage) => stage.ask('DELETE', `/v1/namespaces/${await stage.imported(await batchLog())}`),
    },
    {
      input: 'a collection with metadata as large as it may be',
      because: 'its indexes are given back',
      statuses: [204, 503],
      prepare: async (stage) => stage.ask('DELETE', `/v1/namespaces/${await stage.imported(await heavyLog())}`),
    },
  ],
  'POST /v1/namespaces/{name}/index': INDEX_KINDS.map((kind) => indexOf(kind, LARGEST_PARAMETERS[kind])),
  'GET /v1/namespaces/{name}/index': { small: 'the state of one index is kept' },
  'POST /v1/index/rebuild': [
    {
      input: 'every collection that other attacks have left',
      because: 'all are built from scratch',
      statuses: [200, 409],
      prepare: withIndex(() => '/v1/index/rebuild', { index: 'brute' }),
    },
  ],
  'GET /v1/index/config': { small: 'the answer is constant' },
  'POST /v1/records/encrypted': [
    {
      input: 'a payload as large as it may be',
      because: 'it is decoded and encrypted',
      prepare: async (stage) => {
        const payload = Buffer.alloc(FIELD_BYTES, 7).toString('base64');
        return stage.post('/v1/records/encrypted', { collection: await stage.collection(), payload });
      },
    },
    {
      input: '32 MiB of base64',
      because: 'it is too large, which must show before it is decoded',
      statuses: [400],
      reaches: 'coordinator',
      prepare: async (stage) => {
        const begin = `{"collection":"${await stage.collection()}","payload":"`;
        return stage.post('/v1/records/encrypted', `${begin}${'A'.repeat(BODY_BYTES - begin.length - 4)}"}`);
      },
    },
  ],
  'GET /v1/records/encrypted/{id}': [
    {
      input: 'a payload as large as it may be',
      because: 'it is decrypted and encoded',
      prepare: async (stage) => stage.get('/v1/records/encrypted/1', { collection: await encrypted(stage) }),
    },
  ],
  'DELETE /v1/crypto/shred/{key_id}': [
    {
      input: 'a key of a hundred records',
      because: 'all are lost at once',
      statuses: [200, 503],
      prepare: async (stage) => {
        await encrypted(stage);
        return stage.ask('DELETE', `/v1/crypto/shred/${KEY_ID}`);
      },
    },
  ],
  'POST /v1/erasures': [
    {
      input: 'a key of 10,000 records',
      because: 'each is erased, read from the log and proved',
      prepare: async (stage) => {
        const collection = await stage.collection({ dimension: 1 });
        const batch = Array.from({ length: ERASED_CONTENTS_MAX }, (_, n) => [n % 100]);
        const key = toHex(systemEntropy(16));
        await stage.client.post('/v1/vectors/batch-insert', { collection, batch, key_ids: batch.map(() => key) });
        return stage.post('/v1/erasures', { key_ids: [key] });
      },
    },
    {
      input: 'a filter that 65,536 records match',
      because: 'each is looked up',
      prepare: async (stage) => {
        const collection = await stage.imported(await manyLog());
        return stage.post('/v1/erasures', { collection, metadata_filter: { n: { gte: 0 } } });
      },
    },
  ],
  'GET /v1/crypto/status/{key_id}': { small: 'one entry of the vault is looked up' },
  'POST /v1/keys': { small: 'a body of a few fields of bounded length' },
  'GET /v1/keys': { small: 'keys of one project, which its admin makes one by one' },
  'GET /v1/keys/self': { small: 'three fields of the key that was checked' },
  'DELETE /v1/keys/{id}': { small: 'one entry of the registry is deleted' },
  'GET /v1/cluster': [{ input: 'many collections', because: 'each is described', prepare: listing('/v1/cluster') }],
  'GET /health': [{ input: 'many collections', because: 'each is counted', prepare: listing('/health') }],
  'GET /openapi.json': { small: 'the answer is constant' },
  'GET /v1/version': { small: 'the answer is constant' },
  'GET /v1/usage': [{ input: 'many collections', because: 'each is counted', prepare: listing('/v1/usage') }],
  'GET /metrics': [{ input: 'many collections', because: 'each shard is asked', prepare: listing('/metrics') }],
  'GET /log/checkpoint': { small: 'the answer is kept' },
  'GET /log/tile/{level}/{n0}': { small: 'a tile has 256 entries of bounded length' },
  'GET /log/tile/{level}/{n0}/{n1}': { small: 'as a tile of fewer path elements' },
  'GET /log/tile/{level}/{n0}/{n1}/{n2}': { small: 'as a tile of fewer path elements' },
  'GET /log/tile/{level}/{n0}/{n1}/{n2}/{n3}': { small: 'as a tile of fewer path elements' },
};
