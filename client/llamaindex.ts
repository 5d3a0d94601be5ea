/** A vector store of LlamaIndex.TS over a collection: `@vouch/client/llamaindex`. Its peer is `@llamaindex/core`. */
import { type BaseNode, MetadataMode } from '@llamaindex/core/schema';
import {
  BaseVectorStore,
  type MetadataFilter,
  type MetadataFilters,
  metadataDictToNode,
  nodeToMetadata,
  type VectorStoreBaseParams,
  type VectorStoreQuery,
  type VectorStoreQueryResult,
} from '@llamaindex/core/vector-store';
import type { Collection } from './collection.js';
import type { CreateCollectionRequest } from './contract/collections.js';
import type { SearchHit, SearchOptions, TextHit } from './contract/search.js';
import {
  assertConfig,
  deleteDocuments,
  dimensionOf,
  relevanceOf,
  unlessMissing,
  upsertDocuments,
} from './documents.js';
import { ValidationError } from './errors.js';
import { assertKnown, assertName, assertRequest } from './exact.js';
import type { JsonObject } from './values.js';
import type { Vouch } from './vouch.js';

export interface VouchStoreConfig extends VectorStoreBaseParams {
  readonly vouch: Vouch;
  /** The name of the collection. If it does not exist, the first nodes create it. */
  readonly collection: string;
  /** The index of a collection that is created. Default `auto`. */
  readonly index?: CreateCollectionRequest['index'];
  /** Whether a collection that is created divides vectors by their length: similarities are then cosines. Default false. */
  readonly normalise?: boolean;
  /** The language of the texts in a collection that is created: words match by their stems. Default: words match as written. */
  readonly text?: CreateCollectionRequest['text'];
  /** The life of the records in a collection that is created, in seconds. Default: they do not expire. */
  readonly ttlSecs?: CreateCollectionRequest['ttlSecs'];
}

/**
 * Stores nodes as records: the text of the node as text, LlamaIndex's dictionary of the node as metadata, its id as external id.
 * The similarity of a hit is the cosine in a collection with `normalise`, else 1 / (1 + squared Euclidean distance): 1 is an exact
 * match.
 */
export class VouchVectorStore extends BaseVectorStore<Collection> {
  storesText = true;
  readonly #config: VouchStoreConfig;
  readonly #collection: Collection;

  constructor(config: VouchStoreConfig) {
    super(config);
    assertConfig(config, { ofFramework: ['embedModel', 'embeddingModel'] });
    this.#config = config;
    this.#collection = config.vouch.collection(config.collection);
  }

  client(): Collection {
    return this.#collection;
  }

