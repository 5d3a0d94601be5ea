/** Tests that every kind of index must pass, with rows but without a collection. */
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { BuildProgress, Cancelled } from '../../../shard/index/progress.js';
import { rejection } from '../expectations.js';
import { nearest, recallOf, type Spread, take, type Vector, vectorSource } from '../model/indexVectors.js';
import { type SeededRandom, seededRandom, testSeed } from '../model/random.js';
import { IndexedRows } from '../rigs/indexedRows.js';
import { INDEXED_SEARCH_DIMENSION, INDEXED_SEARCH_ROWS, type KindSubject, NARROW } from './indexSubject.js';

const ROWS = 2_000;
const DIMENSION = 32;
const QUERIES = 40;
const K = 10;
/** Dimensions with numbers of rows: enough rows to form clusters, few enough for a quick test. */
const ROWS_OF_DIMENSION = [
  [1, 1_200],
  [3, 1_200],
  [100, 1_000],
  [768, 500],
  [4_096, 200],
] as const;
const SELECTIVITIES = [0.5, 0.1, 0.01, 0.001] as const;

interface Fixture {
  readonly random: SeededRandom;
  open(rows: number, spread?: Spread, dimension?: number): Promise<Filled>;
}

interface Filled {
  readonly table: IndexedRows;
  /** Further rows of the same spread, and queries. */
  readonly next: () => Vector;
}

/** `scale`: a power of two by which all components are multiplied. */
export function kindTests(subject: KindSubject, scale: number): void {
  let table: IndexedRows | undefined;
  let random = seededRandom(0);
  before(() => {
    random = seededRandom(testSeed());
  });
  afterEach(async () => {
    await table?.dispose();
    table = undefined;
  });
  const fill = (rows: number, spread: Spread, dimension: number): Filled => {
    const source = vectorSource(random, dimension, spread);
    const next = (): Vector => source().map((component) => Math.floor(component * scale));
    table = new IndexedRows({ kind: subject.kind, parameters: NARROW[subject.kind], dimension });
    table.insert(take(rows, next));
    return { table, next };
  };
  const fixture: Fixture = {
    get random() {
      return random;
    },
    async open(rows, spread = 'clustered', dimension = DIMENSION) {
      const filled = fill(rows, spread, dimension);
      await filled.table.buildAndOpen();
      return filled;
    },
  };
  recallTests(subject, fixture);
  changeTests(subject, fixture);
  eligibleTests(subject, fixture);
  payloadTests(subject, fixture);
}

function recallTests({ floors }: KindSubject, fixture: Fixture): void {
  for (const spread of ['clustered', 'uniform'] as const)
    it(`finds near rows among ${spread} ones`, async () => {
      const { table, next } = await fixture.open(ROWS, spread);
      expect(await table.recall(take(QUERIES, next), K)).to.be.at.least(floors[spread]);
    });

  for (const [dimension, rows] of ROWS_OF_DIMENSION)
    it(`finds near rows in ${dimension} dimensions`, async () => {
      const { table, next } = await fixture.open(rows, 'clustered', dimension);
      expect(await table.recall(take(QUERIES / 2, next), K)).to.be.at.least(floors.dimension(dimension));
    });

  it('finds k rows when all rows are equal', async () => {
    const { table, next } = await fixture.open(1, 'uniform');
    const [[, same]] = [...table.records] as [[number, Vector]];
    table.insert(take(ROWS - 1, () => same));
    await table.buildAndOpen();
    expect(await table.search(same, K)).to.have.length(K);
    for (const { score } of await table.search(same, K)) expect(score).to.equal(0);
    expect(await table.search(next(), K)).to.have.length(K);
    for (const id of [...table.records.keys()].slice(0, ROWS / 2)) table.delete(id);
    expect(await table.search(same, K)).to.have.length(K);
  });

  it('finds a single row', async () => {
    const { table, next } = await fixture.open(1);
    expect((await table.search(next(), 1)).map(({ id }) => id)).to.deep.equal([1]);
    expect((await table.search(next(), K)).map(({ id }) => id)).to.deep.equal([1]);
    table.delete(1);
    expect(await table.search(next(), K)).to.deep.equal([]);
  });

  it('proposes each row at most once if k exceeds the number of rows', async () => {
    const { table, next } = await fixture.open(ROWS);
    const found = await table.search(next(), 5_000);
    expect(found.length).to.be.within(1, ROWS);
    expect(new Set(found.map(({ id }) => id)).size).to.equal(found.length);
  });

  it('reports its cost, size and free capacity', async () => {
    const { table } = await fixture.open(INDEXED_SEARCH_ROWS, 'clustered', INDEXED_SEARCH_DIMENSION);
    expect(table.index.bytes).to.be.greaterThan(0);
    expect(table.index.capacityLeft).to.be.at.least(0);
    expect(table.index.cost(K)).to.be.within(1, INDEXED_SEARCH_ROWS);
    expect(table.index.cost(5_000)).to.be.at.least(table.index.cost(K));
  });
}

