/** Tests of searches that a collection must pass with any index or none. */
import { expect } from 'chai';
import { INDEX_KINDS } from '../../../shared/model/indexKinds.js';
import type { Results } from '../../../shared/protocol/calls.js';
import { bytesOf, nearest, take, type Vector, vectorSource } from '../model/indexVectors.js';
import { type SeededRandom, seededRandom, testSeed } from '../model/random.js';
import { soon } from '../rigs/engine.js';
import { type IndexRig, openIndexRig } from '../rigs/indexRig.js';
import {
  INDEXED_SEARCH_DIMENSION,
  INDEXED_SEARCH_ROWS,
  type IndexSubject,
  NARROW,
  ROWS_LEAST_INDEXED,
} from './indexSubject.js';

const ROWS = INDEXED_SEARCH_ROWS;
const DIMENSION = INDEXED_SEARCH_DIMENSION;
const K = 10;
const QUERIES = 30;
/** Share of the records that are deleted, and of the deletions that a search follows. */
const [DELETED, SEARCHED] = [0.2, 0.25];
const DIMENSIONS = [1, 3, 100, 768, 4_096] as const;
const KINDS: readonly (keyof typeof NARROW)[] = [...INDEX_KINDS, 'brute'];

export interface Rigged {
  readonly rig: IndexRig;
  readonly next: () => Vector;
}

/** Opens rigs for the tests of one suite, and disposes of them. */
export class Rigs {
  #random = seededRandom(0);
  readonly #open: IndexRig[] = [];

