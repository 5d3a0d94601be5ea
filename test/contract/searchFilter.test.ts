/** `metadata_filter` over HTTP: the matches of each operator, the refusals, and full results over every index. */
import { expect } from 'chai';
import { DIMENSION, distance, IndexedByHttp, KINDS, rowsOf } from '../support/launch/indexClient.js';
import { inBothModes } from '../support/launch/modes.js';
import { SearchedByHttp } from '../support/launch/searchClient.js';

const OBJECTS = [
  { n: 1, s: 'apple', tags: ['red', 'blue'], o: { p: { q: 5 } }, flag: true },
  { n: 2.5, s: 'banana', tags: ['green'], o: { p: { q: 7 } }, flag: false },
  { n: 1, s: 'cherry', list: [{ v: 1 }, { v: 9 }], gone: null },
  { n: '1', tags: [], o: { p: {} } },
  {},
];
/** Opaque bytes match no filter: no bytes, JSON of an array, not JSON. */
const OPAQUE = [undefined, [...Buffer.from('[{"n":1}]')], [...Buffer.from('n=1')]];

const KEPT: readonly [filter: object, ids: readonly number[]][] = [
  [{}, [1, 2, 3, 4, 5]],
  [{ n: 1 }, [1, 3]],
  [{ n: '1' }, [4]],
  [{ n: 1, s: 'apple' }, [1]],
  [{ flag: false }, [2]],
  [{ gone: null }, [3]],
  [{ absent: 1 }, []],
  [{ n: { eq: 1 } }, [1, 3]],
  [{ n: { ne: 1 } }, [2, 4, 5]],
  [{ n: { gt: 1 } }, [2]],
  [{ n: { gte: 1 } }, [1, 2, 3]],
  [{ n: { lt: 2.5 } }, [1, 3]],
  [{ n: { lte: 2.5 } }, [1, 2, 3]],
  [{ n: { gte: 1, lt: 2 } }, [1, 3]],
  [{ n: { gte: '0' } }, [4]],
  [{ s: { gt: 'apple', lte: 'cherry' } }, [2, 3]],
  [{ n: { in: [2.5, '1'] } }, [2, 4]],
  [{ n: { in: [] } }, []],
  [{ n: { nin: [1] } }, [2, 4, 5]],
  [{ s: { exists: true } }, [1, 2, 3]],
  [{ s: { exists: false } }, [4, 5]],
  [{ gone: { exists: true } }, [3]],
  [{ tags: 'red' }, [1]],
  [{ tags: ['red', 'blue'] }, [1]],
  [{ tags: ['blue', 'red'] }, []],
  [{ tags: { in: ['green', 'red'] } }, [1, 2]],
  [{ tags: { ne: 'red' } }, [2, 3, 4, 5]],
  [{ 'o.p.q': 5 }, [1]],
  [{ 'o.p.q': { gt: 4, ne: 5 } }, [2]],
  [{ 'o.p': { eq: { q: 7 } } }, [2]],
  [{ 'o.p': { eq: { gtee: 7 } } }, []],
  [{ 'o.p': { foo: 7 } }, []],
  [{ o: { p: { q: 7 } } }, [2]],
  [{ o: { p: { in: [{ q: 7 }] } } }, []],
  [{ 'list.v': 9 }, [3]],
  [{ 'list.v': { lt: 5 } }, [3]],
  [{ s: { words: { all: 'APPLE' } } }, [1]],
  [{ s: { words: { any: 'cherry apple' } } }, [1, 3]],
  [{ tags: { words: { phrase: 'green' } } }, [2]],
  [{ n: { words: { any: '1' } } }, [4]],
  [{ s: { words: { all: '?' } } }, []],
  [{ $and: [{ n: 1 }, { s: { ne: 'apple' } }] }, [3]],
  [{ $or: [{ s: 'apple' }, { n: { gt: 2 } }] }, [1, 2]],
  [{ $not: { n: 1 } }, [2, 4, 5]],
  [{ n: 1, $not: { s: 'apple' } }, [3]],
  [{ $not: { $or: [{ n: 1 }, { $and: [{ n: 2.5 }, { flag: false }] }] } }, [4, 5]],
];

