/** The tools that search and read records. */
import { z } from 'zod';
import { collection, externalId, limit, metadataFilter, recordId, vector } from './fields.js';
import { defineTool, Misused, type Registration } from './tool.js';

const IDS_MAX = 100;

const FIELDS = ['metadata', 'text', 'vector'] as const;
const OWN_FIELDS = ['text', 'vector'] as const;

const listCollections = defineTool({
  name: 'list_collections',
  title: 'List collections',
  description:
    'Lists the collections of the service with their dimension, metric, index kind and number of live records. Call this first: ' +
    'other tools take the name of a collection.',
  effect: 'reads',
  input: z.strictObject({
    name_contains: z.string().optional().describe('Only collections whose name contains this.'),
    limit: limit(100),
  }),
  async run(client, { name_contains = '', limit }) {
    const { collections } = await client.ask<{ collections: { name: string }[] }>('GET', '/v1/namespaces');
    const matching = collections.filter(({ name }) => name.includes(name_contains));
    return { collections: matching.slice(0, limit), total: matching.length };
  },
});

const search = defineTool({
  name: 'search',
  title: 'Search',
  description:
    'Finds the records nearest to a vector, or to the vector of another record, closest first. Exactly one of `query` and `like` is ' +
    'given. `score` is the squared distance: 0 is equal, smaller is nearer. Each hit has its id and what `with` names. The search ' +
    'can be one of the past, as the collection was after any number of its writes.',
  effect: 'reads',
  input: z.strictObject({
    collection,
    query: vector.optional(),
    like: recordId.optional().describe('The id of a record: finds the records nearest to it, without itself.'),
    k: z.int().min(1).max(IDS_MAX).default(10).describe(`The number of hits, up to ${IDS_MAX}.`),
    metadata_filter: metadataFilter,
    score_threshold: z.number().min(0).optional().describe('Only records with a score of at most this.'),
    query_text: z
      .string()
      .optional()
      .describe('Reorders the nearest records by how well their texts match these words.'),
    with: z.array(z.enum(FIELDS)).default(['metadata', 'text']).describe('What each hit carries besides id and score.'),
    as_of_log_index: z
      .int()
      .min(0)
      .optional()
      .describe('Searches the state after exactly this many writes (see history).'),
    as_of: z.string().optional().describe('Searches the state at this instant, in ISO 8601 with its zone.'),
  }),
  run(client, given) {
    if ((given.query === undefined) === (given.like === undefined)) throw new Misused('give one of query and like');
    return client.ask('POST', '/v1/search', given);
  },
});

const getRecords = defineTool({
  name: 'get_records',
  title: 'Get records',
  description:
    'Reads records by their ids, or by the external ids that they were given, in this order, with tag and metadata and what `with` ' +
    'names. `missing` lists ids that no live record has. Exactly one of `ids` and `external_ids` is given.',
  effect: 'reads',
  input: z.strictObject({
    collection,
    ids: z.array(recordId).min(1).max(IDS_MAX).optional(),
    external_ids: z.array(externalId).min(1).max(IDS_MAX).optional(),
    with: z.array(z.enum(OWN_FIELDS)).default(['text']),
  }),
  run(client, given) {
    if ((given.ids === undefined) === (given.external_ids === undefined))
      throw new Misused('give one of ids and external_ids');
    return client.ask('POST', '/v1/records/get', given);
  },
});

const listRecords = defineTool({
  name: 'list_records',
  title: 'List records',
  description:
    'Lists live records in the order of their ids, with tag and metadata and what `with` names. `next` is the `after` of the next ' +
    'page, or null at the end.',
  effect: 'reads',
  input: z.strictObject({
    collection,
    metadata_filter: metadataFilter,
    after: recordId.optional().describe('Only records with a greater id.'),
    limit: limit(20),
    with: z.array(z.enum(OWN_FIELDS)).default(['text']),
  }),
  run: (client, given) => client.ask('POST', '/v1/records/list', given),
});

const countRecords = defineTool({
  name: 'count_records',
  title: 'Count records',
  description: 'Counts the live records of a collection, or those that match a filter.',
  effect: 'reads',
  input: z.strictObject({ collection, metadata_filter: metadataFilter }),
  run: (client, given) => client.ask('POST', '/v1/records/count', given),
});

const facets = defineTool({
  name: 'facets',
  title: 'Count values',
  description:
    'Counts the values of a metadata key, the most frequent first. `distinct` is the number of values, `records` that of the records ' +
    'that have the key.',
  effect: 'reads',
  input: z.strictObject({
    collection,
    key: z.string().min(1).describe('A key of the metadata; author.name looks inside an object.'),
    metadata_filter: metadataFilter,
    limit: limit(10),
  }),
  run: (client, given) => client.ask('POST', '/v1/facets', given),
});

export const READS: readonly Registration[] = [listCollections, search, getRecords, listRecords, countRecords, facets];
