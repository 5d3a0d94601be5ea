// Covers: coordinator/handlers/recordReads.ts
/** Pages of records in the order of a metadata value, over HTTP and compared with a simple sort. */
import { expect } from 'chai';
import type { Json } from '../../shared/model/filter.js';
import type { Client } from '../support/launch/client.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import { SearchedByHttp } from '../support/launch/searchClient.js';
import { matches } from '../support/model/filter.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import { byValueAt } from '../support/model/values.js';
import { Generator, type JsonObject } from '../support/rigs/generate.js';

const RECORDS = 200;
const ROUNDS = 20;
const KEYS = ['n', 's', 'f', 'o', 'l', 'any', 'o.n', 'o.s', 'l.n', 'absent'] as const;
const CURSOR_CHARS_MAX = 376;

interface Listed {
  readonly id: number;
  readonly metadata: JsonObject | null;
}

async function pagesOf(rw: Client, asked: JsonObject): Promise<Listed[][]> {
  const pages: Listed[][] = [];
  for (let after: string | null = null; ; ) {
    const { status, body, text } = await rw.post('/v1/records/list', { collection: 'c', ...asked, after });
    expect(status, text).to.equal(200);
    pages.push(body.records);
    if (body.next === null) return pages;
    after = body.next as string;
    expect(after).to.be.a('string');
    expect(after.length).to.be.at.most(CURSOR_CHARS_MAX);
  }
}

const idsOf = (pages: readonly (readonly Listed[])[]): number[] => pages.flat().map(({ id }) => id);

async function withValues(rw: Client, values: readonly (Json | undefined)[]): Promise<SearchedByHttp> {
  const collection = await SearchedByHttp.create(rw, 'c', 1);
  const metadata = values.map((v) => (v === undefined ? null : { v })) as (JsonObject | null)[];
  await collection.fill({ batch: values.map((_, i) => [i]), metadata });
  return collection;
}

