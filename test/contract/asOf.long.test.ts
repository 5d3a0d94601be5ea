/** `as_of` and `as_of_log_index` over HTTP: past answers are repeated exactly, and each names its state. */
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import type { Answer } from '../support/launch/client.js';
import { DIMENSION, distance, IndexedByHttp, rowsOf } from '../support/launch/indexClient.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Service } from '../support/launch/service.js';
import { iso, RememberedCollection, timeMsOf } from '../support/rigs/rememberedCollection.js';

const FILTER = { metadata_filter: { kind: 'a' } };
const TEXT = { query_text: 'needle' };
const GRAPH = { graph_rerank: { weight: 1, seed_count: 2, direction: 'both' } };
/** Searches that together show every part of a state. */
const SEARCHES = [
  {},
  { k: 2 },
  FILTER,
  { metadata_filter: { $not: { kind: 'a' } } },
  TEXT,
  { ...TEXT, k: 1, hybrid: true },
  GRAPH,
  { ...FILTER, ...TEXT },
  { ...FILTER, ...GRAPH },
  { ...TEXT, ...GRAPH },
  { ...FILTER, ...TEXT, ...GRAPH, hybrid: true },
].map((options) => ({ query: [0, 0], k: 10, ...options }));

/** Searches that an index could change: past states are searched exactly, whatever the present index. */
const INDEX_SEARCHES = SEARCHES.slice(0, 3);

const metadata = (value: object): number[] => [...Buffer.from(JSON.stringify(value))];
const described = (kind: string, text: string) => ({ metadata: metadata({ kind }), text });

/** Makes a write of every kind; each is remembered. */
async function fill(collection: RememberedCollection): Promise<void> {
  const write = collection.write.bind(collection);
  const [nodes, edges]: [number[], number[]] = [[], []];
  const node = (record_id: number) => async (): Promise<undefined> => {
    nodes.push((await collection.post('/v1/graph/node', { kind: 0, record_id })).node_id);
  };
  const edge = (from: number, to: number) => async (): Promise<undefined> => {
    const ends = { from: nodes[from], to: nodes[to], kind: 0 };
    edges.push((await collection.post('/v1/graph/edge', ends)).edge_id);
  };
  const requestId = (n: number): string => String(n).padStart(32, '0');
  await write(1, () => collection.insert([1, 0], described('a', 'a needle')));
  await write(1, () => collection.insert([2, 0]));
  await write(3, async () => {
    const request_ids = [1, 2, 3].map(requestId);
    await collection.post('/v1/vectors/batch-insert', {
      batch: [
        [3, 0],
        [0, 3],
        [3, 3],
      ],
      metadata: [{ kind: 'a' }, null, { kind: 'b' }],
      texts: ['hay', null, 'needle needle'],
      request_ids,
    }); // prettier-ignore
    // A repeated request id returns the last receipt again.
    return collection.insert([3, 3], { request_id: request_ids[2] });
  });
  for (const id of [1, 3, 4]) await write(1, node(id));
  await write(1, edge(0, 1));
  await write(1, edge(1, 2));
  await write(1, () => collection.patch(2, { kind: 'a' }));
  await write(1, () => collection.patch(1, { kind: 'b' }));
  await write(1, async () => void (await collection.post('/v1/soft-delete', { id: 5 })));
  await write(1, () => collection.delete(`/v1/graph/edge/${edges[0]}`));
  await write(1, () => collection.delete(`/v1/graph/node/${nodes[2]}`));
  // Deletes a record with a node, metadata and text; then another record takes its slot.
  await write(1, async () => void (await collection.post('/v1/delete', { id: 1 })));
  await write(1, () => collection.insert([0, 1], described('a', 'needle')));
  await write(1, async () => void (await collection.post('/v1/delete', { id: 5 })));
  await write(1, () => collection.insert([1, 1]));
  const documents = (values: number[][], external_ids: string[]) => async (): Promise<undefined> => {
    const texts = external_ids.map((id) => `needle ${id}`);
    const metadata = external_ids.map(() => ({ kind: 'a' }));
    await collection.post('/v1/vectors/batch-upsert', { batch: values, external_ids, texts, metadata });
  };
  await write(
    2,
    documents(
      [
        [0, 0.5],
        [2, 1],
      ],
      ['x', 'y'],
    ),
  ); // prettier-ignore
  await write(
    2,
    documents(
      [
        [4, 4],
        [0.5, 0],
      ],
      ['y', 'z'],
    ),
  ); // prettier-ignore
  await write(1, documents([[0, 0.25]], ['x']));
  await write(2, async () => void (await collection.post('/v1/records/delete', { external_ids: ['z', 'x'] })));
  await write(1, documents([[0, 0.75]], ['x']));
}

