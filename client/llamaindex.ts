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
import type { HybridOptions } from './contract/search.js';
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
    assertConfig(config, ['embedModel', 'embeddingModel']);
    this.#config = config;
    this.#collection = config.vouch.collection(config.collection);
  }

  client(): Collection {
    return this.#collection;
  }

  /** Returns the ids of the nodes. A node whose id is there replaces what was stored under it. */
  async add(nodes: BaseNode[]): Promise<string[]> {
    if (nodes.length === 0) return [];
    const { vouch, collection: name, index = 'auto', normalise = false } = this.#config;
    const vectors = nodes.map((node) => node.getEmbedding());
    const dimension = dimensionOf(vectors, nodes);
    await vouch.createCollection({ name, dimension, metric: 'squared_l2', normalise, index });
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

  async query(query: VectorStoreQuery): Promise<VectorStoreQueryResult> {
    assertRequest(query, 'query', '{ queryEmbedding, similarityTopK, mode }');
    assertKnown(query, QUERY_FIELDS, 'query');
    const { queryEmbedding, similarityTopK: k, docIds, filters } = query;
    if (queryEmbedding === undefined) throw new ValidationError('validation_error', 'a query without an embedding');
    const both = [filters && filterOf(filters), docIds && { doc_id: { in: docIds } }].filter(
      (one) => one !== undefined,
    );
    const request: Parameters<Collection['search']>[0] = {
      query: queryEmbedding,
      k,
      metadataFilter: both.length === 0 ? null : { $and: both },
      with: ['metadata', 'text'],
      ...modeOf(query),
    };
    const { results } = (await unlessMissing(() => this.#collection.search(request))) ?? { results: [] };
    const nodes = results.map(({ metadata, text }) => {
      const node = metadataDictToNode(metadata ?? {}, { fallback: { id_: '', text: text ?? '' } });
      node.setContent(text ?? '');
      return node;
    });
    return {
      nodes,
      similarities: results.map(relevanceOf),
      ids: results.map(({ id, externalId }) => externalId ?? String(id)),
    };
  }
}

const QUERY_FIELDS = [
  ...['queryEmbedding', 'similarityTopK', 'docIds', 'queryStr', 'mode', 'alpha', 'filters', 'mmrThreshold'],
  'customParams',
];

/** The mode of a query as fields of a search. Throws ValidationError for a part of the query that has no counterpart. */
function modeOf({ mode, queryStr, alpha, ...query }: VectorStoreQuery): {
  queryText?: string;
  hybrid?: boolean | HybridOptions;
} {
  if (mode !== 'default' && mode !== 'hybrid') throw noCounterpart(`the mode ${mode} of a query`);
  for (const name of ['mmrThreshold', 'customParams'] as const)
    if (query[name] !== undefined) throw noCounterpart(`${name} of a query`);
  if (mode === 'default') {
    if (alpha !== undefined) throw noCounterpart('alpha of a query that is not hybrid');
    return {};
  }
  if (queryStr === undefined)
    throw new ValidationError('validation_error', 'a query of the mode hybrid without a text');
  // An alpha of 1 means that vectors alone decide.
  return { queryText: queryStr, hybrid: alpha === undefined || { textWeight: 1 - alpha } };
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
