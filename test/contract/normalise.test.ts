/** Collections that divide vectors and queries by their length. */
import { expect } from 'chai';
import { pack, unpack } from 'msgpackr';
import { quantise } from '../../shared/fixedPoint.js';
import { readProof, verifyReceipt } from '../../verifier/receipt.js';
import { rebuiltEvent } from '../../verifier/receiptEvent.js';
import { claimedRecord } from '../../verifier/recordJson.js';
import { atLength } from '../support/atLength.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import { unitScore, unitSteps } from '../support/model/unitVector.js';
import { announcement, answered, exported, imported, send } from '../support/rigs/backups.js';

interface Hit {
  readonly id: number;
  readonly score: number;
  readonly similarity?: number;
  readonly collection?: string;
}

const DIMENSION = 5;
const ZEROS = Array<number>(DIMENSION).fill(0);
const MSGPACK = { 'content-type': 'application/msgpack' };

inBothModesAndThroughClient(
  'a collection with normalise',
  ['POST /v1/namespaces', 'POST /v1/search', 'POST /v1/search/multi', 'POST /v1/vectors/batch-insert'],
  (service, { restartable }) => {
    const random = seededRandom(testSeed());
    const vector = (size = 1): number[] => Array.from({ length: DIMENSION }, () => (random.next() * 2 - 1) * size);
    const ROWS = Array.from({ length: 60 }, (_, i) => vector(10 ** (4 - (i % 9))));
    const QUERY = vector(300);
    let rw: Client;

    const make = async (client: Client, name: string, more: object = { normalise: true }): Promise<Answer['body']> =>
      answered(await client.post('/v1/namespaces', { name, dimension: DIMENSION, metric: 'squared_l2', ...more }));
    const fill = async (client: Client, collection: string): Promise<void> => {
      await make(client, collection);
      answered(await client.post('/v1/vectors/batch-insert', { collection, batch: ROWS }));
    };
    /** The hits that an exact search finds. */
    const nearest = (query: readonly number[], k: number): Hit[] =>
      ROWS.map((row, i) => ({ id: i + 1, score: unitScore(unitSteps(row), unitSteps(query)) }))
        .sort((a, b) => a.score - b.score || a.id - b.id)
        .slice(0, k)
        .map(({ id, score }) => ({ id, score, similarity: 1 - score / 2 }));
    const shown = (values: readonly number[]): number[] => unitSteps(values).map((step) => step / 2 ** 20);

    beforeEach(async () => {
      ({ rw } = await service.newProject());
    });

    it('finds records by their cosine, whatever the length of vectors and query is', async () => {
      await fill(rw, 'c');
      for (const query of [QUERY, QUERY.map((value) => value / 1_024), vector(), ROWS[3]!]) {
        const { results } = answered(await rw.post('/v1/search', { collection: 'c', query, k: 20 }));
        expect(results).to.deep.equal(nearest(query, 20));
      }
      const cosine = (one: readonly number[], other: readonly number[]): number =>
        one.reduce((sum, value, i) => sum + value * other[i]!, 0) / Math.hypot(...one) / Math.hypot(...other);
      const { results } = answered(await rw.post('/v1/search', { collection: 'c', query: QUERY, k: 60 }));
      for (const { id, similarity } of results as Hit[])
        expect(similarity).to.be.closeTo(cosine(ROWS[id - 1]!, QUERY), 1e-5);
    });

    it('stores one vector with the same bits by insert, batch and upsert, as JSON and as msgpack', async () => {
      await make(rw, 'c');
      const packed = async (path: string, body: object): Promise<Answer['body']> =>
        answered(await rw.raw('POST', path, pack({ collection: 'c', ...body }), MSGPACK));
      const floats = ROWS[0]!.map(Math.fround);
      const bytes = Buffer.from(Float32Array.from(floats).buffer);
      const fixed = quantise(ROWS[1]!);
      const unfixed = Array.from(fixed, (component) => component / 65_536);
      const wanted: (readonly number[])[] = [];
      const expectNext = (values: readonly number[]): void => void wanted.push(values);
      answered(await rw.post('/v1/records', { collection: 'c', values: ROWS[0]! }));
      expectNext(ROWS[0]!);
      answered(await rw.post('/v1/vectors/batch-insert', { collection: 'c', batch: [ROWS[0]!, ROWS[1]!] }));
      expectNext(ROWS[0]!);
      expectNext(ROWS[1]!);
      const upsert = { collection: 'c', batch: [ROWS[2]!], external_ids: ['two'] };
      answered(await rw.post('/v1/vectors/batch-upsert', upsert));
      expectNext(ROWS[2]!);
      await packed('/v1/records', { values: ROWS[0]! });
      expectNext(ROWS[0]!);
      await packed('/v1/records', { values: bytes });
      expectNext(floats);
      await packed('/v1/records', { values_q16: Buffer.from(fixed.buffer) });
      expectNext(unfixed);
      await packed('/v1/vectors/batch-insert', { batch: [bytes, ROWS[3]!] });
      expectNext(floats);
      expectNext(ROWS[3]!);
      await packed('/v1/vectors/batch-insert', { batch_q16: [Buffer.from(fixed.buffer)] });
      expectNext(unfixed);
      // Numbers that are not plain are read with the whole body.
      const written = `{"collection":"c","v\\u0061lues":[${ROWS[0]!.map((value) => value.toExponential())}]}`;
      answered(await rw.raw('POST', '/v1/records', written));
      expectNext(ROWS[0]!);
      const { records } = answered(await rw.get('/v1/records?collection=c&with=vector'));
      expect(records.map((record: { vector: number[] }) => record.vector)).to.deep.equal(wanted.map(shown));
      const got = answered(await rw.post('/v1/records/get', { collection: 'c', ids: [3], with: ['vector'] }));
      expect(got.records[0].vector).to.deep.equal(shown(ROWS[1]!));
      expect(answered(await rw.get('/v1/records/4?collection=c')).vector).to.deep.equal(shown(ROWS[2]!));
    });

    it('reads large bodies in a worker to the same bits', async () => {
      await make(rw, 'c');
      const batch = Array.from({ length: 6_000 }, (_, i) => ROWS[i % ROWS.length]!);
      const body = JSON.stringify({ batch, texts: batch.map((_, i) => `text ${i}`), collection: 'c' });
      expect(body.length).to.be.above(512 * 1_024);
      answered(await rw.raw('POST', '/v1/vectors/batch-insert', body));
      const medium = { collection: 'c', batch: batch.slice(0, 1_000) };
      answered(await rw.raw('POST', '/v1/vectors/batch-insert', JSON.stringify(medium)));
      const page = answered(await rw.get('/v1/records?collection=c&with=vector&limit=60&after=6960'));
      for (const [i, { vector: found }] of page.records.entries()) {
        const row = ROWS[(6_960 - 6_000 + i) % ROWS.length]!;
        expect(found).to.deep.equal(shown(row));
      }
      const { results } = answered(await rw.post('/v1/search', { collection: 'c', query: ROWS[7]!, k: 1 }));
      expect(results).to.deep.equal([{ id: 8, score: 0, similarity: 1 }]);
    });

    it('has real distances in thresholds, decay, groups, likes, batches and the past', async () => {
      await fill(rw, 'c');
      const search = async (options: object): Promise<Hit[]> =>
        answered(await rw.post('/v1/search', { collection: 'c', query: QUERY, k: 60, ...options })).results;
      const all = nearest(QUERY, 60);
      const middle = all[30]!.score;
      expect(await search({ score_threshold: middle })).to.deep.equal(all.filter(({ score }) => score <= middle));
      expect(await search({ score_threshold: 1e300 })).to.deep.equal(all);
      expect(await search({ as_of_log_index: 60, k: 5 })).to.deep.equal(all.slice(0, 5));
      const aged = await search({ decay_half_life_secs: 1_000_000, k: 5, score_threshold: middle });
      for (const { id, score, similarity } of aged)
        expect({ id, score, similarity }).to.deep.equal(all.find((hit) => hit.id === id));
      const like = nearest(ROWS[4]!, 6).filter(({ id }) => id !== 5);
      expect(await search({ query: null, like: 5, k: 5 })).to.deep.equal(like);
      const [carried] = (await search({ k: 1, with: ['vector'] })) as (Hit & { vector: number[] })[];
      expect(carried!.vector).to.deep.equal(shown(ROWS[carried!.id - 1]!));
      const searches = [
        { query: QUERY, k: 3 },
        { like: 5, k: 5 },
        { query: ROWS[0]!, k: 1, score_threshold: 0.5 },
      ];
      const { answers } = answered(await rw.post('/v1/search/batch', { collection: 'c', searches }));
      expect(answers.map(({ results }: { results: Hit[] }) => results)).to.deep.equal([
        all.slice(0, 3),
        like,
        nearest(ROWS[0]!, 1),
      ]);
      const packed = pack({ collection: 'c', query: Buffer.from(Float32Array.from(QUERY).buffer), k: 3 });
      const floats = QUERY.map(Math.fround);
      const answer = await rw.raw('POST', '/v1/search', packed, { ...MSGPACK, accept: 'application/msgpack' });
      expect((unpack(answer.bytes) as { results: Hit[] }).results).to.deep.equal(nearest(floats, 3));
    });

    it('ranks groups and graphs by real distances', async () => {
      await make(rw, 'c');
      const metadata = ROWS.map((_, i) => ({ part: i % 3 }));
      answered(await rw.post('/v1/vectors/batch-insert', { collection: 'c', batch: ROWS, metadata }));
      const all = nearest(QUERY, 60);
      const grouped = answered(
        await rw.post('/v1/search', { collection: 'c', query: QUERY, k: 3, group_by: 'part', group_size: 1 }),
      ).results;
      const firsts = [0, 1, 2].map((part) => all.find(({ id }) => (id - 1) % 3 === part)!);
      expect(grouped).to.deep.equal(
        firsts.sort((a, b) => a.score - b.score).map((hit) => ({ ...hit, group: (hit.id - 1) % 3 })),
      );
      const options = { collection: 'c', query: QUERY, k: 5, graph_rerank: { weight: 0.5 } };
      const ranked = answered(await rw.post('/v1/search', options)).results;
      expect(ranked).to.deep.equal(all.slice(0, 5).map((hit) => ({ ...hit, graph_distance: null })));
    });

    it('has exact distances through every kind of index', async () => {
      await fill(rw, 'c');
      const all = nearest(QUERY, 60);
      for (const type of ['hnsw', 'ivf', 'bq']) {
        await rw.post('/v1/namespaces/c/index', { type });
        const active = async (): Promise<boolean> =>
          answered(await rw.get('/v1/namespaces/c/index')).active_type === type;
        await service.until(active);
        const { results } = answered(await rw.post('/v1/search', { collection: 'c', query: QUERY, k: 10 }));
        expect(results, type).to.have.length(10);
        for (const hit of results as Hit[]) expect(hit, type).to.deep.equal(all.find(({ id }) => id === hit.id));
      }
    });

    it('is searched beside collections without it, each with distances of its own', async () => {
      await fill(rw, 'unit');
      await make(rw, 'plain', {});
      const near = shown(QUERY);
      answered(await rw.post('/v1/records', { collection: 'plain', values: QUERY }));
      answered(await rw.post('/v1/records', { collection: 'plain', values: near }));
      const multi = async (body: object): Promise<Hit[]> =>
        answered(await rw.post('/v1/search/multi', { k: 4, collections: ['plain', 'unit'], ...body })).results;
      const [first, second, third] = nearest(QUERY, 3).map((hit) => ({ collection: 'unit', ...hit }));
      expect(await multi({ query: QUERY })).to.deep.equal([
        { collection: 'plain', id: 1, score: 0 },
        first,
        second,
        third,
      ]);
      expect(await multi({ query: QUERY, score_threshold: second!.score })).to.deep.equal([
        { collection: 'plain', id: 1, score: 0 },
        first,
        second,
      ]);
      // The vector of record 2 has the direction of the query, and length 1.
      const liked = await multi({ like: { collection: 'plain', id: 2 } });
      expect(liked[0]).to.include({ collection: 'unit', id: first!.id });
      expect(liked[0]!.score).to.be.closeTo(first!.score, 1e-4);
      const other = await multi({ like: { collection: 'unit', id: first!.id }, collections: ['unit', 'plain'], k: 2 });
      const [nearer] = nearest(ROWS[first!.id - 1]!, 2).filter(({ id }) => id !== first!.id);
      const plainScore = near.reduce((sum, value, i) => sum + (value - shown(ROWS[first!.id - 1]!)[i]!) ** 2, 0);
      expect(other.map(({ collection }) => collection)).to.include(plainScore < nearer!.score ? 'plain' : 'unit');
      expect(other[0]!.score).to.be.closeTo(Math.min(plainScore, nearer!.score), 1e-3);
    });

    it('refuses a vector of zeros, and names it', async () => {
      await make(rw, 'c');
      await make(rw, 'plain', {});
      const batch = [ROWS[0]!, ZEROS];
      const refused: [string, object, string][] = [
        ['/v1/records', { values: ZEROS }, '$.values'],
        ['/v1/vectors/batch-insert', { batch }, '$.batch[1]'],
        ['/v1/vectors/batch-upsert', { batch, external_ids: ['a', 'b'] }, '$.batch[1]'],
        ['/v1/search', { query: ZEROS, k: 1 }, '$.query'],
        [
          '/v1/search/batch',
          {
            searches: [
              { query: QUERY, k: 1 },
              { query: ZEROS, k: 1 },
            ],
          },
          '$.searches[1].query',
        ],
      ];
      for (const [path, body, place] of refused) {
        for (const answer of [
          await rw.raw('POST', path, JSON.stringify({ collection: 'c', ...body })),
          await rw.raw('POST', path, pack({ collection: 'c', ...body }), MSGPACK),
        ]) {
          expect([answer.status, answer.body.code], path).to.deep.equal([400, 'validation_error']);
          expect(answer.body.error).to.equal(
            `${place} holds only zeros, and a vector of length 0 has no direction: its collection was made with normalise`,
          );
        }
      }
      const multi = { collections: ['plain', 'c'], query: ZEROS, k: 1 };
      expect((await rw.post('/v1/search/multi', multi)).body.error).to.match(/^\$\.query holds only zeros/);
      answered(await rw.post('/v1/records', { collection: 'plain', values: ZEROS }));
      const like = { collections: ['plain', 'c'], like: { collection: 'plain', id: 1 }, k: 1 };
      expect((await rw.post('/v1/search/multi', like)).body.error).to.match(/^\$\.like holds only zeros/);
      expect(answered(await rw.get('/v1/records/count?collection=c'))).to.deep.equal({ count: 0 });
      expect((await rw.post('/v1/records', { collection: 'c', values: [1] })).body.code).to.equal('dimension_mismatch');
    });

    it('is listed as one, found by an identical creation, and 409 for one of the other kind', async () => {
      const { id } = await make(rw, 'c');
      expect(await make(rw, 'c', { normalize: true })).to.deep.equal({ name: 'c', id, created: false });
      await make(rw, 'plain', { normalise: false, normalize: null });
      expect(await make(rw, 'plain', {})).to.include({ created: false });
      const { collections } = answered(await rw.get('/v1/namespaces'));
      expect(collections[0]).to.include({ name: 'c', metric: 'squared_l2', normalise: true });
      expect(collections[1]).to.not.have.property('normalise');
      const create = (name: string, more: object): Promise<Answer> =>
        rw.raw('POST', '/v1/namespaces', JSON.stringify({ name, dimension: DIMENSION, metric: 'squared_l2', ...more }));
      for (const [name, more, error] of [
        ['c', {}, 'collection "c" exists with normalise, which cannot change'],
        ['plain', { normalise: true }, 'collection "plain" exists without normalise, which cannot change'],
      ] as const) {
        const { status, body } = await create(name, more);
        expect([status, body.code, body.error]).to.deep.equal([409, 'conflict', error]);
      }
      const both = await create('new', { normalise: true, normalize: false });
      expect([both.status, both.body.error]).to.deep.equal([
        400,
        '$.normalize is another spelling of $.normalise: leave out one of the two',
      ]);
      expect((await create('new', { normalise: 'yes' })).body.error).to.include('$.normalise: expected');
      expect((await create('new', { normalised: true })).body.error).to.equal(
        '$.normalised is unknown here: did you mean normalise?',
      );
    });

    it('proves its records by the values that were sent, and by those that are shown', async () => {
      await make(rw, 'c');
      const sent = { values: ROWS[0]!, text: 'as sent', tag: 4, request_id: 'ab'.repeat(16) };
      const { receipt } = answered(await rw.post('/v1/records', { collection: 'c', ...sent }));
      const { vector: kept } = answered(await rw.get('/v1/records/1?collection=c'));
      const proof = readProof(receipt.proof);
      for (const values of [sent.values, sent.values.map((value) => value / 4), kept]) {
        const told = claimedRecord({ ...sent, values }, proof);
        expect(verifyReceipt(receipt, told.values)).to.deep.equal([]);
        expect(rebuiltEvent(proof, told)).to.equal('insert');
      }
      const other = claimedRecord({ ...sent, values: ROWS[1]! }, proof);
      expect(verifyReceipt(receipt, other.values)).to.deep.equal(['it is not about this record']);
    });

    it('is one after an export and an import, which must say so', async () => {
      await fill(rw, 'c');
      const taken = await exported(rw, 'c');
      expect(taken.facts.normalise).to.equal(true);
      const { rw: target } = await service.newProject();
      await imported(target, taken, 'again');
      const { results } = answered(await target.post('/v1/search', { collection: 'again', query: QUERY, k: 9 }));
      expect(results).to.deep.equal(nearest(QUERY, 9));
      const { normalise: _, ...without } = announcement(taken, 'other');
      answered(await target.post('/v1/import', without));
      expect((await target.post('/v1/import', announcement(taken, 'other'))).body.code).to.equal('conflict');
      const sent = await send(target, 'other', taken.frames);
      expect([sent.status, sent.body.code]).to.deep.equal([400, 'validation_error']);
    });

    it(atLength('is one after a restart'), async () => {
      const own = await restartable();
      const { rw: client } = await own.newProject();
      await fill(client, 'c');
      for (const name of own.processNames) await own.kill(name);
      await Promise.all(own.processNames.map((name) => own.run(name)));
      await own.until(async () => (await client.get('/v1/records/count?collection=c')).status === 200);
      answered(await client.post('/v1/records', { collection: 'c', values: QUERY }));
      const { results } = answered(await client.post('/v1/search', { collection: 'c', query: QUERY, k: 5 }));
      expect(results).to.deep.equal([{ id: 61, score: 0, similarity: 1 }, ...nearest(QUERY, 4)]);
    });
  },
);
