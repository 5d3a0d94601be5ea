/**
 * HTTP through the package `@vouch/client`, for the requests it can make. Requests that it would change or refuse, such
 * as malformed ones, go around it. Both are counted, so that a suite can assert that it used the package.
 */
import { type ChangeOptions, type Collection, type RecordName, Vouch, VouchError } from '../../../client/index.js';
import { fromWire, toWire } from '../../../client/spelling.js';
import { type Answer, Client } from './client.js';

type Json = Record<string, unknown>;

interface Asked {
  readonly vouch: Vouch;
  readonly collection: Collection;
  /** Body in camelCase, without the collection. */
  readonly body: never;
  /** Query in camelCase, without the collection. */
  readonly query: never;
  readonly id: number;
  /** The name of a collection in the path. */
  readonly name: string;
}

/** Converts a query parameter for the package; undefined if the package could not send this text. */
type Reader = (text: string) => unknown;

const whole: Reader = (text) => (/^(?:0|[1-9]\d*)$/.test(text) ? Number(text) : undefined);
const words: Reader = (text) => text;
const place: Reader = (text) => whole(text) ?? (text.startsWith('A') ? text : undefined);
const list: Reader = (text) => text.split(',');
const object: Reader = (text) => {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
};

interface Way {
  /** Query parameters of the call besides `collection`. */
  readonly query?: Readonly<Record<string, Reader>>;
  /** Set if the call has no collection, or several. */
  readonly isOfProject?: true;
  readonly call: (asked: Asked) => Promise<unknown>;
}

const ofProject = (call: Way['call']): Way => ({ isOfProject: true, call });
const nameIn = (body: object): RecordName =>
  'id' in body && Object.keys(body).length === 1 ? (body.id as number) : (body as never);
/** Splits the name of a record from the condition of its change. */
const changeOf = ({ ifLogIndex, ...name }: { readonly ifLogIndex?: number }): [RecordName, ChangeOptions] => [
  nameIn(name),
  ifLogIndex === undefined ? {} : { ifLogIndex },
];

const WAYS = {
  'POST /v1/namespaces': ofProject(({ vouch, body }) => vouch.createCollection(body)),
  'GET /v1/namespaces/{name}': ofProject(({ vouch, name }) => vouch.collectionInfo(name)),
  'GET /v1/namespaces': ofProject(async ({ vouch }) => ({ collections: await vouch.collections() })),
  'GET /v1/aliases': ofProject(async ({ vouch }) => ({ aliases: await vouch.aliases() })),
  'GET /v1/usage': ofProject(({ vouch }) => vouch.usage()),
  'GET /v1/proof/keys': ofProject(async ({ vouch }) => ({ keys: await vouch.signingKeys() })),
  'POST /v1/search/multi': ofProject(({ vouch, body }) => vouch.searchMulti(body)),
  'POST /v1/records': { call: ({ collection, body }) => collection.insert(body) },
  'GET /v1/records': {
    query: { limit: whole, after: place, metadata_filter: object, with: list, order_by: words, order: words },
    call: ({ collection, query }) => collection.listPage(query),
  },
  'POST /v1/records/list': { call: ({ collection, body }) => collection.listPage(body) },
  'POST /v1/records/count': { call: async ({ collection, body }) => ({ count: await collection.count(body) }) },
  'POST /v1/facets': {
    call: ({ collection, body }) => {
      const { key, ...options } = body as { key: string };
      return collection.facets(key, options);
    },
  },
  'POST /v1/records/get': { call: ({ collection, body }) => collection.getMany(body) },
  'POST /v1/records/metadata': { call: ({ collection, body }) => collection.patchMany(body) },
  'POST /v1/records/delete': { call: ({ collection, body }) => collection.deleteMany(body) },
  'GET /v1/records/count': {
    query: { metadata_filter: object },
    call: async ({ collection, query }) => ({ count: await collection.count(query) }),
  },
  'GET /v1/facets': {
    query: { key: words, limit: whole, metadata_filter: object },
    call: ({ collection, query }) => {
      const { key, ...options } = query as { key: string };
      return collection.facets(key, options);
    },
  },
  'GET /v1/records/{id}': {
    query: { with: list },
    call: ({ collection, query, id }) => collection.get(id, query),
  },
  'GET /v1/records/by-external-id': {
    query: { external_id: words, with: list },
    call: ({ collection, query }) => {
      const { externalId, ...options } = query as { externalId: string };
      return collection.get({ externalId }, options);
    },
  },
  'PATCH /v1/records/by-external-id/metadata': {
    query: { external_id: words, if_log_index: whole },
    call: ({ collection, body, query }) => {
      const [record, options] = changeOf(query);
      return collection.updateMetadata(record, body, options);
    },
  },
  'PATCH /v1/records/{id}/metadata': {
    query: { if_log_index: whole },
    call: ({ collection, body, id, query }) => collection.updateMetadata(id, body, query),
  },
  'POST /v1/vectors/batch-insert': { call: ({ collection, body }) => collection.batchInsert(body) },
  'POST /v1/vectors/batch-upsert': { call: ({ collection, body }) => collection.batchUpsert(body) },
  'POST /v1/soft-delete': { call: ({ collection, body }) => collection.softDelete(...changeOf(body)) },
  'POST /v1/delete': { call: ({ collection, body }) => collection.delete(...changeOf(body)) },
  'POST /v1/search': { call: ({ collection, body }) => collection.search(body) },
  'POST /v1/search/text': { call: ({ collection, body }) => collection.searchText(body) },
  'POST /v1/search/batch': { call: ({ collection, body }) => collection.searchBatch(body) },
  'GET /v1/timeline': {
    query: { from: words, to: words, after: whole, limit: whole },
    call: ({ collection, query }) => collection.timelinePage(query),
  },
  'GET /v1/proof/state': { call: ({ collection }) => collection.stateProof() },
  'GET /v1/proof/event-log': { call: ({ collection }) => collection.eventLogProof() },
  'GET /v1/proof/receipt': {
    query: { sequence: whole },
    call: ({ collection, query }) => collection.receipt((query as { sequence: number }).sequence),
  },
  'GET /v1/proof/inclusion': {
    query: { sequence: whole, size: whole },
    call: ({ collection, query }) => {
      const { sequence, ...size } = query as { sequence: number };
      return collection.inclusion(sequence, size);
    },
  },
  'GET /v1/proof/consistency': {
    query: { from: whole, to: whole },
    call: ({ collection, query }) => {
      const { from, to } = query as { from: number; to: number };
      return collection.consistency(from, to);
    },
  },
  'GET /v1/proof/checkpoint': { call: ({ collection }) => collection.checkpoint() },
} satisfies Readonly<Record<string, Way>>;

