// Covers: shard/index/builds/buildGeneration.ts, shard/index/builds/buildWorker.ts, shard/index/progress.ts
/** Builds outside the event loop: the files that they write, and the cleanup after failures. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import type { BuildThread } from '../../../../../shard/index/builds/buildThread.js';
import { Cancelled } from '../../../../../shard/index/progress.js';
import { payloadPath, readRows, type SavedGeneration } from '../../../../../shard/index/store/generationFiles.js';
import { GenerationStore } from '../../../../../shard/index/store/generationStore.js';
import { DamagedGeneration } from '../../../../../shard/index/store/manifest.js';
import { createFile, makeDirectory } from '../../../../../shared/files/durable.js';
import { silentLogger } from '../../../../../shared/logger.js';
import { eventually, rejection } from '../../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../../support/model/random.js';
import { blockedBase, factsOf, newBuildThread, numbered, orderOf } from '../../../../support/rigs/generations.js';
import { Modelled, randomVector } from '../../kernel/kernelOracle.js';

const COLLECTION = 7;
const PATIENT = { project: 'p', urgent: false };
const URGENT = { project: 'p', urgent: true };

describe('the build thread', () => {
  const random = seededRandom(testSeed());
  let folder: string;
  let store: GenerationStore;
  let builds: BuildThread;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-builds-'));
    store = await GenerationStore.open(folder, silentLogger);
    builds = newBuildThread();
  });
  afterEach(async () => {
    await builds.close();
    await rm(folder, { recursive: true, force: true });
  });

  const collectionOf = (rows: number, dimension = 8): Modelled => {
    const collection = new Modelled(dimension);
    for (let i = 0; i < rows; i++) collection.insert(randomVector(random, dimension, 2 ** 20));
    return collection;
  };
  const generations = (): Promise<string[]> => readdir(join(folder, String(COLLECTION))).catch(() => [] as string[]);
  const recordIdsOf = async (saved: SavedGeneration): Promise<number[]> => [...(await readRows(saved)).recordIds];
  /** Starts a build of some seconds. The tests cancel or kill it within the first. */
  const longBuild = (number: number) =>
    builds.build(orderOf(store, long.vectors, number, { kind: 'hnsw', parameters: {} }), PATIENT);
  let long: Modelled;
  before(() => {
    long = collectionOf(20_000, 64);
  });

  it('writes a generation of the live rows, which is found, verified and read', async () => {
    const { vectors } = collectionOf(2_000);
    for (let slot = 0; slot < 2_000; slot += 3) vectors.retire(slot);
    const build = builds.build(orderOf(store, vectors, 1), URGENT);
    const saved = await build.done;
    expect(build.progress.done).to.be.greaterThan(0);
    expect(await store.latest(COLLECTION)).to.deep.equal(saved);
    await builds.verify(saved, 'p');
    expect(await recordIdsOf(saved))
      .to.deep.equal(numbered(vectors))
      .and.to.have.length(vectors.liveCount);
    expect([...(await readRows(saved)).leftOut]).to.deep.equal([]);
  });

  it('builds equal bytes from equal rows', async () => {
    const { vectors } = collectionOf(1_500);
    const saved = await Promise.all([1, 2].map((n) => builds.build(orderOf(store, vectors, n), PATIENT).done));
    expect(saved[0]!.payload).to.deep.equal(saved[1]!.payload);
    expect(saved[0]!.rows).to.deep.equal(saved[1]!.rows);
  });

  it('builds from the vectors of its start, although memory grows and rows change meanwhile', async () => {
    const collection = collectionOf(3_000, 64);
    const { vectors } = collection;
    const expected = await builds.build(orderOf(store, vectors, 1), PATIENT).done;
    const order = orderOf(store, vectors, 2);
    const scan = vectors.beginScan();
    const build = builds.build(order, PATIENT);
    const { grownBytes } = collection.memory;
    for (let slot = 0; slot < 1_000; slot++) collection.release(slot);
    while (collection.memory.grownBytes < grownBytes + (4 << 20)) collection.insert(randomVector(random, 64, 2 ** 20));
    const saved = await build.done;
    vectors.endScan(scan);
    expect(order.blocks[0]!.buffer.byteLength).to.be.at.most(grownBytes);
    expect([saved.payload, saved.rows]).to.deep.equal([expected.payload, expected.rows]);
  });

  it('extends a base: keeps its ordinals, leaves out dead rows, and adds new rows behind', async () => {
    const collection = collectionOf(2_000);
    const { vectors } = collection;
    const base = await builds.build(orderOf(store, vectors, 1), PATIENT).done;
    const before = await recordIdsOf(base);
    const slots = new Map([...collection.rows].map(([slot, { id }]) => [id, slot]));
    const died = before.filter(() => random.int(5) === 0);
    for (const id of died) collection.release(slots.get(id)!);
    for (let i = 0; i < 700; i++) collection.insert(randomVector(random, 8, 2 ** 20));
    const saved = await builds.build(orderOf(store, vectors, 2, { base }), PATIENT).done;
    const { recordIds, leftOut } = await readRows(saved);
    expect([...recordIds.subarray(0, before.length)]).to.deep.equal(before);
    expect([...recordIds.subarray(before.length)].sort((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 700 }, (_, i) => 2_001 + i),
    );
    expect([...leftOut].map((ordinal) => recordIds[ordinal])).to.deep.equal(died);
  });

  it('leaves out the rows that its base has left out', async () => {
    const { vectors } = collectionOf(1_200);
    const first = await builds.build(orderOf(store, vectors, 1), PATIENT).done;
    const again = store.folderOf(COLLECTION, 2);
    await makeDirectory(again);
    await createFile(payloadPath(again), await readFile(payloadPath(first.folder)));
    const { recordIds } = await readRows(first);
    const base = await builds.complete({ ...first.facts, number: 2 }, 'p', again, { recordIds, leftOut: [5, 3, 5] });
    expect(await store.latest(COLLECTION)).to.deep.equal(base);
    expect([...(await readRows(base)).leftOut]).to.deep.equal([3, 5]);
    const extended = await builds.build(orderOf(store, vectors, 3, { base }), PATIENT).done;
    const { recordIds: after, leftOut } = await readRows(extended);
    expect([...after]).to.deep.equal([...recordIds]);
    expect([...leftOut]).to.deep.equal([3, 5]);
  });

  it('builds in the order of requests, awaited builds first', async () => {
    const { vectors } = collectionOf(1_000);
    const base = await blockedBase(join(folder, 'base'));
    const blocked = builds.build(orderOf(store, vectors, 9, { base }), PATIENT);
    await base.reached();
    const ended: number[] = [];
    const orders = [PATIENT, PATIENT, URGENT, URGENT].map((urgency, i) =>
      builds.build(orderOf(store, vectors, i + 1), urgency).done.then(({ facts }) => ended.push(facts.number)),
    );
    await base.release();
    expect(await rejection(blocked.done)).to.be.instanceOf(DamagedGeneration);
    await Promise.all(orders);
    expect(ended).to.deep.equal([3, 4, 1, 2]);
  });

  it('stops a cancelled build at once, and removes its files', async () => {
    const [running, waiting, next] = [
      longBuild(1),
      longBuild(2),
      builds.build(orderOf(store, long.vectors, 3), PATIENT),
    ];
    await eventually('the build to be under way', () => running.progress.done > 0);
    waiting.cancel();
    expect(await rejection(waiting.done)).to.be.instanceOf(Cancelled);
    running.cancel();
    expect(await rejection(running.done)).to.be.instanceOf(Cancelled);
    expect(existsSync(store.folderOf(COLLECTION, 1))).to.equal(false);
    await next.done;
    expect(await generations()).to.deep.equal(['g3']);
  });

  it('fails a build whose thread dies, removes its files, and continues with the next in a new thread', async () => {
    const { vectors } = collectionOf(1_000);
    const base = await blockedBase(join(folder, 'base'));
    const started = once(process, 'worker') as Promise<[Worker]>;
    const dying = builds.build(orderOf(store, vectors, 1, { base }), PATIENT);
    const next = builds.build(orderOf(store, vectors, 2), PATIENT);
    const [worker] = await started;
    await base.reached();
    const ended = worker.terminate();
    await base.release();
    await ended;
    expect((await rejection(dying.done)).message).to.equal('the build thread died: it was ended');
    expect((await next.done).facts.number).to.equal(2);
    expect(await generations()).to.deep.equal(['g2']);
  });

  it('reports in one line why a build failed, without local paths', async () => {
    const { vectors } = collectionOf(1_000);
    await writeFile(join(folder, '8'), 'a file where a folder should be');
    const order = orderOf(store, vectors, 1, { collectionId: 8 });
    const error = await rejection(builds.build(order, PATIENT).done);
    expect(error.message).to.match(/^ENOTDIR: [a-z ]+$/);
    expect(String(error.cause)).to.contain(folder);
  });

  it('fails a build if its folder disappears', async () => {
    const { vectors } = collectionOf(5_000, 64);
    const build = builds.build(orderOf(store, vectors, 1, { kind: 'hnsw', parameters: {} }), PATIENT);
    await eventually('the build to be under way', () => build.progress.done > 0);
    await rm(join(folder, String(COLLECTION)), { recursive: true });
    expect((await rejection(build.done)).message)
      .to.not.contain('\n')
      .and.to.not.contain(folder);
    expect(await generations()).to.deep.equal([]);
  });

  it('leaves an existing generation unchanged', async () => {
    const { vectors } = collectionOf(1_000);
    const saved = await builds.build(orderOf(store, vectors, 1), PATIENT).done;
    const error = await rejection(builds.build(orderOf(store, vectors, 1), PATIENT).done);
    expect(error.message).to.equal('the folder of the generation already exists');
    await builds.verify(saved, 'p');
  });

  it('refuses a base that is damaged, missing or of another collection', async () => {
    const { vectors } = collectionOf(1_000);
    const base = await builds.build(orderOf(store, vectors, 1), PATIENT).done;
    const extended = (number: number, given = {}): Promise<Error> =>
      rejection(builds.build(orderOf(store, vectors, number, { base, ...given }), PATIENT).done);
    expect((await extended(2, { kind: 'ivf' })).message).to.equal(
      'generation 1 of collection 7 cannot be the base of this one',
    );
    const payload = await readFile(payloadPath(base.folder));
    payload[payload.length >> 1]! ^= 1;
    await writeFile(payloadPath(base.folder), payload);
    expect(await extended(3)).to.be.instanceOf(DamagedGeneration);
    expect(await rejection(builds.verify(base, 'p'))).to.be.instanceOf(DamagedGeneration);
    await rm(base.folder, { recursive: true });
    expect((await extended(4)).message).to.equal('ENOENT: no such file or directory');
    expect(await generations()).to.deep.equal([]);
  });

  it('verifies a generation while another is built', async () => {
    const { vectors } = collectionOf(1_000);
    const saved = await builds.build(orderOf(store, vectors, 1), PATIENT).done;
    const base = await blockedBase(join(folder, 'base'));
    const build = builds.build(orderOf(store, vectors, 2, { base }), PATIENT);
    await base.reached();
    await builds.verify(saved, 'p');
    build.cancel();
    await base.release();
    await rejection(build.done);
  });

  it('removes the files of a generation that cannot be completed', async () => {
    const unfinished = store.folderOf(COLLECTION, 1);
    await mkdir(unfinished, { recursive: true });
    const rows = { recordIds: new Float64Array(1), leftOut: [] };
    await rejection(builds.complete(factsOf(1), 'p', unfinished, rows));
    expect(existsSync(unfinished)).to.equal(false);
  });

  it('cancels every build when it is closed', async () => {
    const orders = [1, 2, 3].map(longBuild);
    await eventually('a build to be under way', () => orders[0]!.progress.done > 0);
    await builds.close();
    for (const { done } of orders) expect(await rejection(done)).to.be.instanceOf(Cancelled);
    expect(await rejection(longBuild(4).done)).to.be.instanceOf(Cancelled);
    expect(await generations()).to.deep.equal([]);
  });

  it('does not keep a process alive when it has nothing to build', async () => {
    const program = fileURLToPath(new URL('../../../../support/rigs/buildAndEnd.js', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program, folder], { timeout: 8_000 });
    expect(stdout).to.equal('built\n');
  });
});
