/** One collection: its records, searches, index, log and proofs. */
import { isoDates, newRequestId } from './clock.js';
import type { ExportResponse } from './contract/backup.js';
import type { ConfigureIndexRequest, IndexState } from './contract/collections.js';
import type { EncryptedRecordResponse, InsertEncryptedRequest, InsertEncryptedResponse } from './contract/encrypted.js';
import type {
  CheckpointResponse,
  ConsistencyResponse,
  EventLogProofResponse,
  InclusionResponse,
  PastReceipt,
  StateProofResponse,
  TimelineEvent,
  TimelineResponse,
} from './contract/proofs.js';
import type {
  BatchInsertRequest,
  BatchInsertResponse,
  BatchUpsertRequest,
  BatchUpsertResponse,
  CountRecordsResponse,
  DeleteRecordsRequest,
  DeleteRecordsResponse,
  DeleteResponse,
  FacetsResponse,
  GetRecordsRequest,
  GetRecordsResponse,
  InsertRequest,
  InsertResponse,
  ListedRecord,
  ListRecordsResponse,
  MetadataResponse,
  PatchRecordsRequest,
  PatchRecordsResponse,
  RecordResponse,
} from './contract/records.js';
import type {
  SearchBatchRequest,
  SearchBatchResponse,
  SearchRequest,
  SearchResponse,
  TextSearchRequest,
  TextSearchResponse,
} from './contract/search.js';
import {
  assertExactJson,
  assertName,
  assertOptions,
  assertPlain,
  assertRequest,
  idSegment,
  type RequestName,
  withOwn,
} from './exact.js';
import { type ExportPiece, exportLog } from './exportLog.js';
import { Graph } from './graph.js';
import { type CallOptions, type Http, split, type Target } from './http.js';
import { type InsertManyOptions, type InsertManyResult, insertMany, type NewRecord } from './insertMany.js';
import type {
  ChangeOptions,
  FacetOptions,
  GetOptions,
  IdempotentOptions,
  ListOptions,
  Matching,
  TimelineOptions,
} from './options.js';
import { externalOf, isExternal, type RecordName } from './recordName.js';
import type { JsonObject } from './values.js';
import { type WaitOptions, waitForIndex } from './waitForIndex.js';

type Here<Request> = Omit<Request, 'collection'>;

/** A record to insert. `metadata`: an object, or bytes, which are stored unchanged. */
export type Insert = Omit<Here<InsertRequest>, 'metadata'> & {
  metadata?: JsonObject | Uint8Array | readonly number[] | null;
};

const PAGE_EVENTS = 1_000;

export class Collection {
  /** The nodes and edges of the collection. */
  readonly graph: Graph;
  readonly #http: Http;

  /** @internal */
  constructor(
    http: Http,
    readonly name: string,
  ) {
    this.#http = http;
    this.graph = new Graph(http, name);
  }

  /** Inserts a record and returns its receipt. Without a `requestId` one is made, so that no retry inserts it twice. */
  async insert(record: Insert, options: CallOptions = {}): Promise<InsertResponse> {
    assertRequest(record, 'insert', '{ values, text, metadata }');
    assertPlain(record, 'the record');
    const { metadata, requestId } = record;
    const body = {
      ...record,
      ...('requestId' in record && requestId !== null ? {} : { requestId: newRequestId() }),
      ...(metadata instanceof Uint8Array ? { metadata: Array.from(metadata) } : {}),
    };
    return this.#post({ path: '/v1/records', of: 'InsertRequest' }, body, options, [record.values]);
  }

  /** Inserts up to 16,384 records, all or none. */
  async batchInsert(request: Here<BatchInsertRequest>, options: IdempotentOptions = {}): Promise<BatchInsertResponse> {
    assertRequest(request, 'batchInsert', '{ batch, texts, metadata }');
    return this.#keyed({ path: '/v1/vectors/batch-insert', of: 'BatchInsertRequest' }, request, options, request.batch);
  }

  /** Inserts or replaces up to 16,384 records by external ids, all or none. */
  async batchUpsert(request: Here<BatchUpsertRequest>, options: IdempotentOptions = {}): Promise<BatchUpsertResponse> {
    assertRequest(request, 'batchUpsert', '{ externalIds, batch }');
    return this.#keyed({ path: '/v1/vectors/batch-upsert', of: 'BatchUpsertRequest' }, request, options, request.batch);
  }

