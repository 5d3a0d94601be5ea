/** `decay_half_life_secs` over HTTP: exact factors, true distances, and an order that no index limits. */
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import { DIMENSION, IndexedByHttp, KINDS, rowsOf } from '../support/launch/indexClient.js';
import { inBothModes } from '../support/launch/modes.js';
import { type Hit, SearchedByHttp } from '../support/launch/searchClient.js';
import type { Service } from '../support/launch/service.js';

const factorOf = (ageSecs: number, halfLifeSecs: number): number => 2 ** -(ageSecs / halfLifeSecs);

/** Waits until the only record of the collection, or its nearest, has that age. */
const untilAged = (service: Service, collection: SearchedByHttp, ageSecs: number): Promise<void> =>
  service.until(async () => {
    const [first] = await collection.search({ k: 1, decay_half_life_secs: 1_000_000 });
    return first!.age_secs! >= ageSecs;
  });

function expectDecayed(hits: readonly Hit[], halfLifeSecs: number): void {
  for (const { decay_factor, age_secs } of hits) {
    expect(age_secs).to.satisfy(Number.isInteger).and.to.be.at.least(0);
    expect(decay_factor).to.equal(factorOf(age_secs!, halfLifeSecs));
  }
  const distances = hits.map(({ score, decay_factor }) => score / decay_factor!);
  expect(distances).to.deep.equal([...distances].sort((a, b) => a - b));
}

inBothModes('decay', (service) => {
  it('orders by score / factor, shows factor and age, and keeps the score', async () => {
    const collection = await SearchedByHttp.create((await service.newProject()).rw);
    const insertedMs = systemClock.nowMs();
    await collection.insert([2]);
    await untilAged(service, collection, 2);
    await collection.insert([3]);
    const hits = await collection.search({ decay_half_life_secs: 1 });
    const elapsedSecs = (systemClock.nowMs() - insertedMs) / 1_000;
    // Two half-lives turn 4 into at least 16; the young one stays at 9, or below the other for two more seconds.
    expect(hits.map(({ id, score }) => [id, score])).to.deep.equal([
      [2, 9],
      [1, 4],
    ]);
    for (const hit of hits) expect(hit).to.have.all.keys('id', 'score', 'decay_factor', 'age_secs');
    expect(hits[1]!.age_secs).to.be.within(2, elapsedSecs);
    expectDecayed(hits, 1);

    const slow = await collection.search({ decay_half_life_secs: 1_000 });
    expect(slow.map(({ id }) => id)).to.deep.equal([1, 2]);
    expectDecayed(slow, 1_000);
    const longest = await collection.search({ decay_half_life_secs: Number.MAX_SAFE_INTEGER });
    expectDecayed(longest, Number.MAX_SAFE_INTEGER);
  });

  it('is off with 0, null or no value: no order, no fields', async () => {
    const collection = await SearchedByHttp.create((await service.newProject()).rw);
    await collection.fill({ batch: [[2], [1]] });
    for (const options of [{}, { decay_half_life_secs: 0 }, { decay_half_life_secs: null }])
      expect(await collection.search(options)).to.deep.equal([
        { id: 2, score: 1 },
        { id: 1, score: 4 },
      ]);
  });

  it('is 400 validation_error if it is negative, broken or not a number', async () => {
    const { rw } = await service.newProject();
    const collection = await SearchedByHttp.create(rw);
    for (const decay_half_life_secs of [-1, 1.5, '60', true, {}])
      for (const answer of [
        await collection.post({ decay_half_life_secs }),
        await rw.post('/v1/search/multi', { collections: ['c'], query: [0], k: 1, decay_half_life_secs }),
      ]) {
        expect([answer.status, answer.body.code]).to.deep.equal([400, 'validation_error']);
        expect(answer.body.error).to.include('$.decay_half_life_secs');
      }
  });

  it('puts exact matches first, whatever their age, ties by id', async () => {
    const collection = await SearchedByHttp.create((await service.newProject()).rw);
    await collection.insert([0]);
    await untilAged(service, collection, 1);
    await collection.fill({ batch: [[1], [0], [5]] });
    expect(await collection.ids({ decay_half_life_secs: 1 })).to.deep.equal([1, 3, 2, 4]);
  });

  it('finds a young record far down the plain order, over every index', async () => {
    const { rw } = await service.newProject();
    const count = 2_000;
    // Distances from 444,668 on, half of them nearer than the young record; old ones count 16 times as far.
    const rows = rowsOf(3, count);
    const young = new Array(DIMENSION).fill(700);
    const collections = await Promise.all(
      ['brute', ...KINDS].map(async (kind) => {
        const collection = await SearchedByHttp.create(rw, kind, DIMENSION);
        await collection.fill({ batch: rows, metadata: rows.map((_, i) => ({ even: i % 2 === 0 })) });
        const indexed = new IndexedByHttp(service, rw, kind);
        if (kind !== 'brute') {
          await indexed.configure({ type: kind });
          await indexed.settled(kind);
        }
        return collection;
      }),
    );
    for (const collection of collections) await untilAged(service, collection, 4);
    for (const collection of collections) {
      const id = await collection.insert(young, { metadata: [...Buffer.from('{"even":true}')] });
      const plain = await collection.ids({ k: 100 });
      expect(plain, collection.name).not.to.include(id);
      for (const options of [{}, { metadata_filter: { even: true } }]) {
        const hits = await collection.search({ k: 5, decay_half_life_secs: 1, ...options });
        expect(hits, collection.name).to.have.length(5);
        expect(hits[0], collection.name).to.include({ id, score: DIMENSION * 700 ** 2 });
        expectDecayed(hits, 1);
      }
    }
  });
});
