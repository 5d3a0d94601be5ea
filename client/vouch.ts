/** A project of a Vouch service. */
import { AccessLog } from './accessLog.js';
import { Collection } from './collection.js';
import type { ChangeCollectionRequest } from './contract/access.js';
import type { BeginImportRequest, ImportResponse } from './contract/backup.js';
import type { ClusterResponse } from './contract/cluster.js';
import type {
  Alias,
  CreateCollectionRequest,
  CreateCollectionResponse,
  IndexConfigResponse,
  ListAliasesResponse,
  ListCollectionsResponse,
  ListedCollection,
  RebuildRequest,
  RebuildResponse,
} from './contract/collections.js';
import type { KeyStatusResponse, ShredResponse } from './contract/encrypted.js';
import type { EraseRequest, ErasuresResponse } from './contract/erasures.js';
import type { SigningKey, SigningKeysResponse } from './contract/proofs.js';
import type { MultiSearchRequest, MultiSearchResponse } from './contract/search.js';
import type {
  CreateKeyRequest,
  CreateKeyResponse,
  HealthResponse,
  ListedKey,
  ListKeysResponse,
  OwnKeyResponse,
  UsageResponse,
} from './contract/service.js';
import { assertName, assertRequest, nameSegment } from './exact.js';
import { type Call, type CallOptions, Http, type HttpOptions, type Target } from './http.js';
import { type CheckpointStore, PinnedCheckpoints } from './pinnedCheckpoints.js';

export class Vouch {
  readonly #http: Http;

  /** Makes no request. */
  constructor(options: HttpOptions) {
    this.#http = new Http(options);
  }

  /** A collection by its name. Makes no request: the collection need not exist yet. */
  collection(name: string): Collection {
    assertName(name, 'collection');
    return new Collection(this.#http, name);
  }

  async collections(options: CallOptions = {}): Promise<ListedCollection[]> {
    return (await this.#get<ListCollectionsResponse>('/v1/namespaces', options)).collections;
  }

  /** A collection as `collections` lists it. Throws `VouchError` with code `collection_not_found` if it does not exist. */
  collectionInfo(name: string, options: CallOptions = {}): Promise<ListedCollection> {
    return this.#get(`/v1/namespaces/${nameSegment(name)}`, options);
  }

  /** Creates a collection, unless the same one exists. */
  createCollection(request: CreateCollectionRequest, options: CallOptions = {}): Promise<CreateCollectionResponse> {
    return this.#post({ path: '/v1/namespaces', of: 'CreateCollectionRequest' }, request, options);
  }

  /** Drops a collection with all its content. A retry that does not find it succeeds. */
  async dropCollection(name: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json(
      { method: 'DELETE', path: `/v1/namespaces/${nameSegment(name)}`, repeat: 'removal' },
      options,
    );
  }

  /**
   * Switches the access log of a collection, which has an entry for every read. Sets for how many days its entries are kept; null:
   * forever. Needs a key of the scope `admin`.
   */
  changeCollection(
    name: string,
    request: ChangeCollectionRequest,
    options: CallOptions = {},
  ): Promise<ListedCollection> {
    assertRequest(request, 'changeCollection', '{ auditReads, accessRetentionDays }');
    const path = `/v1/namespaces/${nameSegment(name)}`;
    const call = { method: 'PATCH', path, of: 'ChangeCollectionRequest', body: request, repeat: 'safe' } as const;
    return this.#http.json(call, options);
  }

  /** The access log of a collection. Makes no request. */
  accessLog(name: string): AccessLog {
    assertName(name, 'collection');
    return new AccessLog(this.#http, name);
  }

  async aliases(options: CallOptions = {}): Promise<Alias[]> {
    return (await this.#get<ListAliasesResponse>('/v1/aliases', options)).aliases;
  }

  /** Creates an alias of a collection, or moves it. Once this resolves, the alias leads every request to that collection. */
  putAlias(alias: string, collection: string, options: CallOptions = {}): Promise<Alias> {
    assertName(collection, 'collection');
    const call = { method: 'PUT', path: `/v1/aliases/${nameSegment(alias)}`, of: 'PutAliasRequest' } as const;
    return this.#http.json({ ...call, body: { collection }, repeat: 'safe' }, options);
  }

  /** Deletes an alias, not its collection. A retry that does not find it succeeds. */
  async dropAlias(alias: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: `/v1/aliases/${nameSegment(alias)}`, repeat: 'removal' }, options);
  }

  /** Searches several collections and merges their hits. */
  async searchMulti(request: MultiSearchRequest, options: CallOptions = {}): Promise<MultiSearchResponse> {
    assertRequest(request, 'searchMulti', '{ collections, query, k }');
    const of = 'MultiSearchRequest' as const;
    const call = { method: 'POST', path: '/v1/search/multi', of, body: request, vectors: [request.query] } as const;
    return this.#http.json({ ...call, repeat: 'safe' }, options);
  }

  /** Builds the indexes of all collections again. */
  rebuildIndexes(request: RebuildRequest = {}, options: CallOptions = {}): Promise<RebuildResponse> {
    return this.#post({ path: '/v1/index/rebuild', of: 'RebuildRequest' }, request, options, 'once');
  }

  indexConfig(options: CallOptions = {}): Promise<IndexConfigResponse> {
    return this.#get('/v1/index/config', options);
  }

  /** Destroys a key: the encrypted records under it can never be read again. */
  shred(keyId: string, options: CallOptions = {}): Promise<ShredResponse> {
    return this.#http.json(
      { method: 'DELETE', path: `/v1/crypto/shred/${nameSegment(keyId)}`, repeat: 'safe' },
      options,
    );
  }

  /**
   * Shreds keys, given as `keyIds` or found by a `metadataFilter` in a collection, and certifies what is erased. Keys in
   * `partialFailures` are not finished: name them again. A request with a filter is not retried after a broken connection: the
   * keys that it has shredded match no more.
   */
  erase(request: EraseRequest, options: CallOptions = {}): Promise<ErasuresResponse> {
    assertRequest(request, 'erase', '{ keyIds }');
    const repeat = request.metadataFilter == null ? 'safe' : 'once';
    return this.#post({ path: '/v1/erasures', of: 'EraseRequest' }, request, options, repeat);
  }

  keyStatus(keyId: string, options: CallOptions = {}): Promise<KeyStatusResponse> {
    return this.#get(`/v1/crypto/status/${nameSegment(keyId)}`, options);
  }

  async keys(options: CallOptions = {}): Promise<ListedKey[]> {
    return (await this.#get<ListKeysResponse>('/v1/keys', options)).keys;
  }

  /** The project and the scope of this client's own key. */
  ownKey(options: CallOptions = {}): Promise<OwnKeyResponse> {
    return this.#get('/v1/keys/self', options);
  }

  /** Makes an API key. As the request has no request id, it is not retried after a broken connection. */
  createKey(request: CreateKeyRequest, options: CallOptions = {}): Promise<CreateKeyResponse> {
    return this.#post({ path: '/v1/keys', of: 'CreateKeyRequest' }, request, options, 'once');
  }

  async revokeKey(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: `/v1/keys/${nameSegment(id)}`, repeat: 'removal' }, options);
  }