function changeTests({ floors }: KindSubject, fixture: Fixture): void {
  it('never proposes a row that was removed', async () => {
    const { table, next } = await fixture.open(ROWS);
    const ids = [...table.records.keys()].filter(() => fixture.random.next() < 0.5);
    for (const id of ids) table.delete(id);
    expect(await table.recall(take(QUERIES, next), K)).to.be.at.least(floors.clustered);
  });

  it('finds most rows that it absorbed after the build', async () => {
    const { table, next } = await fixture.open(ROWS);
    const added = table.insert(take(ROWS / 4, next));
    const left = new Set(table.absorb());
    let missed = 0;
    for (const id of added.filter((one) => !left.has(one))) {
      const [first] = await table.search(table.records.get(id)!, 1);
      if (first?.id !== id) missed++;
    }
    expect(missed / added.length).to.be.at.most(1 - floors.itself);
    expect(left.size / added.length, 'left to the tail').to.be.at.most(0.05);
    expect(await table.recall(take(QUERIES, next), K)).to.be.at.least(floors.clustered - left.size / ROWS);
  });

  it('gives the slot of a removed row to another row', async () => {
    const { table, next } = await fixture.open(ROWS);
    for (let round = 0; round < 4; round++) {
      const ids = [...table.records.keys()].filter(() => fixture.random.next() < 0.1);
      for (const id of ids) table.delete(id);
      table.insert(take(ids.length, next));
      table.absorb();
      expect(await table.recall(take(QUERIES / 4, next), K)).to.be.at.least(floors.changed);
    }
  });

  it('can be built on a base', async () => {
    const { table, next } = await fixture.open(ROWS / 2);
    const base = await table.build();
    for (const id of [...table.records.keys()].filter(() => fixture.random.next() < 0.2)) table.delete(id);
    table.insert(take(ROWS / 2, next));
    const payload = await table.buildAndOpen(base);
    expect([...payload.recordIds.subarray(0, base.recordIds.length)]).to.deep.equal([...base.recordIds]);
    expect(await table.recall(take(QUERIES, next), K)).to.be.at.least(floors.changed);
    // Builds on that base again, with more deletions.
    for (const id of [...table.records.keys()].filter(() => fixture.random.next() < 0.2)) table.delete(id);
    table.insert(take(100, next));
    await table.buildAndOpen(payload);
    expect(await table.recall(take(QUERIES, next), K)).to.be.at.least(floors.changed);
  });

  it('survives removals of rows during a search', async () => {
    const { table, next } = await fixture.open(ROWS);
    const removeSome = (): void => {
      for (let i = 0; i < 5 && table.records.size > 0; i++)
        table.delete(fixture.random.pick([...table.records.keys()]));
    };
    table.onPause = removeSome;
    for (const query of take(QUERIES, next)) {
      const searches = [table.search(query, K), table.search(query, 500)];
      removeSome();
      for (const search of searches) for (const { id } of await search) expect(table.records.has(id)).to.equal(true);
    }
    table.onPause = () => {};
    expect(await table.recall(take(QUERIES, next), K)).to.be.at.least(floors.clustered);
  });
}

