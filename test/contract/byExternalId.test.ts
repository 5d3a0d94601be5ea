// Covers: coordinator/body/recordNames.ts
/** Single records by their external ids, over HTTP: reads, changes, deletions, searches, and nodes of the graph. */
import { expect } from 'chai';
import { answered, refused } from '../support/launch/answers.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import type { Project } from '../support/launch/service.js';

/** Also requested through the package. */
const ROUTES = [
  ...(['GET /v1/records/by-external-id', 'PATCH /v1/records/by-external-id/metadata'] as const),
  ...(['POST /v1/soft-delete', 'POST /v1/delete', 'POST /v1/search', 'POST /v1/search/batch'] as const),
] as const;

/** External ids that a path, a query or a form could change. */
const ODD_IDS = [
  ...[
    'a',
    '7',
    '.',
    '..',
    'docs/2026/a b.md',
    'https://example.org/?q=1&r=%20#top',
    '100%',
    'a+b',
    ' a ',
    '\t\n',
    '\0',
  ],
  ...['é', 'e\u0301', '日本語', '\u{1f984}', 'null', '{"id":1}', 'x'.repeat(256), 'é'.repeat(128)],
];

inBothModesAndThroughClient('a record by its external id', ROUTES, (service) => {
  let project: Project;
  let rw: Client;
  beforeEach(async () => {
    project = await service.newProject();
    rw = project.rw;
    answered(await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' }));
  });
  const post = (path: string, body: object): Promise<Answer> => rw.post(path, { collection: 'c', ...body });
  const upsert = async (external_ids: readonly string[], fields: object = {}): Promise<number[]> => {
    const batch = external_ids.map((_, i) => [i, 0]);
    return answered(await post('/v1/vectors/batch-upsert', { batch, external_ids, ...fields })).ids;
  };
  const at = (external_id: string, rest = ''): string =>
    `?collection=c&external_id=${encodeURIComponent(external_id)}${rest}`;
  const read = (external_id: string, rest = ''): Promise<Answer> =>
    rw.get(`/v1/records/by-external-id${at(external_id, rest)}`);
  const patch = (external_id: string, metadata: object): Promise<Answer> =>
    rw.raw('PATCH', `/v1/records/by-external-id/metadata${at(external_id)}`, JSON.stringify(metadata));
  const sequence = async (): Promise<number> => answered(await rw.get('/v1/proof/state?collection=c')).sequence;

  it('is read as by its id, whatever characters the external id has', async () => {
    const ids = await upsert(ODD_IDS, { texts: ODD_IDS.map((id) => `text of ${id.length}`) });
    for (const [i, external_id] of ODD_IDS.entries()) {
      const got = answered(await read(external_id, '&with=text'));
      expect(got).to.deep.equal(answered(await rw.get(`/v1/records/${ids[i]}?collection=c&with=text`)));
      expect(got).to.deep.include({ id: ids[i], external_id, vector: [i, 0], text: `text of ${external_id.length}` });
    }
  });

  it('gets new metadata, which a filter finds, and the answer has its id', async () => {
    const ids = await upsert(ODD_IDS);
    for (const [i, external_id] of ODD_IDS.entries()) {
      expect(answered(await patch(external_id, { n: i }))).to.include({ ok: true, id: ids[i] });
      expect(answered(await read(external_id)).metadata).to.deep.equal({ n: i });
    }
    const found = answered(await post('/v1/search', { query: [0, 0], k: 5, metadata_filter: { n: 3 } }));
    expect(found.results.map(({ id }: { id: number }) => id)).to.deep.equal([ids[3]]);
  });

  it('is hidden and deleted, after which another record may have the external id', async () => {
    const [first] = await upsert(['a/b']);
    answered(await post('/v1/soft-delete', { external_id: 'a/b' }));
    expect(refused(await read('a/b'), 404, 'record_not_found')).to.equal(
      'no live record of the collection has the external id "a/b"',
    );
    const [second] = await upsert(['a/b']);
    expect(second).not.to.equal(first);
    expect(answered(await read('a/b')).id).to.equal(second);
    answered(await post('/v1/delete', { external_id: 'a/b' }));
    refused(await post('/v1/delete', { external_id: 'a/b' }), 404, 'record_not_found');
    refused(await post('/v1/soft-delete', { external_id: 'a/b' }), 404, 'record_not_found');
    refused(await patch('a/b', {}), 404, 'record_not_found');
    answered(await post('/v1/delete', { id: first }));
    refused(await post('/v1/delete', { id: second }), 404, 'record_not_found');
  });

  it('is the query of searches: single, in a batch, of the past, in several collections', async () => {
    const ids = await upsert(['a', 'b', 'c']);
    const like = { like_external_id: 'b', k: 2 };
    const hits = async (path: string, body: object): Promise<unknown> => {
      const { results, answers } = answered(await post(path, body));
      return (results ?? answers[0].results).map(({ external_id, score }: { external_id: string; score: number }) => [
        external_id,
        score,
      ]);
    };
    const near = [
      ['a', 1],
      ['c', 1],
    ];
    expect(await hits('/v1/search', like)).to.deep.equal(near);
    expect(await hits('/v1/search/batch', { searches: [like] })).to.deep.equal(near);
    expect(await hits('/v1/search', { ...like, as_of_log_index: 3 })).to.deep.equal(near);
    expect(await hits('/v1/search', { ...like, as_of_log_index: 2 })).to.deep.equal([['a', 1]]);
    refused(await post('/v1/search', { ...like, as_of_log_index: 1 }), 404, 'record_not_found');
    answered(await post('/v1/delete', { external_id: 'b' }));
    const [, again] = [await upsert(['x']), (await upsert(['b']))[0]];
    expect(again).to.be.above(ids[1]!);
    // The record that had the external id then, at another place than the one that has it now.
    expect(await hits('/v1/search', { ...like, as_of_log_index: 3 })).to.deep.equal(near);
    expect(await hits('/v1/search', { ...like, as_of_log_index: 4 }).catch(() => 'none')).to.equal('none');
    answered(await rw.post('/v1/namespaces', { name: 'd', dimension: 2, metric: 'squared_l2' }));
    const several = await rw.post('/v1/search/multi', {
      ...{ collections: ['c', 'd'], k: 1, like: { collection: 'c', external_id: 'c' } },
    });
    expect(answered(several).results[0]).to.include({ collection: 'c', external_id: 'a', score: 4 });
    refused(await post('/v1/search', { like_external_id: 'none', k: 1 }), 404, 'record_not_found');
    const none = { collections: ['c'], k: 1, like: { collection: 'c', external_id: 'none' } };
    refused(await rw.post('/v1/search/multi', none), 404, 'record_not_found');
  });

  it('gets nodes in the graph, which are found by it', async () => {
    const [a, b] = await upsert(['doc/a', 'doc/b']);
    const node = (body: object): Promise<Answer> => post('/v1/graph/node', body);
    const nodes = async (rest: string): Promise<unknown> => {
      const { nodes: found, count } = answered(await rw.get(`/v1/graph/nodes?collection=c&${rest}`));
      return [found.map(({ node_id, record_id }: Record<string, number>) => [node_id, record_id]), count];
    };
    answered(await node({ kind: 5, external_id: 'doc/a' }));
    answered(await node({ kind: 1 }));
    answered(await node({ kind: 6, external_id: 'doc/b' }));
    answered(await node({ kind: 6, record_id: a }));
    expect(await nodes('external_id=doc%2Fa')).to.deep.equal([
      [
        [1, a],
        [4, a],
      ],
      2,
    ]); // prettier-ignore
    expect(await nodes(`record_id=${b}`)).to.deep.equal([[[3, b]], 1]);
    expect(await nodes('external_id=doc%2Fa&kind=6')).to.deep.equal([[[4, a]], 1]);
    expect(await nodes('external_id=doc%2Fa&offset=1&limit=5')).to.deep.equal([[[4, a]], 2]);
    expect(await nodes('external_id=doc%2Fa&limit=0')).to.deep.equal([[], 2]);
    expect(await nodes('external_id=none')).to.deep.equal([[], 0]);
    expect(await nodes('record_id=99')).to.deep.equal([[], 0]);
    refused(await node({ kind: 0, external_id: 'none' }), 404, 'record_not_found');
    answered(await post('/v1/delete', { external_id: 'doc/a' }));
    expect(await nodes('external_id=doc%2Fa')).to.deep.equal([[], 0]);
    expect(await nodes('kind=6')).to.deep.equal([[[3, b]], 1]);
  });

  it('must be named by exactly one name, of 1 to 256 bytes; otherwise nothing changes', async () => {
    await upsert(['a']);
    const before = await sequence();
    const both = { id: 1, external_id: 'a' };
    const cases: readonly [() => Promise<Answer>, RegExp][] = [
      [() => post('/v1/delete', {}), /^\$\.id is missing: expected the id of a record, or \$\.external_id$/],
      [() => post('/v1/delete', both), /^\$\.external_id: \$\.id names the record already; leave out one of the two$/],
      [() => post('/v1/soft-delete', { id: null, external_id: '' }), /^\$\.external_id: /],
      [() => post('/v1/soft-delete', { external_id: 7 }), /^\$\.external_id: /],
      [
        () => post('/v1/soft-delete', { external_id: 'é'.repeat(129) }),
        /^\$\.external_id takes 258 bytes: at most 256/,
      ],
      [() => post('/v1/soft-delete', { external_id: '\ud800' }), /^\$\.external_id holds half of a surrogate pair/],
      [() => post('/v1/graph/node', { kind: 0, record_id: 1, external_id: 'a' }), /^\$\.external_id: \$\.record_id /],
      [() => post('/v1/search', { like: 1, like_external_id: 'a', k: 1 }), /^\$\.like_external_id: \$\.like names/],
      [() => post('/v1/search', { query: [0, 0], like_external_id: 'a', k: 1 }), /^\$\.like_external_id: the query/],
      [() => post('/v1/search', { like_external_id: '\ud800', k: 1 }), /^\$\.like_external_id holds half/],
      [
        () => rw.post('/v1/search/multi', { collections: ['c'], k: 1, like: { collection: 'c' } }),
        /^\$\.like\.id is missing/,
      ],
      [
        () => rw.post('/v1/search/multi', { collections: ['c'], k: 1, like: { collection: 'c', ...both } }),
        /^\$\.like\.ext/,
      ],
      [() => read(''), /^query parameter external_id: /],
      [() => read('é'.repeat(129)), /^query parameter external_id takes 258 bytes/],
      [() => rw.get('/v1/records/by-external-id?collection=c'), /^query parameter external_id is missing/],
      [() => rw.get('/v1/records/by-external-id?external_id=%FF'), /percent-encoding/],
      [() => rw.get('/v1/records/by-external-id?external_id=a&external_id=b'), /repeated/],
      [() => rw.get('/v1/records/by-external-id?external_id=a&id=1'), /unknown/],
      [() => rw.get('/v1/graph/nodes?collection=c&record_id=1&external_id=a'), /^query parameter external_id: /],
      [() => rw.raw('PATCH', '/v1/records/by-external-id/metadata?collection=c', '{}'), /external_id is missing/],
    ];
    for (const [ask, message] of cases) expect(refused(await ask(), 400, 'validation_error')).to.match(message);
    expect(await sequence()).to.equal(before);
  });

  it('is found only in its own collection and project', async () => {
    await upsert(['a']);
    answered(await rw.post('/v1/namespaces', { name: 'd', dimension: 2, metric: 'squared_l2' }));
    refused(await rw.get('/v1/records/by-external-id?collection=d&external_id=a'), 404, 'record_not_found');
    const other = await service.newProject();
    refused(await other.rw.get('/v1/records/by-external-id?collection=c&external_id=a'), 404, 'collection_not_found');
    refused(await project.ro.raw('PATCH', `/v1/records/by-external-id/metadata${at('a')}`, '{}'), 403, 'forbidden');
  });
});
