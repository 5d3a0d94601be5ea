/** HTTP as the package `@vouch/client` speaks it: requests that it has a call for go through that. */
import { type Collection, Vouch, VouchError } from '../../../client/index.js';
import { fromWire, toWire } from '../../../client/spelling.js';
import { type Answer, Client } from './client.js';

type Json = Record<string, unknown>;

interface Asked {
  readonly vouch: Vouch;
  readonly collection: Collection;
  /** In camelCase, without the collection. */
  readonly body: never;
  /** In camelCase, without the collection: numbers where it is one. */
  readonly query: never;
  readonly id: number;
}

type Way = (asked: Asked) => Promise<unknown>;

const WAYS: Readonly<Record<string, Way>> = {
  'POST /v1/namespaces': ({ vouch, body }) => vouch.createCollection(body),
  'GET /v1/namespaces': async ({ vouch }) => ({ collections: await vouch.collections() }),
  'POST /v1/records': ({ collection, body }) => collection.insert(body),
  'GET /v1/records': ({ collection, query }) => collection.listPage(query),
  'POST /v1/records/get': ({ collection, body }) => collection.getMany(body),
  'POST /v1/records/delete': ({ collection, body }) => collection.deleteMany(body),
  'GET /v1/records/{id}': ({ collection, id }) => collection.get(id),
  'PATCH /v1/records/{id}/metadata': ({ collection, body, id }) => collection.updateMetadata(id, body),
  'POST /v1/vectors/batch-insert': ({ collection, body }) => collection.batchInsert(body),
  'POST /v1/vectors/batch-upsert': ({ collection, body }) => collection.batchUpsert(body),
  'POST /v1/soft-delete': ({ collection, body }) => collection.softDelete((body as { id: number }).id),
  'POST /v1/delete': ({ collection, body }) => collection.delete((body as { id: number }).id),
  'POST /v1/search': ({ collection, body }) => collection.search(body),
  'POST /v1/search/batch': ({ collection, body }) => collection.searchBatch(body),
  'GET /v1/proof/state': ({ collection }) => collection.stateProof(),
  'GET /v1/proof/event-log': ({ collection }) => collection.eventLogProof(),
  'GET /v1/proof/receipt': ({ collection, query }) => collection.receipt((query as { sequence: number }).sequence),
  'GET /v1/proof/inclusion': ({ collection, query }) => {
    const { sequence, ...size } = query as { sequence: number };
    return collection.inclusion(sequence, size);
  },
  'GET /v1/proof/consistency': ({ collection, query }) => {
    const { from, to } = query as { from: number; to: number };
    return collection.consistency(from, to);
  },
  'GET /v1/proof/checkpoint': ({ collection }) => collection.checkpoint(),
  'GET /v1/proof/keys': async ({ vouch }) => ({ keys: await vouch.signingKeys() }),
  'GET /v1/usage': ({ vouch }) => vouch.usage(),
};

export class PackageClient extends Client {
  /** Requests that went through the package. */
  static passed = 0;

  static of(client: Client): PackageClient {
    return new PackageClient(client.url, client.key);
  }

  override async raw(
    method: string,
    path: string,
    body: string | Uint8Array | undefined,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const passed = Object.keys(headers).length === 0 ? this.#asked(method, path, body) : undefined;
    if (passed === undefined) return super.raw(method, path, body, headers);
    PackageClient.passed++;
    try {
      return answer(200, toWire(await passed.way(passed.asked)));
    } catch (error) {
      if (!(error instanceof VouchError) || error.status === undefined) throw error;
      const { status, code, message } = error;
      return answer(status, status === 429 ? { error: message } : { error: message, code });
    }
  }

  /** Undefined where no typed call could make this request. */
  #asked(method: string, path: string, text: unknown): { readonly way: Way; readonly asked: Asked } | undefined {
    const url = new URL(path, this.url);
    const id = /^\/v1\/records\/(\d+)/.exec(url.pathname)?.[1];
    const way = WAYS[`${method} ${id === undefined ? url.pathname : url.pathname.replace(id, '{id}')}`];
    const body: unknown = typeof text === 'string' ? JSON.parse(text) : {};
    if (
      way === undefined ||
      text instanceof Uint8Array ||
      typeof body !== 'object' ||
      body === null ||
      Array.isArray(body)
    )
      return undefined;
    const { collection: inBody, ...rest } = body as Json;
    const { collection: inQuery, ...parameters } = Object.fromEntries(url.searchParams);
    const name = inQuery ?? inBody;
    if (typeof name !== 'string' || !isFaithful(url, rest)) return undefined;
    const numbers = Object.entries(parameters).map(([key, value]) => [
      key,
      /^\d+$/.test(value) ? Number(value) : value,
    ]);
    if (numbers.some(([, value]) => typeof value !== 'number')) return undefined;
    const vouch = new Vouch({ url: this.url, apiKey: this.key, retries: 0 });
    const isOwn = method === 'PATCH';
    const asked = {
      ...{ vouch, collection: vouch.collection(name), id: Number(id) },
      body: (isOwn ? body : fromWire(rest)) as never,
      query: fromWire(Object.fromEntries(numbers)) as never,
    };
    return { way, asked };
  }
}

/** Whether the package would write the same request: not what it spells otherwise, or what its own types exclude. */
const isFaithful = (url: URL, body: Json): boolean =>
  [...url.searchParams.keys()].length === new Set(url.searchParams.keys()).size &&
  rewritten(body) === JSON.stringify(body) &&
  !('request_id' in body && typeof body.request_id !== 'string') &&
  !('values' in body && isObject(body.metadata));

/** Undefined where the package refuses to write a number. */
function rewritten(body: Json): string | undefined {
  try {
    return JSON.stringify(toWire(fromWire(body)));
  } catch {
    return undefined;
  }
}

/** The package writes metadata of an insert itself, as the bytes that the API takes. */
const isObject = (metadata: unknown): boolean =>
  typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata);

function answer(status: number, body: unknown): Answer {
  const text = JSON.stringify(body);
  return { status, headers: new Headers(), text, bytes: Buffer.from(text), body };
}