  /**
   * Inserts records from any iterable in batches, several at a time. Memory holds the batches in flight and no more. Rejects
   * with the first failure; batches that were answered before stay inserted.
   */
  insertMany(
    records: AsyncIterable<NewRecord> | Iterable<NewRecord>,
    options: InsertManyOptions = {},
  ): Promise<InsertManyResult> {
    return insertMany(this, records, options);
  }

  /** Reads a record by its id, or by its external id. */
  get(record: RecordName, options: GetOptions = {}): Promise<RecordResponse> {
    const [query, call] = split(options);
    return isExternal(record)
      ? this.#get('/v1/records/by-external-id', 'ExternalRecordQuery', withOwn(query, externalOf(record)), call)
      : this.#get(`/v1/records/${idSegment(record)}`, 'RecordQuery', query, call);
  }

  /** Reads up to 1,000 records by ids or by external ids. */
  getMany(request: Here<GetRecordsRequest>, options: CallOptions = {}): Promise<GetRecordsResponse> {
    return this.#post({ path: '/v1/records/get', of: 'GetRecordsRequest' }, request, options);
  }

  /** The live records in the order of their ids, or of `orderBy`; each page is requested when the one before it was read. */
  async *list(options: ListOptions = {}): AsyncGenerator<ListedRecord, void, undefined> {
    for (let page = options; ; ) {
      const { records, next } = await this.listPage(page);
      yield* records;
      if (next === null) return;
      page = { ...options, after: next };
    }
  }

  listPage(options: ListOptions = {}): Promise<ListRecordsResponse> {
    const [asked, call] = split(options);
    return this.#matching({ get: '/v1/records', post: '/v1/records/list' }, 'ListRecords', asked, call);
  }