  /** The keys that checkpoints were signed with, oldest first. */
  async signingKeys(options: CallOptions = {}): Promise<SigningKey[]> {
    return (await this.#get<SigningKeysResponse>('/v1/proof/keys', options)).keys;
  }

  /** Begins an import, or returns the progress of one that has begun. */
  beginImport(request: BeginImportRequest, options: CallOptions = {}): Promise<ImportResponse> {
    return this.#post({ path: '/v1/import', of: 'BeginImportRequest' }, request, options);
  }

  /** Sends pieces of an exported log, as `exportLog` yields them, in their order. */
  importLog(name: string, bytes: Uint8Array, options: CallOptions = {}): Promise<ImportResponse> {
    if (!(bytes instanceof Uint8Array)) throw new TypeError('expected the bytes of an exported log');
    const path = `/v1/import/${nameSegment(name)}/log`;
    return this.#http.json({ method: 'POST', path, own: bytes, repeat: 'safe' }, options);
  }

  finishImport(name: string, options: CallOptions = {}): Promise<ImportResponse> {
    return this.#http.json({ method: 'POST', path: `/v1/import/${nameSegment(name)}/finish`, repeat: 'safe' }, options);
  }

  /** The version of the service. */
  version(options: CallOptions = {}): Promise<string> {
    return this.#http.text({ method: 'GET', path: '/v1/version', repeat: 'safe' }, options);
  }

  usage(options: CallOptions = {}): Promise<UsageResponse> {
    return this.#get('/v1/usage', options);
  }

  /** Needs no key. */
  health(options: CallOptions = {}): Promise<HealthResponse> {
    return this.#get('/health', options, 503);
  }

  /** Shards, owners, followers and rates; needs a key of the scope `admin`. */
  cluster(options: CallOptions = {}): Promise<ClusterResponse> {
    return this.#get('/v1/cluster', options);
  }

  /** Pins the last checkpoint of each collection and of the service log in `store`, and refuses a history that was rewritten since. */
  pinnedCheckpoints(store: CheckpointStore): PinnedCheckpoints {
    const readLog = async (path: string, options: CallOptions): Promise<Uint8Array> =>
      (await this.#http.send({ method: 'GET', path: `/log/${path}`, repeat: 'safe' }, options)).bytes;
    return new PinnedCheckpoints(this.#http.url, (name) => this.collection(name), readLog, store);
  }

  #get<T>(path: string, options: CallOptions, alsoStatus?: number): Promise<T> {
    const also = alsoStatus === undefined ? {} : { alsoStatus };
    return this.#http.json({ method: 'GET', path, repeat: 'safe', ...also }, options);
  }

  #post<T>({ path, of }: Target, body: object, options: CallOptions, repeat: Call['repeat'] = 'safe'): Promise<T> {
    return this.#http.json({ method: 'POST', path, of, body, repeat }, options);
  }
}
