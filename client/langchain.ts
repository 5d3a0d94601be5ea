/** A vector store of LangChain.js over a collection: `@vouch/client/langchain`. Its peer is `@langchain/core`. */
import { Document, type DocumentInterface } from '@langchain/core/documents';
import type { EmbeddingsInterface } from '@langchain/core/embeddings';
import { maximalMarginalRelevance } from '@langchain/core/utils/math';
import { type MaxMarginalRelevanceSearchOptions, VectorStore } from '@langchain/core/vectorstores';
import { counted } from '../verifier/counted.js';
import { newDocumentId } from './clock.js';
import type { Collection } from './collection.js';
import type { CreateCollectionRequest } from './contract/collections.js';
import type { HybridOptions, SearchHit, SearchOptions, TextHit } from './contract/search.js';
import {
  assertConfig,
  deleteDocuments,
  dimensionOf,
  relevanceOf,
  unlessMissing,
  upsertDocuments,
} from './documents.js';
import { assertKnown, assertName, assertOptions, assertRequest } from './exact.js';
import type { JsonObject } from './values.js';
import type { Vouch } from './vouch.js';

export interface VouchStoreConfig {
  readonly vouch: Vouch;
  /** The name of the collection. If it does not exist, the first documents create it. */
  readonly collection: string;
  /** The index of a collection that is created. Default `auto`. */
  readonly index?: CreateCollectionRequest['index'];
  /** Whether a collection that is created divides vectors by their length: scores are then cosines. Default false. */
  readonly normalise?: boolean;
  /** The language of the texts in a collection that is created: words match by their stems. Default: as they are written. */
  readonly text?: CreateCollectionRequest['text'];
  /** The life of the records in a collection that is created, in seconds. Default: they do not expire. */
  readonly ttlSecs?: CreateCollectionRequest['ttlSecs'];
  /** Ranks the documents of a search by a text by its words too, as `hybrid` of a search. Default: by vectors alone. */
  readonly hybrid?: true | HybridOptions;
}

/** The default number of documents of a search. */
const FOUND = 4;
/** The most diverse documents that the service chooses. */
const DIVERSE_MAX = 100;

/**
 * Stores documents as records: the page content is the text, the metadata the metadata, and the id of the document the external
 * id. Documents without an id get one. Scores are similarities, as retrievers with a threshold expect: the cosine in a collection
 * with `normalise`, else 1 / (1 + squared Euclidean distance). 1 is an exact match.
 */
export class VouchVectorStore extends VectorStore {
  /** A filter like the `metadata_filter` of a search. */
  declare FilterType: JsonObject;
  readonly collection: Collection;
  readonly #config: VouchStoreConfig;

  constructor(embeddings: EmbeddingsInterface, config: VouchStoreConfig) {
    super(embeddings, {});
    assertConfig(config, { own: ['hybrid'] });
    this.#config = config;
    this.collection = config.vouch.collection(config.collection);
  }

  static override async fromTexts(
    texts: string[],
    metadatas: object[] | object,
    embeddings: EmbeddingsInterface,
    config: VouchStoreConfig,
  ): Promise<VouchVectorStore> {
    if (Array.isArray(metadatas) && metadatas.length !== texts.length)
      throw new TypeError(
        `${counted(metadatas.length, 'metadata object was', 'metadata objects were')} given for ${counted(texts.length, 'text')}`,
      );
    const documents = texts.map((pageContent, i) => {
      const metadata = (Array.isArray(metadatas) ? metadatas[i] : metadatas) as JsonObject;
      return new Document({ pageContent, metadata });
    });
    return VouchVectorStore.fromDocuments(documents, embeddings, config);
  }

  static override async fromDocuments(
    documents: DocumentInterface[],
    embeddings: EmbeddingsInterface,
    config: VouchStoreConfig,
  ): Promise<VouchVectorStore> {
    const store = new VouchVectorStore(embeddings, config);
    await store.addDocuments(documents);
    return store;
  }

  override _vectorstoreType(): string {
    return 'vouch';
  }

  /** Returns the ids of the documents. A document replaces the stored one of the same id. */
  override async addDocuments(
    documents: DocumentInterface[],
    options?: { readonly ids?: string[] },
  ): Promise<string[]> {
    const vectors = await this.embeddings.embedDocuments(documents.map(({ pageContent }) => pageContent));
    return this.addVectors(vectors, documents, options);
  }

  override async addVectors(
    vectors: number[][],
    documents: DocumentInterface[],
    options: { readonly ids?: string[] } = {},
  ): Promise<string[]> {
    assertIds(options, documents.length);
    if (vectors.length === 0 && documents.length === 0) return [];
    const dimension = dimensionOf(vectors, documents);
    const { vouch, collection: name, index = 'auto', normalise = false, text = null, ttlSecs = null } = this.#config;
    await vouch.createCollection({ name, dimension, metric: 'squared_l2', normalise, text, ttlSecs, index });
    const ids = documents.map(({ id }, i) => options.ids?.[i] ?? id ?? newDocumentId());
    const stored = documents.map(({ pageContent: text, metadata }, i) => ({
      ...{ id: ids[i]!, vector: vectors[i]!, text },
      metadata: metadata as JsonObject,
    }));
    await upsertDocuments(this.collection, stored);
    return ids;
  }