/** A request that the package can make. */
export type PackageRoute = keyof typeof WAYS;

/** Number of requests per route, through the package and around it. */
export type Passed = Map<PackageRoute, { through: number; around: number }>;

export class PackageClient extends Client {
  private constructor(
    url: string,
    key: string | undefined,
    private readonly passed: Passed,
  ) {
    super(url, key);
  }

  static of(client: Client, passed: Passed): PackageClient {
    return new PackageClient(client.url, client.key, passed);
  }

  override async raw(
    method: string,
    path: string,
    body: string | Uint8Array | undefined,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const url = new URL(path, this.url);
    const route = routeOf(method, url);
    if (route === undefined) return super.raw(method, path, body, headers);
    const count = this.passed.get(route) ?? { through: 0, around: 0 };
    this.passed.set(route, count);
    const around = (): Promise<Answer> => {
      count.around++;
      return super.raw(method, path, body, headers);
    };
    try {
      const asked = Object.keys(headers).length === 0 ? this.#asked(route, method, url, body) : undefined;
      if (asked === undefined) return await around();
      const answered = toWire(await WAYS[route].call(asked));
      count.through++;
      return answer(200, answered);
    } catch (error) {
      // The package sends nothing that it refuses; the service must refuse it too.
      if (error instanceof TypeError) return around();
      if (!(error instanceof VouchError) || error.status === undefined) throw error;
      count.through++;
      const { status, code, message } = error;
      return answer(status, status === 429 ? { error: message } : { error: message, code });
    }
  }

  /** Undefined if no typed call could make this request. */
  #asked(route: PackageRoute, method: string, url: URL, text: unknown): Asked | undefined {
    const way: Way = WAYS[route];
    const body: unknown = typeof text === 'string' ? JSON.parse(text) : {};
    if (text instanceof Uint8Array || !isObject(body)) return undefined;
    const { collection: inBody, ...rest } = body as Json;
    const { collection: inQuery, ...parameters } = Object.fromEntries(url.searchParams);
    const name = inQuery ?? inBody;
    if ((way.isOfProject === true ? name !== undefined : typeof name !== 'string') || !isFaithful(url, rest))
      return undefined;
    const read = Object.entries(parameters).map(([key, value]) => [key, way.query?.[key]?.(value)]);
    if (read.some(([, value]) => value === undefined)) return undefined;
    const vouch = new Vouch({ url: this.url, apiKey: this.key, retries: 0 });
    return {
      ...{ vouch, collection: vouch.collection(String(name)), id: Number(idOf(url)), name: nameOf(url) ?? '' },
      body: (method === 'PATCH' ? body : fromWire(rest)) as never,
      query: fromWire(Object.fromEntries(read)) as never,
    };
  }
}

const idOf = ({ pathname }: URL): string | undefined => /^\/v1\/records\/(\d+)(?=\/|$)/.exec(pathname)?.[1];

const nameOf = ({ pathname }: URL): string | undefined => /^\/v1\/namespaces\/([\w-]+)$/.exec(pathname)?.[1];

function routeOf(method: string, url: URL): PackageRoute | undefined {
  const [id, name] = [idOf(url), nameOf(url)];
  if (name !== undefined) return method === 'GET' ? 'GET /v1/namespaces/{name}' : undefined;
  const route = `${method} ${id === undefined ? url.pathname : url.pathname.replace(id, '{id}')}`;
  return route in WAYS ? (route as PackageRoute) : undefined;
}

/**
 * Whether the package would write the same request: false if it spells something differently, or its types exclude it.
 * It writes the metadata of an insert itself, as the bytes that the API takes.
 */
const isFaithful = (url: URL, body: Json): boolean =>
  isWellEncoded(url.search) &&
  [...url.searchParams.keys()].length === new Set(url.searchParams.keys()).size &&
  rewritten(body) === JSON.stringify(body) &&
  !('request_id' in body && typeof body.request_id !== 'string') &&
  !('values' in body && isObject(body.metadata));

function isWellEncoded(query: string): boolean {
  try {
    decodeURIComponent(query);
    return true;
  } catch {
    return false;
  }
}

/** Undefined if the package refuses to write a number. */
function rewritten(body: Json): string | undefined {
  try {
    return JSON.stringify(toWire(fromWire(body)));
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function answer(status: number, body: unknown): Answer {
  const text = JSON.stringify(body);
  return { status, headers: new Headers(), text, bytes: Buffer.from(text), body };
}
