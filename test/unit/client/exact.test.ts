// Covers: client/exact.ts, client/documents.ts
/** Calls with values that JSON would drop or change: they fail, and the client sends nothing. */
import { expect } from 'chai';
import { deleteDocuments } from '../../../client/documents.js';
import { Vouch } from '../../../client/index.js';

const sent: (string | undefined)[] = [];
const vouch = new Vouch({
  url: 'http://127.0.0.1:1',
  fetch: (_, init) => {
    sent.push(init?.body as string | undefined);
    return Promise.resolve(new Response('{}', { headers: { 'content-type': 'application/json' } }));
  },
});
const docs = vouch.collection('docs');
/** Passes a value of a type that the declarations reject. */
const odd = (value: unknown) => value as never;

class Getter {
  get a(): number {
    return 1;
  }
}

class Private {
  #a = 1;

  add(): void {
    this.#a += 1;
  }
}

/** A request whose filter is not a member of its own. */
const inheriting = odd(Object.create({ metadataFilter: { a: 1 } }));

const VALUES: readonly (readonly [name: string, value: unknown, message: RegExp])[] = [
  ['undefined', undefined, /is undefined, which cannot be sent; leave the field out, or give null/],
  ['NaN', Number.NaN, /is NaN, which cannot be sent/],
  ['Infinity', Number.POSITIVE_INFINITY, /is Infinity, which cannot be sent/],
  ['a function', () => true, /is a function, which cannot be sent/],
  ['a symbol', Symbol('a'), /is a symbol, which cannot be sent/],
  ['a bigint', 1n, /is the bigint 1, which cannot be sent/],
  ['a Map', new Map([['a', 1]]), /a Map/],
  ['a Set', new Set([1]), /a Set/],
  ['a regular expression', /a/, /a RegExp/],
  ['a promise', Promise.resolve(1), /a Promise/],
  ['URLSearchParams', new URLSearchParams({ a: '1' }), /a URLSearchParams: expected a plain object/],
  ['an object with a getter of its class', new Getter(), /a Getter: expected a plain object/],
  ['an object with a private field', new Private(), /a Private: expected a plain object/],
  ['an object with an inherited member', Object.create({ a: 1 }), /expected a plain object/],
  ['an iterator', new Map([['a', 1]]).entries(), /expected a plain object/],
];

/** Calls that take JSON with keys of the caller, each with the name of the field. */
const OPEN: readonly (readonly [name: string, call: (json: never) => Promise<unknown>])[] = [
  ['metadataFilter', (metadataFilter) => docs.search({ query: [1], k: 1, metadataFilter })],
  ['metadataFilter', (metadataFilter) => docs.search({ query: Float32Array.of(1), k: 1, metadataFilter })],
  [
    'searches\\[0\\].metadataFilter',
    (metadataFilter) => docs.searchBatch({ searches: [{ like: 1, k: 1, metadataFilter }] }),
  ],
  ['metadataFilter', (metadataFilter) => vouch.searchMulti({ query: [1], k: 1, collections: ['a'], metadataFilter })],
  ['metadataFilter', (metadataFilter) => docs.count({ metadataFilter })],
  ['metadataFilter', (metadataFilter) => docs.listPage({ metadataFilter })],
  ['metadataFilter', (metadataFilter) => docs.list({ metadataFilter }).next()],
  ['metadataFilter', (metadataFilter) => docs.facets('a', { metadataFilter })],
  ['metadataFilter', (metadataFilter) => docs.deleteMany({ metadataFilter })],
  ['metadata', (metadata) => docs.insert({ values: [1], metadata })],
  ['metadata', (metadata) => docs.updateMetadata(1, metadata)],
  ['metadata\\[0\\]', (metadata) => docs.batchInsert({ batch: [[1]], metadata: [metadata] })],
  ['metadata\\[0\\]', (metadata) => docs.batchUpsert({ batch: [[1]], externalIds: ['a'], metadata: [metadata] })],
  ['record 0.metadata', (metadata) => docs.insertMany([{ values: [1], metadata }])],
];

