// Covers: client/exact.ts, client/http.ts, client/documents.ts, client/langchain.ts, client/llamaindex.ts, client/proofs.ts
/** Fields and options that a call would skip or replace: it fails with a TypeError, and nothing is sent. */
import { Document } from '@langchain/core/documents';
import { FakeEmbeddings } from '@langchain/core/utils/testing';
import { BaseEmbedding } from '@llamaindex/core/embeddings';
import { expect } from 'chai';
import {
  memoryStore,
  Vouch,
  verifyCheckpoint,
  verifyConsistency,
  verifyExport,
  verifyInclusion,
  verifyReceipt,
} from '../../../client/index.js';
import { VouchVectorStore as LangStore } from '../../../client/langchain.js';
import { VouchVectorStore as LlamaStore } from '../../../client/llamaindex.js';
import { rejection } from '../../support/expectations.js';

const sent: string[] = [];
const vouch = new Vouch({
  url: 'http://127.0.0.1:1',
  fetch: (url) => {
    sent.push(String(url));
    return Promise.resolve(Response.json({ results: [] }));
  },
});
const docs = vouch.collection('docs');
/** Passes a value of a type that the declarations reject. */
const odd = (value: unknown) => value as never;

type Refused = readonly [name: string, call: () => unknown, message: RegExp];

/** Fields that the call has already: another value would be sent in place of the caller's, or the caller's in place of its own. */
const DECIDED: readonly Refused[] = [
  [
    'search',
    () => docs.search(odd({ query: [1], k: 1, collection: 'other' })),
    /^collection is not a field here: the call/,
  ],
  ['insert', () => docs.insert(odd({ values: [1], collection: 'other' })), /^collection/],
  [
    'batchUpsert',
    () => docs.batchUpsert(odd({ batch: [[1]], externalIds: ['a'], collection: 'other' })),
    /^collection/,
  ],
  ['deleteMany', () => docs.deleteMany(odd({ ids: [1], collection: 'other' })), /^collection/],
  ['patchMany', () => docs.patchMany(odd({ ids: [1], merge: {}, collection: 'other' })), /^collection/],
  ['count', () => docs.count(odd({ collection: 'other' })), /^collection/],
  ['list', () => docs.list(odd({ collection: 'other' })).next(), /^collection/],
  ['the access log', () => vouch.accessLog('docs').page(odd({ collection: 'other' })), /^collection/],
  ['timeline', () => docs.timeline(odd({ collection: 'other' })).next(), /^collection/],
  ['updateMetadata', () => docs.updateMetadata(1, {}, odd({ collection: 'other' })), /^collection/],
  ['updateMetadata', () => docs.updateMetadata(1, {}, odd({ externalId: 'b' })), /^externalId is not a field/],
  ['patchMetadata', () => docs.patchMetadata({ externalId: 'a' }, {}, odd({ externalId: 'b' })), /^externalId/],
  ['get', () => docs.get({ externalId: 'a' }, odd({ external_id: 'b' })), /^external_id/],
  ['delete', () => docs.delete(1, odd({ id: 2 })), /^id is not a field here/],
  ['softDelete', () => docs.softDelete({ externalId: 'a' }, odd({ externalId: 'b' })), /^externalId/],
  ['facets', () => docs.facets('a', odd({ key: 'b' })), /^key/],
  ['inclusion', () => docs.inclusion(1, odd({ sequence: 2 })), /^sequence/],
  ['createNode', () => docs.graph.createNode(odd({ kind: 1, collection: 'other' })), /^collection/],
  ['nodes', () => docs.graph.nodes(odd({ collection: 'other' })), /^collection/],
];

const titled = ([name, ...rest]: Refused): Refused => [`a field that ${name} decides`, ...rest];

