/** Worst inputs of the endpoints that change metadata. */
import { BATCH, batchLog, heavyLog, longIds, longKey, manyLog } from '../fixtures.js';
import { collidingIntegers, keyed, largestFilter, longPaths, manyKeys, names, nested } from '../hostile.js';
import type { Rows, WorstInput } from '../row.js';
import type { Attack, Stage } from '../stage.js';

const PATCH = 'application/merge-patch+json';
/** Members of a patch of 64 KB. */
const MEMBERS = 6_500;
/** Each takes 12 bytes of a patch. */
const REMOVED = 5_000;

const ids = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

/** Merges a patch into the metadata of the only record. */
const merging =
  (metadata: object, patch: object) =>
  async (stage: Stage): Promise<Attack> => {
    const collection = await stage.filled({ count: 1, metadata: [metadata] });
    const path = `/v1/records/1/metadata?collection=${collection}`;
    return async () => [await stage.client.ask('PATCH', path, JSON.stringify(patch), PATCH)];
  };

export const METADATA: Rows = {
  'PATCH /v1/records/{id}/metadata': [
    ...(
      [
        ['one long key over a thousand short ones', longKey(), [200, 400]],
        ['thousands of paths that are longer than their keys may be', longPaths(), [200]],
        ['integers that share a bucket', { n: collidingIntegers(5_800) }, [200]],
      ] as const
    ).map(
      ([input, metadata, statuses]): WorstInput => ({
        input,
        because: 'it is indexed as metadata of an insert is',
        statuses,
        prepare: async (stage) => {
          const collection = await stage.filled({ count: 1, metadata: [manyKeys()] });
          const body = JSON.stringify(metadata);
          return async () => [await stage.client.ask('PATCH', `/v1/records/1/metadata?collection=${collection}`, body)];
        },
      }),
    ),
    {
      input: 'a merge patch of 6,500 members, none of which the metadata has',
      because: 'members are merged one by one, and the result is too large',
      statuses: [400],
      prepare: merging(manyKeys(), keyed(names(MEMBERS, 4, 'p'))),
    },
    {
      input: 'a merge patch that removes 5,000 members',
      because: 'each is looked for in the metadata',
      prepare: merging(manyKeys(), Object.fromEntries(names(REMOVED, 4).map((name) => [name, null]))),
    },
    {
      input: 'a merge patch 63 levels deep into metadata 63 levels deep',
      because: 'it is merged level by level',
      prepare: merging(nested(63, 300, 1), nested(63, 300, 2)),
    },
  ],
  'PATCH /v1/records/by-external-id/metadata': [
    {
      input: 'metadata of 7,000 keys, under an external id of 256 bytes',
      because: 'each key is a path of the index',
      prepare: async (stage) => {
        const externalId = longIds().at(-1)!;
        const collection = await stage.filled({ count: 1, externalIds: [externalId] });
        const path = `/v1/records/by-external-id/metadata?collection=${collection}&external_id=${externalId}`;
        return async () => [await stage.client.ask('PATCH', path, JSON.stringify(manyKeys()))];
      },
    },
  ],
  'POST /v1/records/metadata': [
    {
      input: '16,384 external ids of 256 bytes',
      because: 'each record gets an event of its own',
      prepare: async (stage) => {
        const collection = await stage.filled({ count: BATCH, externalIds: longIds() });
        return stage.post('/v1/records/metadata', { collection, external_ids: longIds(), merge: { seen: true } });
      },
    },
    {
      input: '16,384 ids, and a patch of 1,000 bytes',
      because: 'the events are as large as a commit may be',
      statuses: [200, 413],
      prepare: async (stage) => {
        const merge = { text: 'x'.repeat(1_000) };
        return stage.post('/v1/records/metadata', {
          collection: await stage.imported(await batchLog()),
          ids: ids(BATCH),
          merge,
        });
      },
    },
    {
      input: 'a filter that 65,536 records match',
      because: 'the metadata of each is parsed, merged and written',
      prepare: async (stage) => {
        const collection = await stage.imported(await manyLog());
        return stage.post('/v1/records/metadata', { collection, metadata_filter: { n: { gte: 0 } }, merge: { m: 1 } });
      },
    },
    {
      input: 'every record with 64 KB of metadata',
      because: 'each is parsed and written again, up to the size of a commit',
      statuses: [200, 400, 413],
      prepare: async (stage) => {
        const collection = await stage.imported(await heavyLog());
        return stage.post('/v1/records/metadata', { collection, metadata_filter: {}, merge: { m: null } });
      },
    },
    {
      input: 'the largest filter over paths that are not indexed',
      because: 'the metadata of every record is read for each condition',
      prepare: async (stage) => {
        const metadata_filter = largestFilter((i) => `none${i}`, String);
        const collection = await stage.imported(await heavyLog());
        return stage.post('/v1/records/metadata', { collection, metadata_filter, merge: {} });
      },
    },
  ],
};