  /** The number of live records, or of those that match. */
  async count(options: Matching = {}): Promise<number> {
    const [asked, call] = split(options);
    const path = '/v1/records/count';
    return (await this.#matching<CountRecordsResponse>({ get: path, post: path }, 'CountRecords', asked, call)).count;
  }

  /** The values of a metadata key with the number of records that have each, the most frequent first. */
  facets(key: string, options: FacetOptions = {}): Promise<FacetsResponse> {
    assertName(key, 'key');
    const [asked, call] = split(options);
    return this.#matching({ get: '/v1/facets', post: '/v1/facets' }, 'Facets', withOwn(asked, { key }), call);
  }

  /** Replaces the metadata of a record. */
  updateMetadata(record: RecordName, metadata: JsonObject, options: ChangeOptions = {}): Promise<MetadataResponse> {
    return this.#metadata(record, metadata, options);
  }

  /** Merges a patch into the metadata of a record (RFC 7396): its members replace those of the metadata, and null removes one. */
  patchMetadata(record: RecordName, patch: JsonObject, options: ChangeOptions = {}): Promise<MetadataResponse> {
    return this.#metadata(record, patch, options, { 'content-type': 'application/merge-patch+json' });
  }

  /** Merges a patch into the metadata of many records, all or none, by ids, by external ids or by a filter. */
  async patchMany(request: Here<PatchRecordsRequest>, options: CallOptions = {}): Promise<PatchRecordsResponse> {
    assertRequest(request, 'patchMany', '{ ids, merge }, { externalIds, merge } or { metadataFilter, merge }');
    const call = { method: 'POST', path: '/v1/records/metadata', of: 'PatchRecordsRequest' } as const;
    const body = withOwn(request, { collection: this.name });
    return this.#http.json({ ...call, body, repeat: repeatOf(request) }, options);
  }

  /** Hides a record and keeps its id and history. */
  softDelete(record: RecordName, options: ChangeOptions = {}): Promise<DeleteResponse> {
    return this.#remove('/v1/soft-delete', record, options);
  }

  /** Deletes a record permanently; its id is not used again. */
  delete(record: RecordName, options: ChangeOptions = {}): Promise<DeleteResponse> {
    return this.#remove('/v1/delete', record, options);
  }

  /**
   * Deletes records permanently, all or none, by ids, by external ids or by a filter. Without a `requestId` one is made, so that
   * a retry deletes no record that was inserted since. A retry gets the answer of the first attempt, except for `missing`.
   */
  async deleteMany(request: Here<DeleteRecordsRequest>, options: CallOptions = {}): Promise<DeleteRecordsResponse> {
    assertRequest(request, 'deleteMany', '{ ids }, { externalIds } or { metadataFilter }');
    assertPlain(request, 'the request');
    const { requestId } = request;
    const body = 'requestId' in request && requestId !== null ? request : { ...request, requestId: newRequestId() };
    return this.#post({ path: '/v1/records/delete', of: 'DeleteRecordsRequest' }, body, options);
  }

  /** Searches up to 256 times in one state of the collection. */
  async searchBatch(request: Here<SearchBatchRequest>, options: CallOptions = {}): Promise<SearchBatchResponse> {
    assertRequest(request, 'searchBatch', '{ searches: [{ query, k }] }');
    if (!Array.isArray(request.searches)) throw new TypeError('searches: expected a list of searches');
    const vectors = request.searches.flatMap(({ query }) => (query == null ? [] : [query]));
    return this.#post({ path: '/v1/search/batch', of: 'SearchBatchRequest' }, request, options, vectors);
  }

  async search(request: Here<SearchRequest>, options: CallOptions = {}): Promise<SearchResponse> {
    assertRequest(request, 'search', '{ query, k }');
    return this.#post({ path: '/v1/search', of: 'SearchRequest' }, request, options, [request.query]);
  }

  /** Finds the records whose texts match the words best, whatever their vectors are. */
  async searchText(request: Here<TextSearchRequest>, options: CallOptions = {}): Promise<TextSearchResponse> {
    assertRequest(request, 'searchText', '{ queryText, k }');
    return this.#post({ path: '/v1/search/text', of: 'TextSearchRequest' }, request, options);
  }

  /** Encrypts and inserts a payload. */
  insertEncrypted(
    request: Here<InsertEncryptedRequest>,
    options: IdempotentOptions = {},
  ): Promise<InsertEncryptedResponse> {
    return this.#keyed({ path: '/v1/records/encrypted', of: 'InsertEncryptedRequest' }, request, options);
  }

  getEncrypted(id: number, options: CallOptions = {}): Promise<EncryptedRecordResponse> {
    return this.#get(`/v1/records/encrypted/${idSegment(id)}`, 'CollectionQuery', {}, options);
  }

  /** Builds an index, replaces it, or drops it with `type: null`. It is built in the background: see `waitForIndex`. */
  configureIndex(request: ConfigureIndexRequest, options: CallOptions = {}): Promise<IndexState> {
    const path = `/v1/namespaces/${encodeURIComponent(this.name)}/index`;
    const call = { method: 'POST', path, of: 'ConfigureIndexRequest', body: request, repeat: 'once' } as const;
    return this.#http.json(call, options);
  }

  index(options: CallOptions = {}): Promise<IndexState> {
    const path = `/v1/namespaces/${encodeURIComponent(this.name)}/index`;
    return this.#http.json({ method: 'GET', path, repeat: 'safe' }, options);
  }

  /** Resolves when the configured index serves searches. Throws `IndexBuildError` if its build failed. */
  waitForIndex(options: WaitOptions = {}): Promise<IndexState> {
    return waitForIndex(this, options);
  }

  /** The events of the log in order; each page is requested when the one before it was read. */
  async *timeline(options: TimelineOptions = {}): AsyncGenerator<TimelineEvent, void, undefined> {
    const [{ limit = PAGE_EVENTS }] = split(options);
    for (let page: TimelineOptions = { limit, ...options }; ; ) {
      const { events, next } = await this.timelinePage(page);
      yield* events;
      // With an actor a page may be short, or empty, and have a next one.
      const last = events.length === limit ? events.at(-1)!.logIndex : undefined;
      const after = options.actor === undefined ? last : next;
      if (after === undefined) return;
      page = { ...page, after };
    }
  }

  timelinePage(options: TimelineOptions = {}): Promise<TimelineResponse> {
    const [query, call] = split(options);
    return this.#get('/v1/timeline', 'TimelineQuery', isoDates(query), call);
  }

  /** The end of an export that begins now: facts of the collection, hashes and a signed checkpoint. */
  exportInfo(options: CallOptions = {}): Promise<ExportResponse> {
    return this.#get('/v1/export', 'CollectionQuery', {}, options);
  }

  /** The stored log, piece by piece, from the event `from` to its last event, those appended meanwhile included. */
  exportLog(options: CallOptions & { readonly from?: number } = {}): AsyncGenerator<ExportPiece, void, undefined> {
    return exportLog(this.#http, this.name, options);
  }

  stateProof(options: CallOptions = {}): Promise<StateProofResponse> {
    return this.#get('/v1/proof/state', 'CollectionQuery', {}, options);
  }

  eventLogProof(options: CallOptions = {}): Promise<EventLogProofResponse> {
    return this.#get('/v1/proof/event-log', 'CollectionQuery', {}, options);
  }

  /** The receipt of a past write. */
  receipt(sequence: number, options: CallOptions = {}): Promise<PastReceipt> {
    return this.#get('/v1/proof/receipt', 'ReceiptQuery', { sequence }, options);
  }

  /** Proof that an event is in the log of `size` events; without `size`, in the present log. */
  inclusion(sequence: number, options: CallOptions & { readonly size?: number } = {}): Promise<InclusionResponse> {
    const [query, call] = split(options);
    return this.#get('/v1/proof/inclusion', 'InclusionQuery', withOwn(query, { sequence }), call);
  }

  /** Proof that the log after event `to` begins with the log after event `from`. */
  consistency(from: number, to: number, options: CallOptions = {}): Promise<ConsistencyResponse> {
    return this.#get('/v1/proof/consistency', 'ConsistencyQuery', { from, to }, options);
  }

  /** The newest checkpoint. `logged`: the newest one in the service log, with the proof. */
  checkpoint(options: CallOptions & { readonly logged?: boolean } = {}): Promise<CheckpointResponse> {
    const [query, call] = split(options);
    return this.#get('/v1/proof/checkpoint', 'CheckpointQuery', query, call);
  }

  #get<T>(path: string, of: RequestName, query: object, options: CallOptions): Promise<T> {
    const named = withOwn(query, { collection: this.name });
    return this.#http.json({ method: 'GET', path, of, query: named, repeat: 'safe' }, options);
  }

  #metadata(
    record: RecordName,
    own: JsonObject,
    options: ChangeOptions,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<MetadataResponse> {
    assertExactJson(own, 'metadata');
    const [guard, call] = split(options);
    const query = withOwn(guard, { collection: this.name, ...(isExternal(record) && externalOf(record)) });
    const path = `/v1/records/${isExternal(record) ? 'by-external-id' : idSegment(record)}/metadata`;
    const repeat = repeatOf(guard);
    const of = isExternal(record) ? 'ExternalMetadataQuery' : 'MetadataQuery';
    return this.#http.json({ method: 'PATCH', path, of, query, own, headers, repeat }, call);
  }

  /** Sends a request with parameters, or with a body if there is a filter, which may be too long for a URL. */
  #matching<T>(
    { get, post }: { readonly get: string; readonly post: string },
    of: 'ListRecords' | 'CountRecords' | 'Facets',
    asked: object,
    call: CallOptions,
  ): Promise<T> {
    return 'metadataFilter' in asked || 'metadata_filter' in asked
      ? this.#post({ path: post, of: `${of}Request` }, asked, call)
      : this.#get(get, `${of}Query`, asked, call);
  }

