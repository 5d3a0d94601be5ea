// Covers: client/vouch.ts, client/accessLog.ts, client/collection.ts, client/graph.ts, client/exports.ts
// Covers: client/exportLog.ts, client/insertMany.ts, client/recordName.ts
/**
 * The methods of the client package against the operations of the OpenAPI document: each operation has a method that
 * requests it.
 */
import { expect } from 'chai';
import { AccessLog, Collection, Graph, Vouch } from '../../../client/index.js';
import { openApi } from '../../../coordinator/contract/openapi.js';
import { API_ROUTES } from '../../../coordinator/handlers/routes.js';

/** Operations without a method: the document itself. `/metrics` is for Prometheus and is in no OpenAPI document. */
const LEFT_OUT = ['GET /openapi.json'];

/** Methods that make no request; their results do. */
const WITHOUT_REQUEST = ['Vouch.accessLog', 'Vouch.collection', 'Vouch.pinnedCheckpoints'];

const VECTORS = { query: [1], k: 1 };
const INDEX = { type: 'hnsw' } as const;
/** Filter of a read: a read with a filter requests another operation than one without. */
const MATCHING = { metadataFilter: { a: 1 } };
const EXTERNAL = { externalId: 'a' };
const KEY_ID = 'ab'.repeat(16);

/** A minimal call of each method. */
const CALLS: Readonly<Record<string, (vouch: Vouch, collection: Collection, graph: Graph) => unknown>> = {
  'Vouch.collections': (vouch) => vouch.collections(),
  'Vouch.collectionInfo': (vouch) => vouch.collectionInfo('c'),
  'Vouch.createCollection': (vouch) => vouch.createCollection({ name: 'c', dimension: 1, metric: 'squared_l2' }),
  'Vouch.dropCollection': (vouch) => vouch.dropCollection('c'),
  'Vouch.aliases': (vouch) => vouch.aliases(),
  'Vouch.changeCollection': (vouch) => vouch.changeCollection('c', { auditReads: true }),
  'AccessLog.entries': (vouch) => vouch.accessLog('c').entries().next(),
  'AccessLog.checkpoint': (vouch) => vouch.accessLog('c').checkpoint(),
  'AccessLog.page': (vouch) => vouch.accessLog('c').page(),
  'AccessLog.copy': (vouch) => vouch.accessLog('c').copy().next(),
  'Vouch.putAlias': (vouch) => vouch.putAlias('a', 'c'),
  'Vouch.dropAlias': (vouch) => vouch.dropAlias('a'),
  'Vouch.searchMulti': (vouch) => vouch.searchMulti({ ...VECTORS, collections: ['c'] }),
  'Vouch.rebuildIndexes': (vouch) => vouch.rebuildIndexes(),
  'Vouch.indexConfig': (vouch) => vouch.indexConfig(),
  'Vouch.shred': (vouch) => vouch.shred(KEY_ID),
  'Vouch.erase': (vouch) => vouch.erase({ keyIds: [KEY_ID] }),
  'Vouch.keyStatus': (vouch) => vouch.keyStatus(KEY_ID),
  'Vouch.keys': (vouch) => vouch.keys(),
  'Vouch.ownKey': (vouch) => vouch.ownKey(),
  'Vouch.createKey': (vouch) => vouch.createKey({ scope: 'read_only' }),
  'Vouch.revokeKey': (vouch) => vouch.revokeKey('0123456789abcdef'),
  'Vouch.signingKeys': (vouch) => vouch.signingKeys(),
  'Vouch.beginImport': (vouch) => vouch.beginImport({} as never),
  'Vouch.importLog': (vouch) => vouch.importLog('c', new Uint8Array(1)),
  'Vouch.finishImport': (vouch) => vouch.finishImport('c'),
  'Vouch.version': (vouch) => vouch.version(),
  'Vouch.usage': (vouch) => vouch.usage(),
  'Vouch.health': (vouch) => vouch.health(),
  'Vouch.cluster': (vouch) => vouch.cluster(),
  'Collection.insert': (_, collection) => collection.insert({ values: [1] }),
  'Collection.batchInsert': (_, collection) => collection.batchInsert({ batch: [[1]] }),
  'Collection.batchUpsert': (_, collection) => collection.batchUpsert({ batch: [[1]], externalIds: ['a'] }),
  'Collection.insertMany': (_, collection) => collection.insertMany([[1]]),
  'Collection.get': (_, collection) => Promise.all([1, EXTERNAL].map((record) => collection.get(record))),
  'Collection.getMany': (_, collection) => collection.getMany({ ids: [1] }),
  'Collection.list': (_, collection) => collection.list().next(),
  'Collection.listPage': (_, collection) => Promise.all([{}, MATCHING].map((options) => collection.listPage(options))),
  'Collection.count': (_, collection) => Promise.all([{}, MATCHING].map((options) => collection.count(options))),
  'Collection.facets': (_, collection) => Promise.all([{}, MATCHING].map((options) => collection.facets('a', options))),
  'Collection.updateMetadata': (_, collection) =>
    Promise.all([1, EXTERNAL].map((record) => collection.updateMetadata(record, {}))),
  'Collection.patchMetadata': (_, collection) => collection.patchMetadata(1, {}),
  'Collection.patchMany': (_, collection) => collection.patchMany({ ids: [1], merge: {} }),
  'Collection.softDelete': (_, collection) => collection.softDelete(1),
  'Collection.delete': (_, collection) => collection.delete(1),
  'Collection.deleteMany': (_, collection) => collection.deleteMany({ ids: [1] }),
  'Collection.search': (_, collection) => collection.search(VECTORS),
  'Collection.searchText': (_, collection) => collection.searchText({ queryText: 'a', k: 1 }),
  'Collection.searchBatch': (_, collection) => collection.searchBatch({ searches: [VECTORS] }),
  'Collection.insertEncrypted': (_, collection) => collection.insertEncrypted({ payload: 'AAAA' }),
  'Collection.getEncrypted': (_, collection) => collection.getEncrypted(1),
  'Collection.configureIndex': (_, collection) => collection.configureIndex(INDEX),
  'Collection.index': (_, collection) => collection.index(),
  'Collection.waitForIndex': (_, collection) => collection.waitForIndex(),
  'Collection.timeline': (_, collection) => collection.timeline().next(),
  'Collection.timelinePage': (_, collection) => collection.timelinePage(),
  'Collection.exportInfo': (_, collection) => collection.exportInfo(),
  'Collection.exportLog': (_, collection) => collection.exportLog().next(),
  'Collection.stateProof': (_, collection) => collection.stateProof(),
  'Collection.eventLogProof': (_, collection) => collection.eventLogProof(),
  'Collection.receipt': (_, collection) => collection.receipt(1),
  'Collection.inclusion': (_, collection) => collection.inclusion(1),
  'Collection.consistency': (_, collection) => collection.consistency(1, 1),
  'Collection.checkpoint': (_, collection) => collection.checkpoint(),
  'Graph.createNode': (_, __, graph) => graph.createNode({ kind: 1 }),
  'Graph.createEdge': (_, __, graph) => graph.createEdge({ from: 1, to: 1, kind: 0 }),
  'Graph.node': (_, __, graph) => graph.node(1),
  'Graph.deleteNode': (_, __, graph) => graph.deleteNode(1),
  'Graph.deleteEdge': (_, __, graph) => graph.deleteEdge(1),
  'Graph.nodes': (_, __, graph) => graph.nodes(),
  'Graph.edges': (_, __, graph) => graph.edges(1),
  'Graph.subgraph': (_, __, graph) => graph.subgraph({ root: 1 }),
  'Graph.query': (_, __, graph) => graph.query({ start: 1 }),
};