inBothModesAndThroughClient(
  'records in the order of a value',
  ['GET /v1/records', 'POST /v1/records/list'] as const,
  (service) => {
    it('pages equal those of a simple sort, with any filter and key, in both directions', async () => {
      const { rw } = await service.newProject();
      const random = new Generator(seededRandom(testSeed()), 2, false);
      const collection = await SearchedByHttp.create(rw, 'c', 2);
      const records = Array.from({ length: RECORDS }, () => random.record());
      const metadata = records.map((record) => (record.metadata as JsonObject | undefined) ?? null);
      await collection.fill({ batch: records.map(({ values }) => values), metadata });
      for (let round = 0; round < ROUNDS; round++) {
        const filter = round < 5 ? undefined : random.filter();
        const key = random.pick(KEYS);
        const order = random.pick(['asc', 'desc'] as const);
        const limit = random.pick([1, 7, 100, 1_000]);
        const wanted = metadata
          .map((of, i) => ({ id: i + 1, metadata: of ?? undefined }))
          .filter((one) => filter === undefined || matches(filter, one.metadata))
          .sort(byValueAt(key, order === 'asc' ? 1 : -1));
        const pages = await pagesOf(rw, { order_by: key, order, limit, metadata_filter: filter ?? null });
        const title = `${key} ${order} ${JSON.stringify(filter)}`;
        expect(idsOf(pages), title).to.deep.equal(wanted.map(({ id }) => id));
        expect(pages.length, title).to.equal(Math.max(1, Math.ceil(wanted.length / limit)));
      }
    });

    it('values are ordered by kind, missing ones are last in both directions, and equal ones are by id', async () => {
      const { rw } = await service.newProject();
      const values = [
        'b',
        null,
        2,
        true,
        '2026-01-02',
        undefined,
        '2026-01-01T23:00-02:00',
        [],
        'a',
        -1,
        false,
        2,
        [3, 0],
      ];
      await withValues(rw, values);
      const { body } = await rw.get('/v1/records?collection=c&order_by=v');
      const ascending = [11, 4, 10, 13, 3, 12, 5, 7, 9, 1, 2, 6, 8];
      expect([body.records.map(({ id }: Listed) => id), body.next]).to.deep.equal([ascending, null]);
      const descending = [1, 9, 7, 5, 13, 3, 12, 10, 4, 11, 2, 6, 8];
      expect(idsOf(await pagesOf(rw, { order_by: 'v', order: 'desc', limit: 2 }))).to.deep.equal(descending);
    });

    it('long strings are in an order of their own that pages keep', async () => {
      const { rw } = await service.newProject();
      const values = Array.from({ length: 30 }, (_, i) => `${i % 3}${'x'.repeat(300)}${(i * 7) % 30}`);
      await withValues(rw, values);
      const one = idsOf(await pagesOf(rw, { order_by: 'v', limit: 1 }));
      expect(one).to.deep.equal(idsOf(await pagesOf(rw, { order_by: 'v' })));
      expect(one.map((id) => values[id - 1]![0]).join('')).to.equal(
        `${'0'.repeat(10)}${'1'.repeat(10)}${'2'.repeat(10)}`,
      );
      expect(new Set(one).size).to.equal(30);
    });

    it('records that are written between two pages move, and all others are listed once', async () => {
      const { rw } = await service.newProject();
      const collection = await withValues(rw, [1, 2, 3, 4, 5, 6]);
      const first = await rw.get('/v1/records?collection=c&order_by=v&limit=3');
      expect(first.body.records.map(({ id }: Listed) => id)).to.deep.equal([1, 2, 3]);
      await collection.remove(3, '/v1/delete');
      await collection.patch(1, { v: 4.5 });
      await collection.patch(6, { v: 0 });
      const { body } = await rw.get(`/v1/records?collection=c&order_by=v&limit=3&after=${first.body.next}`);
      expect([body.records.map(({ id }: Listed) => id), body.next]).to.deep.equal([[4, 1, 5], null]);
    });

    it('encrypted records come last, and only without a filter', async () => {
      const { rw } = await service.newProject();
      await withValues(rw, [2, undefined, 1]);
      await rw.post('/v1/records/encrypted', { collection: 'c', payload: 'YQ==' });
      expect(idsOf(await pagesOf(rw, { order_by: 'v', limit: 1 }))).to.deep.equal([3, 1, 2, 4]);
      expect(idsOf(await pagesOf(rw, { order_by: 'v', metadata_filter: {} }))).to.deep.equal([3, 1]);
    });

    it('a cursor of another order, a changed cursor, and an order without order_by are refused', async () => {
      const { rw } = await service.newProject();
      await withValues(rw, [1, 2, 3]);
      const { body } = await rw.get('/v1/records?collection=c&order_by=v&limit=1');
      const next = body.next as string;
      const changed = `${next.slice(0, -3)}${next.at(-3) === 'A' ? 'B' : 'A'}${next.slice(-2)}`;
      const refused: readonly [string, string][] = [
        [`&order_by=w&after=${next}`, 'after'],
        [`&order_by=v&order=desc&after=${next}`, 'after'],
        [`&order_by=v&after=${changed}`, 'after'],
        [`&order_by=v&after=${next}A`, 'after'],
        ['&order_by=v&after=2', 'after'],
        ['&order_by=v&after=x', 'after'],
        [`&after=${next}`, 'after'],
        ['&order=desc', 'order'],
        ['&order_by=v&order=down', 'order'],
        [`&order_by=${'k'.repeat(1_025)}`, 'order_by'],
      ];
      for (const [query, named] of refused) {
        const answer = await rw.get(`/v1/records?collection=c&limit=1${query}`);
        expect([answer.status, answer.body.code], query).to.deep.equal([400, 'validation_error']);
        expect(answer.body.error, query).to.include(`query parameter ${named}`);
      }
      const sort = await rw.get('/v1/records?collection=c&sort=v');
      expect(sort.body.error).to.include('order_by');
      expect((await rw.get(`/v1/records?collection=c&order_by=v&after=${next}`)).body.records).to.have.length(2);
    });
  },
);