/** Calls with an argument that cannot be sent unchanged, each with its error message. */
const REFUSED: readonly (readonly [name: string, call: () => Promise<unknown>, message: RegExp])[] = [
  ['a count of an inherited filter', () => docs.count(inheriting), /^the request is a Object: expected a plain object/],
  ['a count of a Map', () => docs.count(odd(new Map())), /^the request is a Map: expected a plain object/],
  ['a count of a function', () => docs.count(odd(() => 1)), /^the request is a function: expected a plain object/],
  ['a list of an inherited filter', () => docs.list(inheriting).next(), /^the request is a Object/],
  ['facets of an inherited filter', () => docs.facets('a', inheriting), /^the request is a Object/],
  [
    'a search that inherits its filter',
    () => docs.search(Object.assign(inheriting as object, { query: [1], k: 1 })),
    /^the request is a Object/,
  ],
  ['nodes of a Map', () => docs.graph.nodes(odd(new Map([['kind', 1]]))), /^the request is a Map/],
  ['a record that inherits its id', () => docs.insertMany([inheriting]), /^record 0 is a Object/],
  ['facets of half a surrogate pair', () => docs.facets('\ud800'), /^a parameter with half of a surrogate pair/],
  [
    'a search as of NaN events',
    () => docs.search({ query: [1], k: 1, asOfLogIndex: Number.NaN }),
    /^asOfLogIndex is NaN/,
  ],
  ['a search as of undefined', () => docs.search({ query: [1], k: 1, asOf: odd(undefined) }), /^asOf is undefined/],
  [
    'a score threshold of NaN',
    () => docs.search({ query: [1], k: 1, scoreThreshold: Number.NaN }),
    /^scoreThreshold is NaN/,
  ],
  [
    'a graph weight of NaN',
    () => docs.search({ query: [1], k: 1, graphRerank: { weight: Number.NaN } }),
    /^graphRerank.weight/,
  ],
  [
    'a component that is undefined',
    () => docs.search({ query: odd([1, undefined]), k: 1 }),
    /^query\[1\] is undefined/,
  ],
  [
    'a component of a record that is undefined',
    () => docs.insert({ values: Array.of(1, 2, 3).toSpliced(1, 1, odd(undefined)) }),
    /^values\[1\] is undefined/,
  ],
  ['a batch with a vector that is undefined', () => docs.batchInsert({ batch: odd([[1], undefined]) }), /^batch\[1\]/],
  [
    'a text that is undefined in a batch',
    () => docs.batchInsert({ batch: [[1]], texts: odd([undefined]) }),
    /^texts\[0\]/,
  ],
  [
    'a key that expires in NaN seconds',
    () => vouch.createKey({ scope: 'read_only', expiresInSecs: Number.NaN }),
    /^expiresInSecs/,
  ],
  ['a page of undefined records', () => docs.listPage({ limit: odd(undefined) }), /^limit is undefined/],
  ['a timeline from an invalid date', () => docs.timelinePage({ from: new Date(Number.NaN) }), /invalid date/],
  ['a timeline to undefined', () => docs.timelinePage({ to: odd(undefined) }), /^to is undefined/],
  [
    'a misspelt filter of a search',
    () => docs.search(odd({ query: [1], k: 1, filter: {} })),
    /^filter is not a field here: did you mean metadataFilter\?$/,
  ],
  [
    'a filter of a count in other words',
    () => docs.count(odd({ metadata: {} })),
    /^metadata is not a field here: did you mean metadataFilter\?$/,
  ],
  [
    'a misspelt option of a call',
    () => docs.getMany({ ids: [1] }, odd({ timeout: 5 })),
    /^options.timeout is not a field here: did you mean timeoutMs\?$/,
  ],
  [
    'a misspelt field of a record',
    () => docs.insertMany([odd({ values: [1], meta: {} })]),
    /^record 0.meta is not a field here: did you mean metadata\?$/,
  ],
  ['a misspelt option of a batch', () => docs.insertMany([], odd({ batchsize: 5 })), /did you mean batchSize\?$/],
  [
    'a field like no other',
    () => docs.search(odd({ query: [1], k: 1, colour: 1 })),
    /: expected only query, like, likeExternalId, k, /,
  ],
  ['a search without a request', () => docs.search(odd(undefined)), /^search takes .* \{ query, k \}; got undefined$/],
  ['a search for a vector alone', () => docs.search(odd([1, 2])), /^search takes .*; got an array of 2$/],
  [
    'several searches in a list',
    () => docs.searchBatch(odd([])),
    /^searchBatch takes .*searches.*; got an array of 0$/,
  ],
  ['no searches', () => docs.searchBatch(odd({})), /^searches: expected a list of searches$/],
  ['a search in several without a request', () => vouch.searchMulti(odd(null)), /^searchMulti takes .*; got null$/],
  ['the insert of nothing', () => docs.insert(odd(undefined)), /^insert takes .*; got undefined$/],
  ['the insert of a vector', () => docs.insert(odd(Float32Array.of(1))), /^insert takes .*; got a Float32Array$/],
  ['a batch in a list', () => docs.batchInsert(odd([[1]])), /^batchInsert takes .* batch.*; got an array of 1$/],
  ['an upsert of nothing', () => docs.batchUpsert(odd(undefined)), /^batchUpsert takes .*; got undefined$/],
  ['the deletion of everything', () => docs.deleteMany(odd(undefined)), /^deleteMany takes .*; got undefined$/],
  ['a record without an id', () => docs.get(odd(undefined)), /^id: expected a whole number, got undefined/],
  [
    'a change since event undefined',
    () => docs.updateMetadata(1, {}, { ifLogIndex: odd(undefined) }),
    /^ifLogIndex is undefined/,
  ],
  [
    'a merge since event NaN',
    () => docs.patchMany({ ids: [1], merge: {}, ifLogIndex: Number.NaN }),
    /ifLogIndex is NaN/,
  ],
  [
    'a deletion since event undefined',
    () => docs.delete(1, { ifLogIndex: odd(undefined) }),
    /^ifLogIndex is undefined/,
  ],
  ['the deletion of record NaN', () => docs.delete(Number.NaN), /^id is NaN/],
  [
    'the deletion of no collection',
    () => vouch.dropCollection(odd(undefined)),
    /^name: expected a name, got undefined/,
  ],
  ['the shredding of no key', () => vouch.shred(''), /^name: expected a name, got ''/],
  [
    'a deadline of 0',
    () => vouch.version({ timeoutMs: 0 }),
    /^timeoutMs: expected milliseconds above 0, or Infinity, got 0/,
  ],
  ['a deadline that is null', () => vouch.version({ timeoutMs: odd(null) }), /^timeoutMs: .* got null/],
  [
    'a list that refers to itself',
    () => docs.updateMetadata(1, { list: cyclic() }),
    /nested too deeply, or refers to itself/,
  ],
  ['a key that is a symbol', () => docs.updateMetadata(1, odd({ [Symbol('a')]: 1 })), /a symbol as a key/],
];