  constructor(readonly subject: IndexSubject) {
    before(() => {
      this.#random = seededRandom(testSeed());
    });
    afterEach(async () => {
      for (const rig of this.#open.splice(0)) await rig.dispose();
    });
  }

  get random(): SeededRandom {
    return this.#random;
  }

  /** A collection of `rows` records without an index. */
  async filled(
    rows: number,
    { dimension = this.subject.dimension ?? DIMENSION, absorbs = true } = {},
  ): Promise<Rigged> {
    const { threads = 0, graphBytesMax } = this.subject;
    const rig = await openIndexRig({ dimension, absorbs, threads, graphBytesMax });
    this.#open.push(rig);
    const next = vectorSource(this.#random, dimension, 'clustered');
    await rig.collection.insertAll(take(rows, next));
    return { rig, next };
  }

  async configure({ collection }: IndexRig): Promise<void> {
    await collection.configure(this.subject.kind, NARROW[this.subject.kind]);
  }

  /** A collection of `rows` records, served by the subject's index. */
  async indexed(rows: number, options: { dimension?: number; absorbs?: boolean } = {}): Promise<Rigged> {
    const rigged = await this.filled(rows, options);
    await this.configure(rigged.rig);
    const { activeKind, status, error } = await rigged.rig.collection.settled();
    const kind = this.subject.kind;
    expect({ activeKind, status, error }).to.deep.equal(
      kind === 'brute'
        ? { activeKind: 'none', status: 'none', error: null }
        : { activeKind: kind, status: 'active', error: null },
    );
    return rigged;
  }
}

export function collectionTests(rigs: Rigs): void {
  sizeTests(rigs);
  changeTests(rigs);
  swapTests(rigs);
}

function sizeTests(rigs: Rigs): void {
  const { floors } = rigs.subject;

  it('finds near records', async () => {
    const { rig, next } = await rigs.indexed(ROWS);
    expect(await rig.collection.recall(take(QUERIES, next), K)).to.be.at.least(floors.clustered);
  });

  it('accepts a query at any offset within a message', async () => {
    const { rig, next } = await rigs.indexed(ROWS_LEAST_INDEXED);
    const query = next();
    const there = await rig.collection.search(query, K);
    for (const offset of [0, 1, 2, 3]) {
      const message = Buffer.concat([Buffer.alloc(offset), bytesOf(query), Buffer.alloc(5)]);
      const call = { op: 'search', query: message.subarray(offset, -5), k: K } as const;
      const { ids } = (await rig.collection.hosted.run(call, soon())) as Results['search'];
      expect([...new Float64Array(ids.slice().buffer)]).to.deep.equal(there.map(({ id }) => id));
    }
  });

  for (const dimension of DIMENSIONS)
    it(`serves ${dimension} dimensions`, async () => {
      const { rig, next } = await rigs.indexed(ROWS_LEAST_INDEXED, { dimension });
      expect(await rig.collection.recall(take(10, next), K)).to.be.at.least(floors.dimension(dimension));
      await rig.collection.insertAndFind(next());
    });

  it('serves an empty collection, then one record, then more', async () => {
    const { rig, next } = await rigs.indexed(0);
    const { collection } = rig;
    expect(await collection.search(next(), K)).to.deep.equal([]);
    const id = await collection.insertAndFind(next());
    expect((await collection.search(next(), K)).map((hit) => hit.id)).to.deep.equal([id]);
    await collection.delete(id);
    expect(await collection.search(next(), K)).to.deep.equal([]);
    await collection.insertAll(take(ROWS_LEAST_INDEXED, next));
    await collection.settled();
    expect(await collection.recall(take(QUERIES, next), K)).to.be.at.least(floors.changed);
  });

  it('returns all records if k is larger than their number', async () => {
    const { rig, next } = await rigs.indexed(ROWS_LEAST_INDEXED);
    const query = next();
    const found = await rig.collection.search(query, 5_000);
    expect(found).to.deep.equal(nearest(rig.collection.records, query, 5_000));
    rig.collection.check();
  });

  it('returns k of equal records', async () => {
    const { rig, next } = await rigs.filled(0);
    const same = next();
    await rig.collection.insertAll(take(ROWS_LEAST_INDEXED, () => same));
    await rigs.configure(rig);
    await rig.collection.settled();
    for (const query of [same, next()]) expect(await rig.collection.search(query, K)).to.have.length(K);
    for (const id of [...rig.collection.records.keys()].slice(0, ROWS_LEAST_INDEXED / 2))
      await rig.collection.delete(id);
    for (const query of [same, next()]) expect(await rig.collection.search(query, K)).to.have.length(K);
    rig.collection.check();
  });
}

function changeTests(rigs: Rigs): void {
  const { floors } = rigs.subject;

  for (const op of ['softDelete', 'delete'] as const)
    it(`never shows a record after ${op}`, async () => {
      const { rig, next } = await rigs.indexed(ROWS);
      const { collection } = rig;
      for (const id of [...collection.records.keys()].filter(() => rigs.random.next() < DELETED)) {
        const vector = collection.records.get(id)!;
        await collection.delete(id, op);
        if (rigs.random.next() < SEARCHED)
          expect((await collection.search(vector, K)).map((hit) => hit.id)).to.not.include(id);
      }
      expect(await collection.recall(take(QUERIES, next), K)).to.be.at.least(floors.clustered);
    });

  it('finds each insert at once: before, during and after a build, a drop and a restart', async () => {
    const { rig, next } = await rigs.filled(ROWS);
    const { collection } = rig;
    const some = async (count = 20): Promise<void> => {
      for (let i = 0; i < count; i++) await collection.insertAndFind(next());
    };
    await some();
    await rigs.configure(rig);
    const { buildingGeneration } = await collection.state();
    if (buildingGeneration !== null)
      while ((await collection.state()).buildingGeneration === buildingGeneration) await some(1);
    await some(50);
    await rigs.configure(rig);
    await some(1);
    await rig.restart();
    await some();
    await collection.settled();
    await some();
    await rig.restart();
    await some(1);
    await collection.configure('brute');
    await some();
    collection.check();
  });
}

function swapTests(rigs: Rigs): void {
  it('answers correctly while indexes are swapped under load, with or without absorption', async () => {
    const absorbs = rigs.random.pick([false, true]);
    const { rig, next } = await rigs.indexed(ROWS, { absorbs });
    const { collection } = rig;
    const other = rigs.random.pick(KINDS.filter((kind) => kind !== rigs.subject.kind));
    let swapping = true;
    const until = async (work: () => Promise<unknown>): Promise<void> => {
      while (swapping) await work();
    };
    const deleteOne = async (): Promise<void> => {
      // Deletes as many as are inserted, so that the collection keeps its size.
      if (collection.records.size > ROWS)
        await collection.delete(
          rigs.random.pick([...collection.records.keys()]),
          rigs.random.pick(['delete', 'softDelete']),
        );
      else await collection.search(next(), K);
    };
    const swap = async (): Promise<void> => {
      for (const kind of [other, rigs.subject.kind]) {
        await collection.configure(kind, NARROW[kind]);
        await collection.settled();
      }
    };
    const load = [
      until(() => collection.insertAndFind(next())),
      until(() => collection.insert(next())),
      until(deleteOne),
      until(() => collection.search(next(), rigs.random.pick([1, K, 300]))),
    ];
    try {
      await Promise.race([swap(), ...load]);
    } finally {
      swapping = false;
    }
    await Promise.all(load);
    collection.check();
    await collection.settled();
    const recall = await collection.recall(take(QUERIES, next), K);
    expect(recall, `absorbs: ${absorbs}`).to.be.at.least(rigs.subject.floors.changed);
  });
}
