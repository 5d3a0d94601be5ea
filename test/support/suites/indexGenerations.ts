/** Life of a generation: loaded, damaged, failed, cancelled, grown. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { nextTurn } from '../../../shared/scheduling/slice.js';
import { eventually, expectCode } from '../expectations.js';
import { bytesOf, take } from '../model/indexVectors.js';
import { batchOf, soon } from '../rigs/engine.js';
import type { IndexRig } from '../rigs/indexRig.js';
import type { Rigs } from './indexCollection.js';
import { INDEXED_SEARCH_ROWS, type KindSubject, ROWS_LEAST_INDEXED } from './indexSubject.js';

const ROWS = INDEXED_SEARCH_ROWS;
const K = 10;
/** So many that chance matters little. */
const QUERIES = 100;
/** Rows of one frame that is applied in many slices. */
const MANY = 5_000;

/** Tests of builds, damage and replacement of a generation, to which search threads make no difference. */
export function generationTests(rigs: Rigs): void {
  restartTests(rigs);
  failureTests(rigs);
  buildTests(rigs);
}

const foldersOf = (rig: IndexRig): string[] =>
  existsSync(rig.indexFolder) ? readdirSync(rig.indexFolder).filter((name) => /^g\d+$/.test(name)) : [];

/** Tests of a generation that comes, changes or goes while it is searched. */
export function searchedGenerationTests(rigs: Rigs): void {
  const { floors } = rigs.subject;

  it('is loaded after a restart, not built again', async () => {
    const { rig, next } = await rigs.indexed(ROWS);
    const { collection } = rig;
    for (const id of [...collection.records.keys()].slice(0, 100)) await collection.delete(id);
    for (let i = 0; i < 100; i++) await collection.insert(next());
    await rig.stop();
    const folders = foldersOf(rig);
    expect(folders).to.have.length(1);
    await rig.start();
    // The answer is correct, whatever is loaded by now.
    await collection.insertAndFind(next());
    expect((await collection.state()).status).to.be.oneOf(['building', 'active']);
    const { status, activeKind, activeGeneration } = await collection.settled();
    expect([status, activeKind, `g${activeGeneration}`]).to.deep.equal(['active', rigs.subject.kind, folders[0]]);
    expect(foldersOf(rig)).to.deep.equal(folders);
    expect(await collection.recall(take(QUERIES, next), K)).to.be.at.least(floors.changed);
  });

  it('is dropped at once, with its files and its memory', async () => {
    const { rig, next } = await rigs.filled(ROWS);
    const { collection } = rig;
    const usedBytes = rig.usedBytes();
    await rigs.configure(rig);
    await collection.settled();
    const searches = take(20, next).map((query) => collection.search(query, K));
    expect((await collection.configure('brute')).status).to.equal('none');
    await Promise.all(searches);
    expect(await collection.recall(take(QUERIES, next), K)).to.equal(1);
    expect(foldersOf(rig)).to.deep.equal([]);
    await eventually('its memory is released', () => rig.usedBytes() === usedBytes);
  });

  it("covers no record that takes a deleted one's slot during the build", async () => {
    const { rig, next } = await rigs.filled(ROWS);
    const { collection } = rig;
    await rigs.configure(rig);
    const ids = [...collection.records.keys()];
    const { buildingGeneration } = await collection.state();
    while ((await collection.state()).buildingGeneration === buildingGeneration) {
      if (ids.length > ROWS / 2) await collection.delete(ids.splice(rigs.random.int(ids.length), 1)[0]!);
      await collection.insertAndFind(next());
    }
    for (let i = 0; i < 50; i++) await collection.insertAndFind(next());
    expect(await collection.recall(take(QUERIES, next), K)).to.be.at.least(floors.changed);
  });
}

function restartTests(rigs: Rigs): void {
  const { floors } = rigs.subject;

  it('is set aside and built again if a byte of one of its files has changed', async () => {
    const { rig, next } = await rigs.indexed(ROWS);
    const { collection } = rig;
    await rig.stop();
    const [folder] = foldersOf(rig);
    const file = rigs.random.pick(['payload', 'rows', 'manifest.json']);
    flipByte(join(rig.indexFolder, folder!, file), rigs.random.next());
    await rig.start();
    // Meanwhile, searches are exact.
    const found = await collection.recall(take(1, next), K);
    if ((await collection.state()).activeKind === 'none') expect(found).to.equal(1);
    const state = await collection.settled();
    expect(state.status).to.equal('active');
    expect(state.activeKind).to.equal(rigs.subject.kind);
    const left = [`damaged-${folder}`, `g${state.activeGeneration}`];
    expect(readdirSync(rig.indexFolder).sort(), file).to.deep.equal(left);
    expect(await collection.recall(take(QUERIES, next), K)).to.be.at.least(floors.clustered);
  });

  it('is built again if its folder is gone', async () => {
    const { rig, next } = await rigs.indexed(ROWS);
    await rig.stop();
    rmSync(rig.indexFolder, { recursive: true });
    await rig.start();
    expect((await rig.collection.settled()).activeKind).to.equal(rigs.subject.kind);
    expect(await rig.collection.recall(take(QUERIES, next), K)).to.be.at.least(floors.clustered);
  });
}

function flipByte(path: string, at: number): void {
  const bytes = readFileSync(path);
  const index = Math.floor(at * bytes.length);
  bytes[index]! ^= 0xff;
  writeFileSync(path, bytes);
}