const REFUSED: readonly unknown[] = [
  { n: { gte: 1, near: 2 } },
  { n: { between: [1, 2] } },
  { n: { $regex: '1' } },
  { n: { gtee: 1 } },
  { n: { unit: 'km', gtee: 1 } },
  { n: { exist: true } },
  { n: { gt: true } },
  { n: { lt: null } },
  { n: { gte: [1] } },
  { n: { in: 5 } },
  { n: { nin: 'x' } },
  { n: { exists: 'yes' } },
  { $and: {} },
  { $or: [1] },
  { $not: [] },
  { $nor: [] },
  { n: { words: 'x' } },
  { n: { words: { none: 'x' } } },
  { $text: 'x' },
  { $text: { contains: 'x' } },
  { $and: [{ n: { in: 5 } }] },
  'n',
  5,
  [],
];

/** Number of records. */
const MANY = 3_000;
/** One in this many records matches. */
const ONE_IN = [10, 100, 1_000];

inBothModes('a metadata filter', (service) => {
  it('keeps its matches, operator by operator', async () => {
    const collection = await SearchedByHttp.create((await service.newProject()).rw);
    await collection.fill({ batch: OBJECTS.map((_, i) => [i + 1]), metadata: OBJECTS });
    for (const [i, metadata] of OPAQUE.entries()) await collection.insert([OBJECTS.length + i + 1], { metadata });
    for (const [filter, ids] of KEPT)
      expect(await collection.ids({ metadata_filter: filter }), JSON.stringify(filter)).to.deep.equal(ids);
    expect(await collection.ids({ metadata_filter: null })).to.have.length(OBJECTS.length + OPAQUE.length);
    expect(await collection.search({ metadata_filter: { n: { gt: 1 } } })).to.deep.equal([{ id: 2, score: 4 }]);
  });

  it('compares dates in time, and other strings as they are written', async () => {
    const collection = await SearchedByHttp.create((await service.newProject()).rw);
    const dates = ['2026-01-31T23:00-02:00', '2026-02-01', '2026-02-01T00:30Z', '2026-02-01 00:10', 'later'];
    await collection.fill({ batch: dates.map((_, i) => [i + 1]), metadata: dates.map((at) => ({ at })) });
    for (const [at, ids] of [
      [{ gte: '2026-02-01T00:30:00.000+00:00' }, [1, 3, 5]],
      [{ lt: '2026-02-01T02:00+01' }, [2, 3, 4]],
      [{ gt: '2026-02-01T01:00Z' }, [5]],
      [{ lte: '2026-02-01' }, [2]],
      [{ eq: '2026-02-01T00:00Z' }, []],
      [{ gt: '2026-02-01T' }, [3, 5]],
    ] as const)
      expect(await collection.ids({ metadata_filter: { at } }), JSON.stringify(at)).to.deep.equal(ids);
  });

  it('tests texts by their words, also of records without metadata, of the present and the past', async () => {
    const collection = await SearchedByHttp.create((await service.newProject()).rw);
    const texts = ['The white whale', 'a whale, white', 'white', null, 'White WHALE again'];
    const metadata = [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }, null];
    await collection.fill({ batch: texts.map((_, i) => [i + 1]), texts, metadata });
    const words = (test: object) => ({ metadata_filter: { $text: { words: test } } });
    expect(await collection.ids(words({ all: 'whale White' }))).to.deep.equal([1, 2, 5]);
    expect(await collection.ids(words({ phrase: 'white whale' }))).to.deep.equal([1, 5]);
    expect(await collection.ids(words({ any: 'whale the' }))).to.deep.equal([1, 2, 5]);
    const not = { metadata_filter: { $not: { $text: { words: { all: 'whale' } } } } };
    expect(await collection.ids(not)).to.deep.equal([3, 4]);
    expect(
      await collection.ids({ metadata_filter: { n: { gt: 1 }, ...words({ any: 'white' }).metadata_filter } }),
    ).to.deep.equal([2, 3]);
    const { body } = await collection.client.post('/v1/records/list', {
      ...{ collection: 'c', ...words({ phrase: 'white whale' }) },
    });
    expect(body.records.map(({ id }: { id: number }) => id)).to.deep.equal([1, 5]);
    await collection.remove(5, '/v1/soft-delete');
    await collection.remove(1);
    expect(await collection.ids(words({ all: 'whale' }))).to.deep.equal([2]);
    expect(await collection.ids({ ...words({ all: 'whale' }), as_of_log_index: 5 })).to.deep.equal([1, 2, 5]);
    expect(await collection.ids({ ...words({ phrase: 'white whale' }), as_of_log_index: 6 })).to.deep.equal([1]);
  });

  it('is 400 validation_error if it is invalid, over one collection and several', async () => {
    const { rw } = await service.newProject();
    const collection = await SearchedByHttp.create(rw);
    for (const metadata_filter of REFUSED)
      for (const answer of [
        await collection.post({ metadata_filter }),
        await rw.post('/v1/search/multi', { collections: ['c'], query: [0], k: 1, metadata_filter }),
      ]) {
        expect([answer.status, answer.body.code], JSON.stringify(metadata_filter)).to.deep.equal([
          400,
          'validation_error',
        ]);
        expect(answer.body.error).to.include('$.metadata_filter');
      }
  });

  it('reflects updates and both kinds of deletes in the very next search', async () => {
    const collection = await SearchedByHttp.create((await service.newProject()).rw);
    await collection.fill({ batch: [[1], [2], [3], [4]], metadata: [{ a: 1 }, { a: 2 }, null, { a: 1 }] });
    const ones = () => collection.ids({ metadata_filter: { a: 1 } });
    expect(await ones()).to.deep.equal([1, 4]);
    await collection.patch(2, { a: 1, b: { c: 'x' } });
    expect(await ones()).to.deep.equal([1, 2, 4]);
    await collection.patch(3, { a: [0, 1] });
    expect(await ones()).to.deep.equal([1, 2, 3, 4]);
    await collection.patch(1, {});
    expect(await ones()).to.deep.equal([2, 3, 4]);
    expect(await collection.ids({ metadata_filter: { a: { exists: false } } })).to.deep.equal([1]);
    await collection.remove(2);
    await collection.remove(4, '/v1/soft-delete');
    expect(await ones()).to.deep.equal([3]);
    expect(await collection.ids({ metadata_filter: { 'b.c': 'x' } })).to.deep.equal([]);
    await collection.insert([5], { metadata: [...Buffer.from('{"a":1.0}')] });
    expect(await ones()).to.deep.equal([3, 5]);
    expect(await collection.ids({ metadata_filter: { $not: { a: 1 } } })).to.deep.equal([1]);
  });

  for (const kind of ['brute', ...KINDS])
    it(`leaves k hits if k records match, at one in ${ONE_IN.join(', ')}, over ${kind}`, async () => {
      const { rw } = await service.newProject();
      const rows = rowsOf(7, MANY);
      const collection = await SearchedByHttp.create(rw, 'c', DIMENSION);
      await collection.fill({
        batch: rows,
        metadata: rows.map((_, i) => Object.fromEntries(ONE_IN.map((n) => [`m${n}`, i % n]))),
      });
      const indexed = new IndexedByHttp(service, rw);
      if (kind !== 'brute') {
        await indexed.configure({ type: kind });
        await indexed.settled(kind);
      }
      const query = rows[1_234]!;
      for (const n of ONE_IN) {
        const matching = rows
          .map((row, i) => ({ id: i + 1, score: distance(query, row) }))
          .filter(({ id }) => (id - 1) % n === 4)
          .sort((a, b) => a.score - b.score || a.id - b.id);
        const filter = { metadata_filter: { [`m${n}`]: 4 } };
        const all = await collection.search({ query, k: MANY, ...filter });
        expect(all, `one in ${n}`).to.deep.equal(matching);
        const k = Math.min(10, matching.length);
        const best = await collection.search({ query, k, ...filter });
        expect(best).to.have.length(k);
        if (kind === 'brute') expect(best).to.deep.equal(matching.slice(0, k));
        expect(best).to.deep.equal(matching.filter(({ id }) => best.some((hit) => hit.id === id)));
      }
    });
});