  /** Deletes documents by their ids, or those whose metadata match. */
  override async delete(of: { readonly ids: string[] } | { readonly filter: JsonObject }): Promise<void> {
    await deleteDocuments(this.collection, of);
  }

  override async similaritySearchVectorWithScore(
    query: number[],
    k: number,
    filter?: JsonObject,
  ): Promise<[Document, number][]> {
    const hits = await this.#search(query, k, filter);
    return hits.map((hit) => [documentOf(hit), relevanceOf(hit)]);
  }

  override async similaritySearch(query: string, k = FOUND, filter?: JsonObject): Promise<Document[]> {
    return (await this.similaritySearchWithScore(query, k, filter)).map(([document]) => document);
  }

  override async similaritySearchWithScore(
    query: string,
    k = FOUND,
    filter?: JsonObject,
  ): Promise<[Document, number][]> {
    const { hybrid } = this.#config;
    const words = hybrid === undefined ? {} : { queryText: query, hybrid };
    const hits = await this.#search(await this.embeddings.embedQuery(query), k, filter, words);
    return hits.map((hit) => [documentOf(hit), relevanceOf(hit)]);
  }

  /** Finds documents by their words alone. Scores are BM25, which are greater than 1 too. */
  async textSearchWithScore(query: string, k = FOUND, filter?: JsonObject): Promise<[Document, number][]> {
    const request = { queryText: query, k, metadataFilter: filter ?? null, with: FIELDS };
    const found = await unlessMissing(() => this.collection.searchText(request));
    return (found?.results ?? []).map((hit) => [documentOf(hit), hit.textScore]);
  }

  /** The name in LangChain for scores from 0 to 1, which those of `similaritySearchWithScore` are. */
  similaritySearchWithRelevanceScores(query: string, k?: number, filter?: JsonObject): Promise<[Document, number][]> {
    return this.similaritySearchWithScore(query, k, filter);
  }

  /**
   * Finds documents that are near to the query and far from one another. Without `fetchK` the service chooses up to 100 among
   * 20 `k` candidates; with it LangChain chooses here, among the vectors of so many.
   */
  override async maxMarginalRelevanceSearch(
    query: string,
    options: MaxMarginalRelevanceSearchOptions<JsonObject>,
  ): Promise<Document[]> {
    assertRequest(options, 'maxMarginalRelevanceSearch', '{ k, fetchK, lambda, filter }');
    assertKnown(options, ['k', 'fetchK', 'lambda', 'filter'], 'options');
    const { k, fetchK, lambda = 0.5, filter } = options;
    if (!(lambda >= 0 && lambda <= 1)) throw new TypeError(`lambda: expected a number from 0 to 1, got ${lambda}`);
    const embedded = await this.embeddings.embedQuery(query);
    if (fetchK === undefined && k <= DIVERSE_MAX)
      return (await this.#search(embedded, k, filter, { diversity: 1 - lambda })).map(documentOf);
    const hits = await this.#search(embedded, fetchK ?? k, filter, { with: [...FIELDS, 'vector'] });
    const vectors = hits.map(({ vector }) => vector as number[]);
    return maximalMarginalRelevance(embedded, vectors, lambda, k).map((place) => documentOf(hits[place]!));
  }

  async #search(
    query: number[],
    k: number,
    filter: JsonObject | undefined,
    options: Omit<SearchOptions, 'k'> = {},
  ): Promise<SearchHit[]> {
    const request = { query, k, metadataFilter: filter ?? null, with: FIELDS, ...options };
    return (await unlessMissing(() => this.collection.search(request)))?.results ?? [];
  }
}

/**
 * Refuses ids unless there is one for each document, and each is a string that is not empty. Otherwise documents would get new ids,
 * and be stored a second time by the next call.
 */
function assertIds(options: { readonly ids?: readonly string[] }, documents: number): void {
  assertOptions(options, ['ids'], 'options');
  const { ids } = options;
  if (ids === undefined) return;
  if (!Array.isArray(ids)) throw new TypeError('options.ids: expected a list of ids');
  if (ids.length !== documents)
    throw new TypeError(`${counted(ids.length, 'id was', 'ids were')} given for ${counted(documents, 'document')}`);
  for (const [i, id] of ids.entries()) assertName(id, `options.ids[${i}]`);
}

const FIELDS: ('metadata' | 'text')[] = ['metadata', 'text'];

const documentOf = ({ id, externalId, text, metadata }: Omit<TextHit, 'textScore'>): Document =>
  new Document({ id: externalId ?? String(id), pageContent: text ?? '', metadata: metadata ?? {} });