function failureTests(rigs: Rigs): void {
  const { floors, kind } = rigs.subject;

  it('continues to serve, and reports why, if a build fails', async () => {
    const { rig, next } = await rigs.indexed(ROWS);
    const { collection } = rig;
    const before = await collection.settled();
    rmSync(rig.indexFolder, { recursive: true });
    writeFileSync(rig.indexFolder, 'a file where a folder should be');
    await rigs.configure(rig);
    const failed = await collection.settled();
    expect(failed.status).to.equal('active');
    expect(failed.activeKind).to.equal(kind);
    expect(failed.activeGeneration).to.equal(before.activeGeneration);
    expect(failed.error).to.match(/^[^\n]+$/);
    expect(await collection.recall(take(QUERIES, next), K)).to.be.at.least(floors.clustered);
    await collection.insertAndFind(next());
    rmSync(rig.indexFolder);
    await rigs.configure(rig);
    const mended = await collection.settled();
    expect([mended.status, mended.error]).to.deep.equal(['active', null]);
    expect(mended.activeGeneration).to.be.greaterThan(before.activeGeneration!);
  });

  it('is built from scratch if the base of the build is damaged', async () => {
    const { rig, next } = await rigs.indexed(ROWS);
    const [folder] = foldersOf(rig);
    flipByte(join(rig.indexFolder, folder!, 'payload'), rigs.random.next());
    await rigs.configure(rig);
    const { status, error } = await rig.collection.settled();
    expect([status, error]).to.deep.equal(['active', null]);
    expect(await rig.collection.recall(take(QUERIES, next), K)).to.be.at.least(floors.clustered);
  });

  it('has failed if its first build fails, while exact search serves', async () => {
    const { rig, next } = await rigs.filled(ROWS);
    const { collection } = rig;
    writeFileSync(rig.indexFolder, 'a file where a folder should be');
    await rigs.configure(rig);
    const state = await collection.settled();
    expect([state.status, state.activeKind, state.activeGeneration]).to.deep.equal(['failed', 'none', null]);
    expect(state.error).to.match(/^[^\n]+$/);
    expect(await collection.recall(take(QUERIES, next), K)).to.equal(1);
    rmSync(rig.indexFolder);
  });
}

function buildTests(rigs: Rigs): void {
  const { floors, kind } = rigs.subject as KindSubject;

  it('begins a build at the last applied event, even in the middle of a frame', async () => {
    const { rig, next } = await rigs.filled(0);
    const { collection } = rig;
    await rigs.configure(rig);
    await collection.settled();
    const { journal, index } = collection.hosted.openCollection!;
    const inserted = collection.hosted.run(batchOf(take(MANY, next).map(bytesOf)), soon());
    let isAnswered = false;
    const answered = (): void => {
      isAnswered = true;
    };
    inserted.then(answered, answered);
    while (!isAnswered && journal.seenSequence - journal.sequence < ROWS_LEAST_INDEXED) await nextTurn();
    expect(index.state().baseSequence).to.equal(null);
    index.maintain();
    expect(index.state().baseSequence).to.equal(journal.seenSequence);
    expect(journal.seenSequence).to.be.within(journal.sequence + ROWS_LEAST_INDEXED, journal.sequence + MANY - 1);
    await inserted;
    expect((await collection.settled()).activeKind).to.equal(rigs.subject.kind);
  });

  it('has one build at a time, which a drop cancels', async () => {
    const { rig, next } = await rigs.filled(ROWS);
    const { collection } = rig;
    await rigs.configure(rig);
    const building = await collection.state();
    expect([building.status, building.activeKind, building.activeGeneration]).to.deep.equal(['building', 'none', null]);
    expect(building.buildStartedAtMs).to.be.greaterThan(0);
    expect(building.baseSequence).to.equal(ROWS);
    await expectCode(collection.configure(kind), 'conflict');
    const dropped = await collection.configure('brute');
    expect(dropped).to.include({ activeKind: 'none', status: 'none', desiredKind: 'brute', buildingGeneration: null });
    expect(await collection.recall(take(QUERIES, next), K)).to.equal(1);
    expect(foldersOf(rig)).to.deep.equal([]);
    await rigs.configure(rig);
    expect((await collection.settled()).activeKind).to.equal(kind);
  });

  it('is built as soon as the collection has grown to need one', async () => {
    const { rig, next } = await rigs.indexed(10);
    const { collection } = rig;
    expect(foldersOf(rig)).to.deep.equal([]);
    await collection.insertAll(take(ROWS, next));
    await eventually('the generation is saved', () => foldersOf(rig).length === 1);
    expect((await collection.settled()).activeKind).to.equal(kind);
    expect(await collection.recall(take(QUERIES, next), K)).to.be.at.least(floors.changed);
  });

  it('is replaced by a rebuild, which answers once the new one serves', async () => {
    const { rig, next } = await rigs.indexed(ROWS);
    const before = await rig.collection.settled();
    expect(await rig.collection.rebuild(null)).to.deep.equal({ records: ROWS });
    const after = await rig.collection.state();
    expect(after.activeGeneration).to.be.greaterThan(before.activeGeneration!);
    expect(after.buildingGeneration).to.equal(null);
    expect(foldersOf(rig)).to.have.length(1);
    expect(await rig.collection.recall(take(QUERIES, next), K)).to.be.at.least(floors.clustered);
    // A rebuild replaces a running build.
    await rigs.configure(rig);
    await rig.collection.rebuild(kind);
    const { status, buildingGeneration } = await rig.collection.state();
    expect([status, buildingGeneration]).to.deep.equal(['active', null]);
    expect(foldersOf(rig)).to.have.length(1);
    await rig.collection.rebuild('brute');
    expect((await rig.collection.state()).activeKind).to.equal('none');
  });
}
