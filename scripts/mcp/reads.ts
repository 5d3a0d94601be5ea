/** The tools that search and read records. */
import { z } from 'zod';
import type { Alias, ListAliasesResponse } from '../../coordinator/contract/collections.js';
import type { GetRecordsResponse, ListRecordsResponse } from '../../coordinator/contract/records.js';
import { counted } from '../../shared/errors/counted.js';
import type { ServiceClient } from '../service/serviceClient.js';
import {
  collection,
  externalId,
  hit,
  limit,
  metadataFilter,
  OWN_FIELDS,
  queryWords,
  record,
  recordId,
  textHit,
  vector,
} from './fields.js';
import { fitted, type Listing, shortened } from './fitted.js';
import { pieceOf } from './size.js';
import { defineTool, Misused, type Registration } from './tool.js';

const IDS_MAX = 100;
/** Largest number of bytes of `missing`: room for 100 numeric ids, or external ids of the usual length. */
const MISSING_BYTES_MAX = 4_000;
/** Largest number of bytes of a piece, as JSON. */
const PIECE_BYTES_MAX = 20_000;

const FIELDS = ['metadata', 'text', 'vector'] as const;
const IN_PIECES = 'read_field reads one field of one record in pieces.';

function aliasesOf(name: string, all: readonly Alias[]): { aliases?: string[] } {
  const aliases = all.filter(({ collection }) => collection === name).map(({ alias }) => alias);
  return aliases.length === 0 ? {} : { aliases };
}

const listCollections = defineTool({
  name: 'list_collections',
  title: 'List collections',
  description:
    'Lists the collections of the service with their dimension, metric, index kind and number of live records. Call this first: ' +
    'other tools take the name of a collection.',
  effect: 'reads',
  input: z.strictObject({
    name_contains: z.string().optional().describe('Only collections whose name, or an alias, contains this.'),
    after: z.string().optional().describe('Only collections behind this name in the order of the names.'),
    limit: limit(100),
  }),
  output: {
    collections: z.array(
      z.object({
        name: z.string(),
        dimension: z.int(),
        metric: z.string(),
        normalise: z
          .boolean()
          .optional()
          .describe('Vectors and queries are divided by their length: the nearest have the greatest cosine.'),
        text: z
          .object({ language: z.string() })
          .optional()
          .describe(
            'Words in texts and queries match by their stems in this language; without it as they are written.',
          ),
        ttl_secs: z
          .int()
          .optional()
          .describe('New records without expires_at expire after so many seconds; without it they stay.'),
        erasable: z.boolean().optional().describe('Each record is under a vault key, by default a fresh one.'),
        index: z.string(),
        record_count: z.int(),
        max_records: z.int(),
        importing: z.boolean().optional(),
        aliases: z.array(z.string()).optional().describe('Other names that other tools take for this collection.'),
      }),
    ),
    total: z.int().describe('All that match, on this page and behind it.'),
  },
  listing: { name: 'collections', shortens: [], rest: 'The last name of this page is the `after` of the next.' },
  async run(client, { name_contains = '', after = '', limit }) {
    const { collections } = await client.ask<{ collections: { name: string }[] }>('GET', '/v1/namespaces');
    const { aliases } = await client.ask<ListAliasesResponse>('GET', '/v1/aliases');
    const matching = collections
      .map((one) => ({ ...one, ...aliasesOf(one.name, aliases) }))
      .filter((one) => [one.name, ...(one.aliases ?? [])].some((name) => name.includes(name_contains)))
      .filter(({ name }) => name > after)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    return { collections: matching.slice(0, limit), total: matching.length };
  },
});

const PAST_INPUT = {
  as_of_log_index: z
    .int()
    .min(0)
    .optional()
    .describe('Searches the state after exactly this many writes (see history).'),
  as_of: z.string().optional().describe('Searches the state at this instant, in ISO 8601 with its zone.'),
} as const;

const PAST_OUTPUT = {
  as_of_log_index: z.int().optional(),
  as_of_timestamp: z.int().optional().describe('Unix seconds of the last write of the searched state.'),
  as_of_state_hash: z.string().optional(),
  erased: z.int().optional().describe('The number of records of that state whose content has been erased since.'),
} as const;

const count = z.int().min(1).max(IDS_MAX).default(10).describe(`The number of hits, up to ${IDS_MAX}.`);
const hitFields = z
  .array(z.enum(FIELDS))
  .default(['metadata', 'text'])
  .describe('What each hit carries besides id and score.');

