/** Searches by a record, up to a distance, in groups, with fields of the hits, and many in one request. */
import { expect } from 'chai';
import type { Json } from '../../shared/model/filter.js';
import type { Client } from '../support/launch/client.js';
import { KINDS } from '../support/launch/indexClient.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import { type Hit, SearchedByHttp } from '../support/launch/searchClient.js';
import { matches } from '../support/model/filter.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import { grouped, type Ranked } from '../support/model/values.js';
import { Generator, type JsonObject } from '../support/rigs/generate.js';

/** Also requested through the package. */
const ROUTES = ['POST /v1/search', 'POST /v1/search/batch'] as const;

const RECORDS = 300;
const ROUNDS = 30;
const KEYS = ['n', 's', 'f', 'any', 'o.n', 'l.n', 'n.n', 'absent'] as const;

interface Row {
  readonly id: number;
  readonly vector: readonly number[];
  readonly metadata: JsonObject | undefined;
  readonly text: string | null;
}

interface Filled {
  readonly collection: SearchedByHttp;
  /** Live records, and the ones that lived before the last third was inserted. */
  readonly rows: readonly Row[];
  readonly before: readonly Row[];
  readonly beforeIndex: number;
  readonly random: Generator;
}

/** Coarse vectors, whose distances are exact in floats. */
async function filled(rw: Client, index?: string): Promise<Filled> {
  const random = new Generator(seededRandom(testSeed()), 2, false);
  const collection = await SearchedByHttp.create(rw, 'c', 2, index);
  const rows = Array.from({ length: RECORDS }, (_, i): Row => {
    const { metadata, text } = random.record();
    const vector = [random.int(9) / 2 - 2, random.int(9) / 2 - 2];
    return { id: i + 1, vector, metadata: metadata as JsonObject | undefined, text: text ?? null };
  });
  const insert = (some: readonly Row[]): Promise<void> =>
    collection.fill({
      batch: some.map(({ vector }) => vector),
      metadata: some.map(({ metadata }) => metadata ?? null),
      texts: some.map(({ text }) => text),
    });
  const first = rows.slice(0, (2 * RECORDS) / 3);
  await insert(first);
  await insert(rows.slice(first.length));
  const gone = new Set([5, 17, 250]);
  for (const id of gone) await collection.remove(id, '/v1/soft-delete');
  const live = rows.filter(({ id }) => !gone.has(id));
  return { collection, rows: live, before: first, beforeIndex: first.length, random };
}

interface Asked {
  readonly query: readonly number[];
  readonly filter?: JsonObject | undefined;
  readonly without?: number;
  readonly most?: number;
}

/** All possible hits, best first. */
function ranked(rows: readonly Row[], { query, filter, without, most = Infinity }: Asked): Ranked[] {
  return rows
    .filter(({ metadata }) => filter === undefined || matches(filter, metadata as Json | undefined))
    .map(({ id, vector, metadata }) => {
      const score = vector.reduce((sum, value, i) => sum + (value - query[i]!) ** 2, 0);
      return { id, score, metadata: metadata as Json | undefined };
    })
    .filter(({ id, score }) => id !== without && score <= most)
    .sort((a, b) => a.score - b.score || a.id - b.id);
}

const plain = (hits: readonly Ranked[], k: number): object[] =>
  hits.slice(0, k).map(({ id, score }) => ({ id, score }));

const refusal = (answer: { readonly status: number; readonly body: { readonly code: string } }): unknown[] => [
  answer.status,
  answer.body.code,
];