function cyclic(): unknown[] {
  const list: unknown[] = [];
  list.push(list);
  return list;
}

/** Message of the TypeError; asserts that nothing was sent. */
async function refusalOf(call: () => Promise<unknown>): Promise<string> {
  sent.length = 0;
  try {
    await call();
  } catch (error) {
    expect(error).to.be.instanceOf(TypeError);
    expect(sent, 'requests sent').to.deep.equal([]);
    return (error as Error).message;
  }
  throw new Error(`sent ${sent.join()}`);
}

describe('a call of the client', () => {
  for (const [name, value, message] of VALUES)
    it(`fails with a TypeError before it is sent if JSON of the caller is or contains ${name}`, async () => {
      for (const [field, call] of OPEN) {
        expect(await refusalOf(() => call(odd(value)))).to.match(message);
        for (const [holder, path] of [
          [{ a: value }, `^${field}\\.a `],
          [{ $or: [{ b: 1 }, { a: value }] }, `^${field}\\.\\$or\\[1\\]\\.a `],
          [{ a: [1, value] }, `^${field}\\.a\\[1\\] `],
        ] as const)
          expect(await refusalOf(() => call(odd(holder))))
            .to.match(message)
            .and.match(new RegExp(path));
      }
    });

  for (const [name, call, message] of REFUSED)
    it(`fails with a TypeError before it is sent: ${name}`, async () => {
      expect(await refusalOf(call)).to.match(message);
    });

  it('needs a client, which is refused at once without the address of a service', () => {
    for (const [options, message] of [
      [undefined, "new Vouch takes an object such as { url: 'http://127.0.0.1:8080', apiKey }; got undefined"],
      ['http://127.0.0.1:8080', 'new Vouch takes an object such as'],
      [{}, 'url: expected the address of the service, such as http://127.0.0.1:8080, got undefined'],
      [{ url: 'localhost:8080' }, 'url: expected the address of the service, .* got "localhost:8080"'],
      [{ url: 'http://' }, 'url: expected'],
      [{ url: 'http://127.0.0.1:1', apikey: 'k' }, 'apikey is not a field here: did you mean apiKey?'],
      [{ url: 'http://user:secret@127.0.0.1:1' }, 'url: expected an address without a user, a query or a fragment'],
      [{ url: 'http://127.0.0.1:1/?a=1' }, 'url: expected an address without'],
      [{ url: 'http://127.0.0.1:1/base#a' }, 'url: expected an address without'],
      [{ url: 'http://127.0.0.1:1', apiKey: 'vk_1 vk_2' }, 'apiKey: expected visible ASCII characters without spaces'],
      [{ url: 'http://127.0.0.1:1', apiKey: 'vk_\n1' }, 'apiKey: expected visible ASCII'],
      [{ url: 'http://127.0.0.1:1', apiKey: 'vk_é' }, 'apiKey: expected visible ASCII'],
      [{ url: 'http://127.0.0.1:1', apiKey: 7 }, 'apiKey: expected a string, got a number'],
    ] as const)
      expect(() => new Vouch(odd(options)), JSON.stringify(options))
        .to.throw(TypeError)
        .with.property('message')
        .that.matches(new RegExp(message.replaceAll(/[{}?]/g, '\\$&')));
    const url = 'http://127.0.0.1:1';
    expect(() => new Vouch(odd({ url: new URL(url) }))).not.to.throw();
  });

  it('fails at once for a collection without a name and for unknown options', () => {
    expect(() => vouch.collection(odd(undefined))).to.throw(TypeError, 'collection: expected a name, got undefined');
    expect(() => vouch.collection(odd({}))).to.throw(TypeError, 'got a Object');
    expect(() => new Vouch(odd({ url: 'http://127.0.0.1:1', key: 'k' }))).to.throw(TypeError, 'key is not a field');
    expect(() => new Vouch({ url: 'http://127.0.0.1:1', timeoutMs: Number.NaN })).to.throw(TypeError, 'timeoutMs');
    expect(() => new Vouch({ url: 'http://127.0.0.1:1', retries: odd('many') })).to.throw(TypeError, 'retries');
  });

  it('fails if a field is given in both spellings', async () => {
    const request = odd({ query: [1], k: 1, metadata_filter: { lang: 'de' }, metadataFilter: { lang: 'en' } });
    expect(await refusalOf(() => docs.search(request))).to.match(/metadataFilter: the field is given twice/);
  });

  it('fails if it deletes documents by anything except either ids or a filter', async () => {
    const remove = (of: unknown) => deleteDocuments(docs, odd(of));
    for (const [of, message] of [
      [undefined, /give exactly one of ids and filter/],
      [{}, /give exactly one of ids and filter/],
      [{ id: ['d1'] }, /delete\.id is not a field|delete\.id/],
      [{ deleteAll: true }, /delete\.deleteAll/],
      [{ ids: undefined }, /delete\.ids|expected a list/],
      [{ ids: 'd1' }, /delete\.ids: expected a list/],
      [{ ids: ['d1', 2] }, /delete\.ids\[1\]/],
      [{ ids: ['d1'], filter: { a: 1 } }, /give exactly one of ids and filter/],
    ] as const)
      expect(await refusalOf(() => remove(of))).to.match(message);
  });

  it('accepts null, dates, fields in either spelling, and an infinite timeout', async () => {
    sent.length = 0;
    await docs.search({ query: [1], k: 1, metadataFilter: null, asOf: null });
    await docs.count({ metadataFilter: { at: { gte: new Date(0) } }, timeoutMs: Number.POSITIVE_INFINITY });
    await docs.search(odd({ query: [1], k: 1, metadata_filter: { a: 1 } }));
    expect(sent[1]).to.include('{"at":{"gte":"1970-01-01T00:00:00.000Z"}}');
    expect(sent).to.have.length(3);
  });
});