  #post<T>({ path, of }: Target, request: object, options: CallOptions, vectors: readonly unknown[] = []): Promise<T> {
    const body = withOwn(request, { collection: this.name });
    return this.#http.json({ method: 'POST', path, of, body, vectors, repeat: 'safe' }, options);
  }

  /** Sends an insert whose body has no request id of its own. */
  #keyed<T>(
    { path, of }: Target,
    request: object,
    options: IdempotentOptions,
    vectors: readonly unknown[] = [],
  ): Promise<T> {
    const body = withOwn(request, { collection: this.name });
    const [own, call] = split(options);
    assertOptions(own, ['idempotencyKey'], 'options');
    const { idempotencyKey = newRequestId() } = own;
    assertName(idempotencyKey, 'idempotencyKey');
    const headers = { 'idempotency-key': idempotencyKey };
    return this.#http.json({ method: 'POST', path, of, body, vectors, headers, repeat: 'safe' }, call);
  }

  /**
   * A record that a retry does not find by its id was removed by the first attempt. A deletion by an external id is not tried
   * again: a newer record may have that id by then.
   */
  async #remove(path: string, record: RecordName, options: ChangeOptions): Promise<DeleteResponse> {
    const [guard, call] = split(options);
    const name = isExternal(record) ? externalOf(record) : { id: record };
    const body = withOwn(guard, { ...name, collection: this.name });
    const repeat = isExternal(record) ? 'once' : 'removal';
    const removal = { method: 'POST', path, of: 'RecordReference', body, repeat } as const;
    return (await this.#http.json<DeleteResponse | undefined>(removal, call)) ?? { success: true };
  }
}

/** A change on a condition is not tried again: the first attempt may have made it, and then the condition fails. */
const repeatOf = (change: object): 'once' | 'safe' =>
  'ifLogIndex' in change || 'if_log_index' in change ? 'once' : 'safe';