inBothModesAndThroughClient('searches by record, in groups and with fields', ROUTES, (service) => {
  it('like, threshold and groups find what a simple loop finds, now and in the past', async () => {
    const { rw } = await service.newProject();
    const { collection, rows, before, beforeIndex, random } = await filled(rw);
    for (let round = 0; round < ROUNDS; round++) {
      const isPast = round % 3 === 2;
      const among = isPast ? before : rows;
      const like = random.chance(0.5) ? random.pick(among) : undefined;
      const query = like?.vector ?? [random.int(9) / 2 - 2, random.int(9) / 4 - 1];
      const filter = random.chance(0.5) ? random.filter() : undefined;
      const most = random.chance(0.4) ? random.pick([0, 0.5, 1, 2.25, 30]) : undefined;
      const k = random.pick([1, 2, 5, 50]);
      const key = random.chance(0.6) ? random.pick(KEYS) : undefined;
      const size = random.pick([1, 2, 3, 100]);
      const options = {
        ...(like === undefined ? { query } : { query: null, like: like.id }),
        k,
        ...(filter && { metadata_filter: filter }),
        ...(most !== undefined && { score_threshold: most }),
        ...(key !== undefined && { group_by: key, group_size: size }),
        ...(isPast && { as_of_log_index: beforeIndex }),
      };
      const hits = ranked(among, {
        query,
        filter,
        ...(like && { without: like.id }),
        ...(most !== undefined && { most }),
      });
      const wanted = key === undefined ? plain(hits, k) : grouped(hits, key, k, size);
      expect(await collection.search(options), JSON.stringify(options)).to.deep.equal(wanted);
    }
  });

  it('like uses the stored vector, exact to the last bit', async () => {
    const { rw } = await service.newProject();
    const collection = await SearchedByHttp.create(rw, 'c', 3);
    await collection.fill({
      batch: [
        [0.1, 32_767.123_45, -0.7],
        [0.1, 32_767.123_45, -0.7],
        [9, 9, 9],
      ],
    });
    const hits = await collection.search({ query: null, like: 1, k: 2 });
    expect(hits.map(({ id }) => id)).to.deep.equal([2, 3]);
    expect(hits[0]!.score).to.equal(0);
  });

  it('decay orders groups and hits under a threshold like all other hits', async () => {
    const { rw } = await service.newProject();
    const { collection } = await filled(rw);
    const decay = { decay_half_life_secs: 1, query: [0.25, 0] };
    const ofAll = () => collection.search({ ...decay, k: 5_000, with: ['metadata'] });
    let [all, most, groups]: [Hit[], Hit[], Hit[]] = [[], [], []];
    // Ages are whole seconds, each from its own record's time: the whole order must be stable meanwhile.
    await service.until(async () => {
      all = await ofAll();
      most = await collection.search({ ...decay, k: 20, score_threshold: 1.5 });
      groups = await collection.search({ ...decay, k: 4, group_by: 's', group_size: 2 });
      const ids = (await ofAll()).map(({ id }) => id);
      return ids.join() === all.map(({ id }) => id).join();
    });
    const near = all.filter(({ score }) => score <= 1.5);
    expect(most.map(({ id, score }) => [id, score])).to.deep.equal(
      near.slice(0, 20).map(({ id, score }) => [id, score]),
    );
    const wanted = grouped(all as unknown as Ranked[], 's', 4, 2) as { id: number; group: string }[];
    expect(groups.map((hit) => [hit.id, (hit as unknown as { group: string }).group])).to.deep.equal(
      wanted.map(({ id, group }) => [id, group]),
    );
    expect(groups[0]).to.include.keys('decay_factor', 'age_secs');
  });

  it('hits carry exactly the requested fields', async () => {
    const { rw } = await service.newProject();
    const { collection, rows } = await filled(rw);
    const at = new Map(rows.map((row) => [row.id, row]));
    for (const fields of [['metadata'], ['text', 'vector'], ['metadata', 'text', 'vector'], []]) {
      const hits = await collection.search({ query: [0, 0], k: 40, with: fields });
      const bare = plain(ranked(rows, { query: [0, 0] }), 40) as { id: number }[];
      const wanted = bare.map((hit) => {
        const { metadata = null, text, vector } = at.get(hit.id)!;
        const all: Record<string, unknown> = { metadata, text, vector };
        return { ...hit, ...Object.fromEntries(fields.map((field) => [field, all[field]])) };
      });
      expect(hits).to.deep.equal(wanted);
    }
  });

  it('fields of a past search have the values of that state', async () => {
    const { rw } = await service.newProject();
    const collection = await SearchedByHttp.create(rw);
    await collection.fill({ batch: [[1], [2]], metadata: [{ v: 1 }, { v: 2 }], texts: ['one', null] });
    await collection.patch(1, { v: 10 });
    await collection.remove(2);
    const then = { as_of_log_index: 2, query: [0], k: 5, with: ['metadata', 'text', 'vector'] };
    expect(await collection.search(then)).to.deep.equal([
      { id: 1, score: 1, metadata: { v: 1 }, text: 'one', vector: [1] },
      { id: 2, score: 4, metadata: { v: 2 }, text: null, vector: [2] },
    ]);
    const groups = await collection.search({ as_of_log_index: 2, query: [0], k: 5, group_by: 'v', with: ['metadata'] });
    expect(groups).to.deep.equal([
      { id: 1, score: 1, group: 1, metadata: { v: 1 } },
      { id: 2, score: 4, group: 2, metadata: { v: 2 } },
    ]);
    expect(
      (await collection.search({ query: null, like: 2, k: 5, as_of_log_index: 2 })).map(({ id }) => id),
    ).to.deep.equal([1]);
    expect(refusal(await collection.post({ query: null, like: 2 }))).to.deep.equal([404, 'record_not_found']);
  });

  for (const kind of KINDS)
    it(`like, threshold, groups and fields work over ${kind}`, async () => {
      const { rw } = await service.newProject();
      const { collection, rows } = await filled(rw, kind);
      const all = ranked(rows, { query: rows[0]!.vector, without: rows[0]!.id, most: 2 });
      const like = { query: null, like: rows[0]!.id, score_threshold: 2 };
      const found = await collection.search({ ...like, k: 10 });
      expect(found.every(({ id, score }) => all.some((one) => one.id === id && one.score === score))).to.equal(true);
      expect(await collection.search({ ...like, k: 5, group_by: 'n' })).to.deep.equal(grouped(all, 'n', 5, 3));
      const [first] = await collection.search({ ...like, k: 1, with: ['vector'] });
      expect(first).to.have.property('vector');
    });

  it('a batch answers each search as if alone, from one state', async () => {
    const { rw } = await service.newProject();
    const { rows, random } = await filled(rw);
    const searches = Array.from({ length: 40 }, (_, i) => ({
      ...(i % 2 === 0 ? { query: random.values() } : { like: random.pick(rows).id }),
      k: random.pick([1, 5, 20]),
      ...(i % 3 === 0 ? { metadata_filter: random.filter() } : {}),
      ...(i % 5 === 0 ? { group_by: 's' } : {}),
      ...(i % 4 === 0 ? { with: ['metadata'] } : {}),
      ...(i % 7 === 0 ? { query_text: i % 5 === 0 ? null : 'red fish' } : {}),
    }));
    const { status, body, text } = await rw.post('/v1/search/batch', { collection: 'c', searches });
    expect(status, text).to.equal(200);
    expect(body.sequence).to.equal(RECORDS + 3);
    const state = { collection: 'c', as_of_log_index: body.sequence };
    const alone = await Promise.all(searches.map((search) => rw.post('/v1/search', { ...state, ...search })));
    expect(body.answers).to.deep.equal(alone.map((answer) => ({ results: answer.body.results })));
    const then = await rw.post('/v1/search/batch', {
      collection: 'c',
      as_of_log_index: 1,
      searches: [{ query: [0, 0], k: 5 }],
    });
    expect(then.body.sequence).to.equal(1);
    expect(then.body.answers[0].results.map(({ id }: { id: number }) => id)).to.deep.equal([1]);
  });

  it('a batch sees one state while records are inserted', async () => {
    const { rw } = await service.newProject();
    const collection = await SearchedByHttp.create(rw);
    await collection.insert([1]);
    let isOver = false;
    const inserting = (async () => {
      while (!isOver) await collection.insert([1]);
    })();
    try {
      const searches = Array.from({ length: 256 }, () => ({ query: [1], k: 50 }));
      for (let round = 0; round < 5; round++) {
        const { body } = await rw.post('/v1/search/batch', { collection: 'c', searches });
        const seen = new Set(body.answers.map((answer: object) => JSON.stringify(answer)));
        expect(seen.size).to.equal(1);
        expect(body.answers[0].results).to.have.length(Math.min(50, body.sequence));
      }
    } finally {
      isOver = true;
      await inserting;
    }
  });

  it('several collections are searched like a record of one of them, up to a distance, with fields', async () => {
    const { rw } = await service.newProject();
    const [a, b] = [await SearchedByHttp.create(rw, 'a'), await SearchedByHttp.create(rw, 'b')];
    await a.fill({ batch: [[1], [2], [9]], metadata: [{ x: 1 }, { x: 2 }, null] });
    await b.fill({ batch: [[1], [4]], metadata: [{ y: 1 }, null] });
    const asked = { collections: ['a', 'b'], like: { collection: 'a', id: 1 }, k: 10, with: ['metadata'] };
    const { body } = await rw.post('/v1/search/multi', { ...asked, score_threshold: 9 });
    expect(body.results).to.deep.equal([
      { collection: 'b', id: 1, score: 0, metadata: { y: 1 } },
      { collection: 'a', id: 2, score: 1, metadata: { x: 2 } },
      { collection: 'b', id: 2, score: 9, metadata: null },
    ]);
    for (const like of [
      { collection: 'a', id: 99 },
      { collection: 'nope', id: 1 },
    ])
      expect((await rw.post('/v1/search/multi', { ...asked, like })).status).to.equal(404);
    expect(refusal(await rw.post('/v1/search/multi', { ...asked, group_by: 'x' }))).to.deep.equal([
      400,
      'validation_error',
    ]);
  });

  it('invalid options are refused by their path', async () => {
    const { rw } = await service.newProject();
    const collection = await SearchedByHttp.create(rw, 'c', 2);
    await collection.insert([1, 1]);
    await rw.post('/v1/records/encrypted', { collection: 'c', payload: '' });
    const refused: readonly [object, string][] = [
      [{ query: null }, '$.query is missing'],
      [{ query: null, query_text: 'red' }, 'POST /v1/search/text searches by query_text alone'],
      [{ like: 1 }, '$.like'],
      [{ query: null, like: 2 }, 'encrypted'],
      [{ score_threshold: -1 }, '$.score_threshold'],
      [{ with: ['tag'] }, '$.with[0]'],
      [{ group_size: 2 }, '$.group_size'],
      [{ group_by: 'n', group_size: 101 }, '$.group_size'],
      [{ group_by: 'n', group_size: 5, k: 5_000 }, '$.group_size'],
      [{ group_by: 'n', query_text: 'red' }, '$.group_by'],
      [{ group_by: 'n', graph_rerank: {} }, '$.group_by'],
    ];
    for (const [options, named] of refused) {
      const answer = await collection.post(options);
      expect(refusal(answer), JSON.stringify(options)).to.deep.equal([400, 'validation_error']);
      expect(answer.body.error).to.include(named);
    }
    const search = { query: [0, 0], k: 1 };
    const batches: readonly [object[], string][] = [
      [[], '$.searches'],
      [new Array(257).fill(search), '$.searches'],
      [new Array(5).fill({ ...search, k: 5_000 }), '$.searches'],
      [[search, { k: 1 }], '$.searches[1].query'],
      [[search, { ...search, metadata_filter: { n: { gtee: 1 } } }], '$.searches[1].metadata_filter'],
    ];
    for (const [searches, named] of batches) {
      const answer = await rw.post('/v1/search/batch', { collection: 'c', searches });
      expect(refusal(answer), named).to.deep.equal([400, 'validation_error']);
      expect(answer.body.error).to.include(named);
    }
    const other = await rw.post('/v1/search/batch', { collection: 'c', searches: [search, { query: [1], k: 1 }] });
    expect(refusal(other)).to.deep.equal([400, 'dimension_mismatch']);
    expect(other.body.error).to.include('$.searches[1].query');
  });
});