const OPTIONS: readonly Refused[] = [
  [
    'a signal in place of options',
    () => docs.search({ query: [1], k: 1 }, odd(AbortSignal.abort())),
    /^options is a Abort/,
  ],
  [
    'a function in place of options',
    () =>
      docs.search(
        { query: [1], k: 1 },
        odd(() => 1),
      ),
    /^options is a function/,
  ],
  ['a number in place of options', () => vouch.usage(odd(5)), /^options is 5/],
  ['a list in place of options', () => docs.batchInsert({ batch: [[1]] }, odd([])), /^the request is an array/],
  [
    'a person who is undefined',
    () => docs.insert({ values: [1] }, { onBehalfOf: undefined }),
    /^onBehalfOf: .* got undefined/,
  ],
  [
    'a client for a person who is undefined',
    () => new Vouch({ url: 'http://a', onBehalfOf: undefined }),
    /^onBehalfOf/,
  ],
  ['an empty idempotency key', () => docs.batchInsert({ batch: [[1]] }, { idempotencyKey: '' }), /^idempotencyKey/],
  [
    'an idempotency key that is undefined',
    () => docs.batchInsert({ batch: [[1]] }, { idempotencyKey: undefined }),
    /^options.idempotencyKey is undefined/,
  ],
  ['an export from undefined', () => docs.exportLog(odd({ from: undefined })).next(), /^from is undefined/],
  ['an export from a Map', () => docs.exportLog(odd(new Map([['from', 5]]))).next(), /^the options is a Map/],
  ['a deadline of a wait', () => docs.waitForIndex(odd({ timeoutMs: 5 })), /^options.timeoutMs is not a field/],
  ['options of insertMany in a Map', () => docs.insertMany([], odd(new Map([['batchSize', 5]]))), /a Map/],
  ['facets of no key', () => docs.facets(odd(null)), /^key: expected a name, got null/],
];

const RECEIPT = odd({ proof: '' });
const CLAIMS: readonly Refused[] = [
  [
    'a record that is undefined',
    () => verifyReceipt(RECEIPT, odd({ record: undefined })),
    /^claims.record is undefined/,
  ],
  ['a record that is not named', () => verifyReceipt(RECEIPT, odd({ values: [1] })), /^claims.values is not a field/],
  [
    'a misspelt field of a record',
    () => verifyReceipt(RECEIPT, { record: odd({ values: [1], meta: {} }) }),
    /^record.meta is not a field here: did you mean metadata\?$/,
  ],
  [
    'metadata of a record that JSON changes',
    () => verifyReceipt(RECEIPT, { record: { values: [1], metadata: { a: Number.NaN } } }),
    /^record.metadata.a is NaN/,
  ],
  ['a receipt that is undefined', () => verifyInclusion(odd({}), odd({ receipt: undefined })), /^claims.receipt is/],
  ['a misspelt checkpoint', () => verifyInclusion(odd({}), odd({ checkPoint: {} })), /did you mean checkpoint\?$/],
  [
    'an earlier checkpoint under another name',
    () => verifyConsistency(odd({}), odd({ form: {} })),
    /did you mean from\?$/,
  ],
  ['a misspelt key', () => verifyCheckpoint(odd({}), odd({ publickey: 'a' })), /did you mean publicKey\?$/],
  [
    'a misspelt list of receipts',
    () => verifyExport(new Uint8Array(0), odd({ receipt: [] })),
    /did you mean receipts\?$/,
  ],
  ['receipts that are undefined', () => verifyExport(new Uint8Array(0), odd({ receipts: undefined })), /is undefined/],
  [
    'a misspelt key of a pinned checkpoint',
    () => vouch.pinnedCheckpoints(memoryStore()).check('docs', odd({ publickey: 'a' })),
    /did you mean publicKey\?$/,
  ],
];

class Embedded extends BaseEmbedding {
  // biome-ignore lint/complexity/noUselessConstructor: that of the base is protected
  constructor() {
    super();
  }

  override getTextEmbedding = (): Promise<number[]> => Promise.resolve([1]);
}