function eligibleTests({ floors }: KindSubject, fixture: Fixture): void {
  for (const selectivity of SELECTIVITIES)
    it(`proposes only eligible rows, if ${selectivity * 100}% are eligible`, async () => {
      const { table, next } = await fixture.open(ROWS);
      const eligible = new Set([...table.records.keys()].filter(() => fixture.random.next() < selectivity));
      const among = [...table.records].filter(([id]) => eligible.has(id));
      const slots = table.slotsOf(eligible);
      let right = 0;
      for (const query of take(QUERIES, next)) {
        const found = await table.search(query, K, slots);
        const exact = nearest(among, query, K);
        // Fewer than k are allowed: the caller then scans the eligible rows.
        right += found.length < exact.length ? 1 : recallOf(found, exact);
      }
      expect(right / QUERIES).to.be.at.least(floors.eligible);
    });

  it('proposes nothing if no row is eligible', async () => {
    const { table, next } = await fixture.open(ROWS);
    expect(await table.search(next(), K, table.slotsOf(new Set()))).to.deep.equal([]);
  });
}

function payloadTests({ floors }: KindSubject, fixture: Fixture): void {
  it('proposes the same rows from a payload that it has written', async () => {
    const { table, next } = await fixture.open(ROWS);
    for (const id of [...table.records.keys()].filter(() => fixture.random.next() < 0.1)) table.delete(id);
    table.insert(take(200, next));
    table.absorb();
    const queries = take(QUERIES, next);
    const found = async () => Promise.all(queries.map((query) => table.search(query, K)));
    const before = await found();
    await table.open(await table.persist());
    expect(await table.recall(queries, K)).to.be.at.least(floors.changed);
    const same = (await found()).filter((hits, i) => JSON.stringify(hits) === JSON.stringify(before[i])).length;
    expect(same / QUERIES).to.be.at.least(floors.samePersisted);
  });

  it('builds equal bytes from equal rows', async () => {
    const { table } = await fixture.open(ROWS);
    const [one, other] = [await table.build(), await table.build()];
    expect(readFileSync(one.path).equals(readFileSync(other.path))).to.equal(true);
    expect(other.leftOut).to.deep.equal(one.leftOut);
  });

  it('refuses an inconsistent payload, with a message of one line', async () => {
    const { table, next } = await fixture.open(ROWS);
    const damage: readonly ((path: string) => void)[] = [
      (path) => truncateSync(path, 0),
      (path) => truncateSync(path, 3),
      (path) => truncateSync(path, Math.floor(statSync(path).size / 2)),
      (path) => truncateSync(path, statSync(path).size - 1),
      (path) => writeFileSync(path, Buffer.alloc(statSync(path).size, 0xff)),
    ];
    for (const [which, spoil] of damage.entries()) {
      const payload = await table.build();
      await table.close();
      const { usedBytes } = table;
      spoil(payload.path);
      const error = await rejection(table.open(payload));
      expect(error.message, `damage ${which}`).to.match(/^[^\n]+$/);
      expect(table.usedBytes, `memory after damage ${which}`).to.equal(usedBytes);
    }
    await table.buildAndOpen();
    expect(await table.recall(take(QUERIES, next), K)).to.be.at.least(floors.clustered);
  });

  it('releases all its vector memory', async () => {
    const { table, next } = await fixture.open(1);
    for (let round = 0; round < 3; round++) {
      await table.close();
      table.insert(take(ROWS, next));
      const beside = table.usedBytes - table.vectors.bytes;
      await table.buildAndOpen();
      table.insert(take(100, next));
      table.absorb();
      await table.search(next(), K);
      table.delete([...table.records.keys()].at(-1)!);
      await table.close();
      expect(table.usedBytes - table.vectors.bytes).to.equal(beside);
    }
  });

  it('stops a build once it is cancelled', async () => {
    const { table } = await fixture.open(ROWS);
    const progress = new BuildProgress();
    progress.cancel();
    expect(await rejection(table.build(undefined, progress))).to.be.instanceOf(Cancelled);
    const counted = new BuildProgress();
    await table.build(undefined, counted);
    expect(counted.total).to.be.greaterThan(0);
    expect(counted.done).to.equal(counted.total);
  });
}