  /** Stores the nodes and returns their ids. A node replaces an earlier one of the same id. */
  async add(nodes: BaseNode[]): Promise<string[]> {
    if (nodes.length === 0) return [];
    const { vouch, collection: name, index = 'auto', normalise = false, text = null, ttlSecs = null } = this.#config;
    const vectors = nodes.map((node) => node.getEmbedding());
    const dimension = dimensionOf(vectors, nodes);
    await vouch.createCollection({ name, dimension, metric: 'squared_l2', normalise, text, ttlSecs, index });
    const stored = nodes.map((node, i) => ({
      id: node.id_,
      vector: vectors[i]!,
      text: node.getContent(MetadataMode.NONE),
      metadata: nodeToMetadata(node, true) as JsonObject,
    }));
    await upsertDocuments(this.#collection, stored);
    return stored.map(({ id }) => id);
  }

  /** Deletes all nodes of a document. */
  async delete(refDocId: string): Promise<void> {
    assertName(refDocId, 'refDocId');
    await deleteDocuments(this.#collection, { filter: { ref_doc_id: refDocId } });
  }

  /** Runs a query. In the mode `sparse`, similarities are BM25 scores. */
  async query(query: VectorStoreQuery): Promise<VectorStoreQueryResult> {
    assertRequest(query, 'query', '{ queryEmbedding, similarityTopK, mode }');
    assertKnown(query, QUERY_FIELDS, 'query');
    const hits = (await unlessMissing(() => this.#hits(query))) ?? [];
    const nodes = hits.map(({ metadata, text }) => {
      const node = metadataDictToNode(metadata ?? {}, { fallback: { id_: '', text: text ?? '' } });
      node.setContent(text ?? '');
      return node;
    });
    return {
      nodes,
      similarities: hits.map((hit) => ('score' in hit ? relevanceOf(hit) : hit.textScore)),
      ids: hits.map(({ id, externalId }) => externalId ?? String(id)),
    };
  }

  async #hits(query: VectorStoreQuery): Promise<(SearchHit | TextHit)[]> {
    const { queryEmbedding, similarityTopK: k, docIds, filters } = query;
    const both = [filters && filterOf(filters), docIds && { doc_id: { in: docIds } }].filter(
      (one) => one !== undefined,
    );
    const asked = { k, metadataFilter: both.length === 0 ? null : { $and: both }, with: FIELDS };
    const ranking = rankingOf(query);
    if (query.mode === 'sparse')
      return (await this.#collection.searchText({ ...asked, queryText: textOf(query) })).results;
    if (queryEmbedding === undefined) throw new ValidationError('validation_error', 'a query without an embedding');
    return (await this.#collection.search({ ...asked, query: queryEmbedding, ...ranking })).results;
  }
}

const FIELDS: ('metadata' | 'text')[] = ['metadata', 'text'];
const QUERY_FIELDS = [
  ...['queryEmbedding', 'similarityTopK', 'docIds', 'queryStr', 'mode', 'alpha', 'filters', 'mmrThreshold'],
  'customParams',
];

/** Default of `mmrThreshold`: 1 ranks by nearness to the query alone, 0 by distance from earlier hits alone. */
const MMR_THRESHOLD = 0.5;

/** The mode of a query as fields of a search. Throws ValidationError for a part of the query that has no counterpart. */
function rankingOf(query: VectorStoreQuery): Omit<SearchOptions, 'k'> {
  const { mode, alpha, mmrThreshold, customParams } = query;
  const isHybrid = mode === 'hybrid' || mode === 'semantic_hybrid';
  if (!isHybrid && mode !== 'default' && mode !== 'sparse' && mode !== 'mmr')
    throw noCounterpart(`the mode ${mode} of a query`);
  if (customParams !== undefined) throw noCounterpart('customParams of a query');
  if (alpha !== undefined && !isHybrid) throw noCounterpart('alpha of a query that is not hybrid');
  if (mode === 'mmr') return { diversity: 1 - (mmrThreshold ?? MMR_THRESHOLD) };
  if (mmrThreshold !== undefined) throw noCounterpart('mmrThreshold of a query of another mode than mmr');
  // An alpha of 1 means that vectors alone decide.
  return isHybrid ? { queryText: textOf(query), hybrid: alpha === undefined || { textWeight: 1 - alpha } } : {};
}

function textOf({ mode, queryStr }: VectorStoreQuery): string {
  if (queryStr === undefined)
    throw new ValidationError('validation_error', `a query of the mode ${mode} without a text`);
  return queryStr;
}

const noCounterpart = (what: string): ValidationError =>
  new ValidationError('validation_error', `${what} has no counterpart in Vouch`);

/**
 * The filter in the form of the API; undefined where it has no conditions. Throws ValidationError for an operator that the API
 * does not have.
 */
function filterOf(of: MetadataFilters): JsonObject | undefined {
  assertRequest(of, 'filters', '{ filters: [{ key, operator, value }] }');
  assertKnown(of, ['filters', 'condition'], 'filters');
  const { filters, condition = 'and' } = of;
  if (!Array.isArray(filters)) throw new TypeError('filters.filters: expected a list of conditions');
  if (condition !== 'and' && condition !== 'or') throw noCounterpart(`the condition ${condition} of filters`);
  if (filters.length === 0) return undefined;
  return { [`$${condition}`]: filters.map(testOf) };
}

function testOf(filter: MetadataFilter, i: number): JsonObject {
  assertKnown(filter, ['key', 'value', 'operator'], `filters.filters[${i}]`);
  const { key, value, operator } = filter;
  assertName(key, `filters.filters[${i}].key`);
  switch (operator) {
    case '==':
    case 'contains':
      return { [key]: { eq: value } };
    case '!=':
      return { [key]: { ne: value } };
    case '>':
      return { [key]: { gt: value } };
    case '>=':
      return { [key]: { gte: value } };
    case '<':
      return { [key]: { lt: value } };
    case '<=':
      return { [key]: { lte: value } };
    case 'in':
    case 'any':
      return { [key]: { in: value } };
    case 'nin':
      return { [key]: { nin: value } };
    case 'text_match':
      return { [key]: { contains: value } };
    case 'all':
      if (!Array.isArray(value)) throw new TypeError(`filters.filters[${i}].value: expected a list`);
      return { $and: value.map((one) => ({ [key]: { eq: one } })) };
    case 'is_empty':
      return { [key]: { exists: false } };
    default:
      throw noCounterpart(`the operator ${operator} of a filter`);
  }
}