const EVENTS = 27;

async function filled(
  service: Service,
  name: string,
  index?: string,
  searches = SEARCHES,
): Promise<RememberedCollection> {
  const collection = new RememberedCollection(service, await service.newProject(), name, searches);
  await fill(await collection.create(2, index));
  return collection;
}

async function newCollection(service: Service): Promise<RememberedCollection> {
  return new RememberedCollection(service, await service.newProject(), 'c').create(1);
}

function expectRefused({ status, body }: Answer, path: string): void {
  expect([status, body.code]).to.deep.equal([400, 'validation_error']);
  expect(body.error).to.include(path);
}

inBothModes('point in time', (service, { start, restartable }) => {
  for (const index of ['brute', 'hnsw', 'ivf', 'bq'])
    it(`past states answer as before, by log index and by time, over ${index}`, async () => {
      const searches = index === 'brute' ? SEARCHES : INDEX_SEARCHES;
      const collection = await filled(service, index, index, searches);
      expect(collection.states.at(-1)!.logIndex).to.equal(EVENTS);
      for (const state of collection.states) await collection.expectRemembered(state);
      const latest = await collection.search({ query: [0, 0], k: 1, as_of_log_index: EVENTS });
      const now = await collection.search({ query: [0, 0], k: 1 });
      expect(now).to.deep.equal({ results: latest.results });
    });

  it('past states answer in any order, many at once, during writes', async () => {
    const collection = await filled(service, 'c');
    const states = collection.states.flatMap((state) => [state, state]);
    const backwards = Promise.all(states.reverse().map((state) => collection.expectRemembered(state)));
    for (let i = 0; i < 20; i++) await collection.insert([i / 100, 0], described('a', 'needle'));
    await backwards;
    expect((await collection.search({ query: [0, 0], k: 1, as_of_log_index: EVENTS + 1 })).results).to.deep.equal([
      { id: 12, score: 0 },
    ]);
  });

  it('states without later losses are searchable at once, while others are added', async () => {
    const collection = new RememberedCollection(service, await service.newProject(), 'young', SEARCHES);
    await collection.create(2);
    for (let n = 1; n <= 6; n++) {
      await collection.write(1, () => collection.insert([n, 0], n === 1 ? described('a', 'needle') : {}));
      if (n % 3 === 0)
        await collection.write(1, async () => void (await collection.post('/v1/soft-delete', { id: n - 1 })));
      for (const state of collection.states) await collection.expectRemembered(state);
    }
  });

  it('each state has its own hash', async () => {
    const collection = await filled(service, 'c');
    const hashes = new Set<string>();
    for (let as_of_log_index = 0; as_of_log_index <= EVENTS; as_of_log_index++)
      hashes.add((await collection.search({ query: [0, 0], k: 1, as_of_log_index })).as_of_state_hash);
    expect(hashes.size).to.equal(EVENTS + 1);
  });

  it('the state before the first event is empty, however it is named', async () => {
    const collection = await newCollection(service);
    const ask = { query: [0], k: 5, metadata_filter: {}, query_text: 'x', decay_half_life_secs: 1, graph_rerank: {} };
    const empty = await collection.search({ ...ask, as_of_log_index: 0 });
    expect(empty).to.deep.include({ results: [], as_of_log_index: 0, as_of_timestamp: null });
    expect(empty.as_of_state_hash).to.match(/^[0-9a-f]{64}$/);
    const createdMs = systemClock.nowMs();
    expect(await collection.search({ ...ask, as_of: iso(createdMs) })).to.deep.equal(empty);
    await service.until(async () => systemClock.nowMs() > createdMs);
    await collection.insert([1]);
    const instants = ['0000-01-01T00:00:00Z', '1969-12-31T23:59:59.999Z', '2000-02-29T00:00:00+14:00', iso(createdMs)];
    for (const as_of of instants) expect(await collection.search({ ...ask, as_of })).to.deep.equal(empty);
    expect(await collection.search({ ...ask, as_of_log_index: 0 })).to.deep.equal(empty);
  });

  it('an instant counts to the millisecond, in any time zone', async () => {
    const collection = await newCollection(service);
    const timeMs = timeMsOf(await collection.insert([1]));
    await service.until(async () => systemClock.nowMs() > timeMs);
    await collection.insert([2]);
    const at = async (as_of: string): Promise<number> =>
      (await collection.search({ query: [0], k: 1, as_of })).as_of_log_index;
    const finer = (ms: number, digits: string): string => iso(ms).replace('Z', `${digits}Z`);
    const zoned = (ms: number): string => iso(ms + 3_600_000).replace('Z', '+01:00');
    for (const as_of of [iso(timeMs), finer(timeMs, '000'), finer(timeMs, '999999'), zoned(timeMs)])
      expect(await at(as_of), as_of).to.equal(1);
    for (const as_of of [iso(timeMs - 1), finer(timeMs - 1, '999999'), zoned(timeMs - 1)])
      expect(await at(as_of), as_of).to.equal(0);
    expect(await at('9999-12-31T23:59:59.999Z')).to.equal(2);
  });

  it('a log index within a batch counts each record, an instant the whole batch', async () => {
    const collection = await newCollection(service);
    await collection.post('/v1/vectors/batch-insert', { batch: [[1], [2], [3], [4]] });
    const ids = async (moment: object): Promise<number[]> =>
      (await collection.search({ query: [9], k: 9, ...moment })).results.map(({ id }) => id);
    for (const [logIndex, wanted] of [[], [1], [2, 1], [3, 2, 1], [4, 3, 2, 1]].entries())
      expect(await ids({ as_of_log_index: logIndex })).to.deep.equal(wanted);
    expect(await ids({ as_of: '9999-01-01T00:00:00Z' })).to.deep.equal([4, 3, 2, 1]);
  });

  it('ages count to the requested instant, or to the time of the event', async () => {
    const collection = await newCollection(service);
    const ask = { query: [0], k: 5, decay_half_life_secs: 10 };
    const ageNow = async (): Promise<number> => (await collection.search(ask)).results.at(-1)!.age_secs!;
    const oldMs = timeMsOf(await collection.insert([2]));
    await service.until(async () => (await ageNow()) >= 1);
    const youngMs = timeMsOf(await collection.insert([3]));
    const ageThen = Math.floor((youngMs - oldMs) / 1_000);
    await service.until(async () => (await collection.search(ask)).results.some(({ age_secs }) => age_secs! > ageThen));
    const hit = (id: number, score: number, age_secs: number) => ({
      id,
      score,
      decay_factor: 2 ** -(age_secs / 10),
      age_secs,
    });
    const { results } = await collection.search({ ...ask, as_of_log_index: 2 });
    expect(results).to.deep.equal([hit(1, 4, ageThen), hit(2, 9, 0)]);
    expect((await collection.search({ ...ask, as_of_log_index: 1 })).results).to.deep.equal([hit(1, 4, 0)]);
    const laterMs = youngMs + 90_500;
    expect((await collection.search({ ...ask, as_of: iso(laterMs) })).results).to.deep.equal([
      hit(1, 4, Math.floor((laterMs - oldMs) / 1_000)),
      hit(2, 9, 90),
    ]);
    expect((await collection.search({ ...ask, as_of: iso(youngMs - 1) })).results).to.deep.equal([
      hit(1, 4, Math.floor((youngMs - 1 - oldMs) / 1_000)),
    ]);
  });

  it('past states are searched exactly, even if the present index misses records', async () => {
    const { rw } = await service.newProject();
    const indexed = new IndexedByHttp(service, rw);
    await indexed.create();
    const rows = rowsOf(11, 2_000);
    await indexed.fill(rows);
    await indexed.configure({ type: 'ivf', parameters: { n_list: 200, n_probe: 1 } });
    await indexed.settled('ivf');
    for (let id = 1; id <= 100; id++) await indexed.remove(id, id % 2 === 0 ? '/v1/delete' : '/v1/soft-delete');
    await indexed.insert(new Array(DIMENSION).fill(0));
    const exact = (query: readonly number[], from: number, to: number) =>
      rows
        .map((row, i) => ({ id: i + 1, score: distance(query, row) }))
        .filter(({ id }) => id > from && id <= to)
        .sort((a, b) => a.score - b.score || a.id - b.id)
        .slice(0, 50);
    for (const query of rowsOf(12, 5)) {
      const ask = { collection: 'c', query, k: 50 };
      const at = async (as_of_log_index: number) =>
        (await rw.post('/v1/search', { ...ask, as_of_log_index })).body.results;
      expect(await at(2_000)).to.deep.equal(exact(query, 0, 2_000));
      expect(await at(1_500)).to.deep.equal(exact(query, 0, 1_500));
      expect(await at(2_060)).to.deep.equal(exact(query, 60, 2_000));
    }
  });

  it('a log index overrides an instant, and a multi search refuses both', async () => {
    const collection = await newCollection(service);
    for (const value of [1, 2, 3]) await collection.insert([value]);
    const both = await collection.search({ query: [9], k: 1, as_of_log_index: 2, as_of: '2000-01-01T00:00:00Z' });
    expect(both).to.deep.include({ results: [{ id: 2, score: 49 }], as_of_log_index: 2 });
    for (const field of ['as_of', 'as_of_log_index'])
      expectRefused(await collection.multi({ query: [9], k: 1, [field]: 1 }), `$.${field} is unknown here`);
  });

  it('a search refuses states that never were, and checks everything else as usual', async () => {
    const collection = await newCollection(service);
    for (const value of [1, 2, 3]) await collection.insert([value]);
    const ask = (options: object): Promise<Answer> => collection.ask({ query: [0], k: 1, ...options });
    for (const as_of_log_index of [4, 1_000_000, Number.MAX_SAFE_INTEGER, -1, 1.5, '1'])
      expectRefused(await ask({ as_of_log_index }), 'as_of_log_index');
    for (const as_of of ['2026-01-01', '2026-01-01T00:00:00', '2023-02-30T00:00:00Z', '2026-06-30T23:59:60Z', 5])
      expectRefused(await ask({ as_of, as_of_log_index: 1 }), '$.as_of');
    expectRefused(await ask({ as_of_log_index: 1, metadata_filter: { a: { in: 1 } } }), '$.metadata_filter');
    expect((await ask({ as_of_log_index: 1, query: [0, 0] })).body.code).to.equal('dimension_mismatch');
    const elsewhere = await ask({ as_of_log_index: 0, collection: 'nope' });
    expect([elsewhere.status, elsewhere.body.code]).to.deep.equal([404, 'collection_not_found']);
    expect((await ask({ as_of_log_index: 3 })).status).to.equal(200);
  });

  it('past states answer the same without room in their cache', async () => {
    // Each search rebuilds its state, all of them at once; the duration depends on the machine.
    const own = await start({ VOUCH_AS_OF_CACHE_BYTES: '1', VOUCH_DEADLINE_MS: '60000' });
    const collection = await filled(own, 'c');
    await Promise.all(collection.states.map((state) => collection.expectRemembered(state)));
  });

  it('past states answer the same after a restart of the whole service', async () => {
    const own = await restartable();
    const collection = await filled(own, 'c', 'hnsw');
    for (const name of own.processNames) await own.kill(name);
    await Promise.all(own.processNames.map((name) => own.restart(name)));
    await own.until(async () => (await collection.ask({ query: [0, 0], k: 1 })).status === 200);
    for (const state of collection.states) await collection.expectRemembered(state);
  });
});