const HITS = {
  name: 'results',
  shortens: ['metadata', 'text'],
  rest: `Ask for a smaller k, or for fewer fields: with [] all ids fit. ${IN_PIECES}`,
} as const;

const search = defineTool({
  name: 'search',
  title: 'Search',
  description:
    'Finds the records nearest to a vector, or to the vector of another record, closest first. Exactly one of `query`, `like` and ' +
    '`like_external_id` is given. `score` is the squared distance: 0 is equal, smaller is nearer. Each hit has its id and what `with` names. The search ' +
    'can be one of the past, as the collection was after any number of its writes.',
  effect: 'reads',
  input: z.strictObject({
    collection,
    query: vector.optional(),
    like: recordId.optional().describe('The id of a record: finds the records nearest to it, without itself.'),
    like_external_id: externalId.optional().describe('The external id of this record, in place of like.'),
    k: count,
    metadata_filter: metadataFilter,
    score_threshold: z.number().min(0).optional().describe('Only records with a score of at most this.'),
    query_text: z
      .string()
      .optional()
      .describe('Reorders the nearest records by how well their texts match these words.'),
    hybrid: z
      .strictObject({
        text_weight: z.number().min(0).max(1).optional().describe('The weight of the text beside the distance: 0.5.'),
        fusion: z.enum(['blend', 'rrf']).optional().describe('How both are joined: by scores (blend) or by ranks.'),
      })
      .optional()
      .describe('Takes the best matches of query_text as candidates too, however far they are.'),
    diversity: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe('How much hits shall differ from one another: 0 (the default) finds the nearest. Without query_text.'),
    with: hitFields,
    ...PAST_INPUT,
  }),
  output: { results: z.array(hit), ...PAST_OUTPUT },
  listing: HITS,
  run(client, given) {
    if ([given.query, given.like, given.like_external_id].filter((one) => one !== undefined).length !== 1)
      throw new Misused('give one of query, like and like_external_id');
    return client.ask<object>('POST', '/v1/search', given);
  },
});

const searchText = defineTool({
  name: 'search_text',
  title: 'Search texts',
  description:
    'Finds the records whose texts match words best, whatever their vectors are, the best first. Use it for names, codes and exact ' +
    'terms, or if there is no vector to search by. A record is found if its text has at least one of the words.',
  effect: 'reads',
  input: z.strictObject({
    collection,
    query_text: queryWords,
    k: count,
    metadata_filter: metadataFilter,
    with: hitFields,
    ...PAST_INPUT,
  }),
  output: { results: z.array(textHit), ...PAST_OUTPUT },
  listing: HITS,
  run: (client, given) => client.ask<object>('POST', '/v1/search/text', given),
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
    with: z.array(z.enum(OWN_FIELDS)).default(['text']).describe('What each record carries besides tag and metadata.'),
  }),
  output: {
    records: z.array(record),
    missing: z.array(z.unknown()).describe('The ids or external ids that no live record has.'),
  },
  listing: {
    name: 'records',
    shortens: ['metadata', 'text'],
    rest: `Ask for fewer ids, or for fewer fields. ${IN_PIECES}`,
  },
  async run(client, given) {
    if ((given.ids === undefined) === (given.external_ids === undefined))
      throw new Misused('give one of ids and external_ids');
    const answer = await client.ask<GetRecordsResponse>('POST', '/v1/records/get', given);
    return { ...answer, missing: shortened(answer.missing, MISSING_BYTES_MAX) };
  },
});

const readField = defineTool({
  name: 'read_field',
  title: 'Read a field',
  description:
    'Reads the text, the metadata or the vector of one record in pieces, where another tool shortened it or left it out. Metadata ' +
    'and vectors are JSON. `next` is the `from` of the next piece; it is absent at the end. Exactly one of `id` and `external_id` ' +
    'is given.',
  effect: 'reads',
  input: z.strictObject({
    collection,
    id: recordId.optional(),
    external_id: externalId.optional(),
    field: z.enum(FIELDS),
    from: z.int().min(0).default(0).describe('The character at which the piece begins.'),
  }),
  output: {
    id: z.int(),
    field: z.string(),
    piece: z.string(),
    next: z.int().optional(),
    total: z.int().describe('The characters of all pieces.'),
  },
  async run(client, { collection, id, external_id, field, from }) {
    if ((id === undefined) === (external_id === undefined)) throw new Misused('give one of id and external_id');
    const found = await recordOf(
      client,
      { collection, ids: id && [id], external_ids: external_id && [external_id] },
      field,
    );
    const value = found[field];
    if (value === undefined || value === null)
      throw new Misused(`record ${found.id} has no ${field}`, 'record_not_found');
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (from > text.length) throw new Misused(`from is ${from}: the ${field} has ${counted(text.length, 'character')}`);
    const piece = pieceOf(text, from, PIECE_BYTES_MAX);
    const next = from + piece.length;
    return { id: found.id, field, piece, ...(next < text.length && { next }), total: text.length };
  },
});