const embeddings = new FakeEmbeddings();
const lang = new LangStore(embeddings, { vouch, collection: 'docs' });
const llama = new LlamaStore({ vouch, collection: 'docs', embedModel: new Embedded() });
const query = { queryEmbedding: [1], similarityTopK: 1, mode: 'default' as const };
const one = [new Document({ pageContent: 'a' })];
const conditions = (filters: unknown) => () => llama.query(odd({ ...query, filters }));

const ADAPTERS: readonly Refused[] = [
  [
    'a misspelt configuration',
    () => new LangStore(embeddings, odd({ vouch, collection: 'a', cosine: 1 })),
    /^config.cosine/,
  ],
  [
    'another spelling of normalise',
    () => new LlamaStore(odd({ vouch, collection: 'a', normalize: true, embedModel: new Embedded() })),
    /^config.normalize is not a field here: did you mean normalise\?$/,
  ],
  [
    'fewer metadata than texts',
    () => LangStore.fromTexts(['a', 'b'], [{}], embeddings, { vouch, collection: 'a' }),
    /^1 met/,
  ],
  ['a misspelt list of ids', () => lang.addDocuments(one, odd({ id: ['a'] })), /did you mean ids\?$/],
  ['ids that are undefined', () => lang.addDocuments(one, odd({ ids: undefined })), /^options.ids is undefined/],
  ['an id that is undefined', () => lang.addDocuments(one, { ids: [odd(undefined)] }), /^options.ids\[0\]/],
  ['an id that is a number', () => lang.addDocuments(one, { ids: [odd(5)] }), /^options.ids\[0\]/],
  [
    'a misspelt filter of diverse documents',
    () => lang.maxMarginalRelevanceSearch('a', odd({ k: 1, filters: { a: 1 } })),
    /did you mean filter\?$/,
  ],
  ['a lambda of NaN', () => lang.maxMarginalRelevanceSearch('a', { k: 1, lambda: Number.NaN }), /^lambda/],
  ['a misspelt filter of nodes', () => llama.query(odd({ ...query, filter: {} })), /did you mean filters\?$/],
  ['filters in a list', conditions([{ key: 'a', value: 1, operator: '==' }]), /^filters takes an object/],
  ['filters without conditions', conditions({}), /^filters.filters: expected a list/],
  ['a condition without a key', conditions({ filters: [{ value: 1, operator: '==' }] }), /^filters.filters\[0\].key/],
  ['nested filters', conditions({ filters: [{ filters: [] }] }), /^filters.filters\[0\].filters is not a field/],
  ['all of a text', conditions({ filters: [{ key: 'a', value: 'b', operator: 'all' }] }), /value: expected a list$/],
  ['the nodes of no document', () => llama.delete(odd(null)), /^refDocId/],
  ['the nodes of all documents except one', () => llama.delete(odd({ ne: 'a' })), /^refDocId/],
];

describe('a call of the client', () => {
  for (const [name, call, message] of [...DECIDED.map(titled), ...OPTIONS, ...CLAIMS, ...ADAPTERS])
    it(`fails with a TypeError before anything is sent: ${name}`, async () => {
      sent.length = 0;
      const refusal = await rejection((async () => call())());
      expect(refusal).to.be.instanceOf(TypeError);
      expect(refusal.message).to.match(message);
      expect(sent).to.deep.equal([]);
    });

  it('fails for a part of a query of LlamaIndex.TS that has no counterpart', async () => {
    sent.length = 0;
    for (const part of [
      { mmrThreshold: 0.5 },
      { customParams: {} },
      { alpha: 0.5 },
      { filters: { filters: [], condition: 'not' } },
    ])
      expect((await rejection(llama.query(odd({ ...query, ...part })))).message).to.include(
        'has no counterpart in Vouch',
      );
    expect(sent).to.deep.equal([]);
  });
});