/** Answer that ends every page and every wait. */
const ANSWER = {
  ids: [1],
  entries: [],
  records: [],
  next: null,
  events: [],
  collections: [],
  keys: [],
  count: 0,
  status: 'active',
};

const methodsOf = (...classes: readonly { readonly name: string; readonly prototype: object }[]): string[] =>
  classes.flatMap(({ name, prototype }) =>
    Object.getOwnPropertyNames(prototype)
      .filter((method) => method !== 'constructor')
      .map((method) => `${name}.${method}`),
  );

describe('the methods of the client', () => {
  const { paths } = openApi(API_ROUTES, '0') as { paths: Record<string, Record<string, object>> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      name: `${method.toUpperCase()} ${path}`,
      // Paths with fewer parameters are matched first, as a parameter would match their fixed words too.
      parameters: path.split('{').length,
      pattern: new RegExp(`^${method.toUpperCase()} ${path.replaceAll(/{\w+}/g, '[^/]+').replaceAll('.', '\\.')}$`),
    })),
  );
  operations.sort((one, other) => one.parameters - other.parameters);

  it('are all called in this test', () => {
    expect([...Object.keys(CALLS), ...WITHOUT_REQUEST].sort()).to.deep.equal(
      methodsOf(Vouch, AccessLog, Collection, Graph).sort(),
    );
  });

  it('request every operation of the API except those in LEFT_OUT', async () => {
    const asked = new Set<string>();
    const fetch = (async (url: string, { method }: RequestInit) => {
      const { pathname } = new URL(url);
      const found = operations.find(({ pattern }) => pattern.test(`${method} ${pathname}`));
      expect(found, `${method} ${pathname}`).to.not.equal(undefined);
      asked.add(found!.name);
      const isExport = method === 'GET' && pathname.endsWith('/log');
      return new Response(isExport ? new Uint8Array(0) : JSON.stringify(ANSWER));
    }) as typeof globalThis.fetch;
    const vouch = new Vouch({ url: 'http://127.0.0.1:1', fetch, retries: 0 });
    const collection = vouch.collection('c');
    for (const call of Object.values(CALLS)) await call(vouch, collection, collection.graph);
    expect(operations.map(({ name }) => name).filter((name) => !asked.has(name))).to.deep.equal(LEFT_OUT);
  });
});