async function recordOf(client: ServiceClient, named: object, field: (typeof FIELDS)[number]) {
  const body = { ...named, with: field === 'metadata' ? [] : [field] };
  const { records, missing } = await client.ask<GetRecordsResponse>('POST', '/v1/records/get', body);
  const [found] = records;
  if (found === undefined) throw new Misused(`there is no record ${JSON.stringify(missing[0])}`, 'record_not_found');
  return found;
}

const LISTED_RECORDS: Listing = {
  name: 'records',
  shortens: ['metadata', 'text'],
  nextAfter: 'id',
  rest: `\`next\` continues. ${IN_PIECES}`,
};

const listRecords = defineTool({
  name: 'list_records',
  title: 'List records',
  description:
    'Lists live records in the order of their ids, or of a metadata value, with tag and metadata and what `with` names. `next` is the ' +
    '`after` of the next page, with order_by `next_cursor` its `cursor`; it is absent at the end.',
  effect: 'reads',
  input: z.strictObject({
    collection,
    metadata_filter: metadataFilter,
    after: recordId.optional().describe('Without order_by: only records with a greater id.'),
    cursor: z
      .string()
      .optional()
      .describe('With order_by: only records after it, the `next_cursor` of the page before.'),
    order_by: z
      .string()
      .optional()
      .describe(
        'Orders by the values of this metadata key; author.name looks inside objects. Records without one come last.',
      ),
    order: z.enum(['asc', 'desc']).optional().describe('With order_by. Default asc.'),
    limit: limit(20),
    with: z.array(z.enum(OWN_FIELDS)).default(['text']).describe('What each record carries besides tag and metadata.'),
  }),
  output: { records: z.array(record), next: z.int().optional(), next_cursor: z.string().optional() },
  listing: LISTED_RECORDS,
  /** With `order_by`, only the service can name the place of a record, so a page is as long as fits. */
  async run(client, { after, cursor, ...given }) {
    if (cursor !== undefined && (given.order_by === undefined || after !== undefined))
      throw new Misused('give cursor only with order_by, and without after');
    for (let { limit: asked } = given; ; ) {
      const body = { ...given, after: cursor ?? after, limit: asked };
      const { records, next } = await client.ask<ListRecordsResponse>('POST', '/v1/records/list', body);
      if (given.order_by === undefined) return { records, next };
      const page = { records, next_cursor: next };
      const kept = fitting(page);
      if (asked === 1 || kept === records.length) return page;
      asked = Math.max(kept, 1);
    }
  },
});

/** The number of records of a page that fit into an answer. */
const fitting = (page: { readonly records: readonly unknown[]; readonly next_cursor: unknown }): number =>
  (fitted({ ...page }, LISTED_RECORDS)?.records as readonly unknown[] | undefined)?.length ?? 0;

const countRecords = defineTool({
  name: 'count_records',
  title: 'Count records',
  description: 'Counts the live records of a collection, or those that match a filter.',
  effect: 'reads',
  input: z.strictObject({ collection, metadata_filter: metadataFilter }),
  output: { count: z.int() },
  run: (client, given) => client.ask<object>('POST', '/v1/records/count', given),
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
  output: {
    values: z.array(z.object({ value: z.unknown(), count: z.int() })),
    distinct: z.int(),
    records: z.int(),
  },
  listing: { name: 'values', shortens: ['value'], rest: 'A metadata_filter narrows the records that are counted.' },
  run: (client, given) => client.ask<object>('POST', '/v1/facets', given),
});

export const READS: readonly Registration[] = [
  listCollections,
  search,
  searchText,
  getRecords,
  readField,
  listRecords,
  countRecords,
  facets,
];
