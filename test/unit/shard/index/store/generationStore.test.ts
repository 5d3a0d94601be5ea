// Covers: shard/index/store/generationStore.ts, shard/index/store/generationFiles.ts, shard/index/store/manifest.ts
// Covers: shard/index/store/rowsFile.ts, shared/files/asUnavailable.ts
/** Saved generations of indexes: discovery, checks and cleanup. */
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Building } from '../../../../../shard/index/building.js';
import { GenerationMaker, Unusable } from '../../../../../shard/index/generationMaker.js';
import type { IndexedCollection, IndexServices } from '../../../../../shard/index/services.js';
import {
  manifestPath,
  payloadPath,
  readRows,
  readSaved,
  type SavedGeneration,
  verifyFiles,
} from '../../../../../shard/index/store/generationFiles.js';
import { GenerationStore } from '../../../../../shard/index/store/generationStore.js';
import { DamagedGeneration } from '../../../../../shard/index/store/manifest.js';
import { hash, toHex } from '../../../../../shared/hashing/hash.js';
import { silentLogger } from '../../../../../shared/logger.js';
import { rejection } from '../../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../../support/model/random.js';
import { factsOf, saveGeneration } from '../../../../support/rigs/generations.js';

const COLLECTION = 7;

describe('saved generations', () => {
  const random = seededRandom(testSeed());
  let folder: string;
  let store: GenerationStore;
  const reopen = async (): Promise<GenerationStore> => {
    store = await GenerationStore.open(folder, silentLogger);
    return store;
  };
  const listed = async (): Promise<string[]> => (await readdir(join(folder, String(COLLECTION)))).sort();
  const rowsPath = (saved: SavedGeneration): string => join(saved.folder, 'rows');
  const verify = (saved: SavedGeneration): Promise<void> => verifyFiles(saved, () => undefined);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-generations-'));
    await reopen();
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('are read as they were written, also after a restart', async () => {
    const parameters = { m: 16, efConstruction: 200, efSearch: 64, nList: 4, nProbe: 2, candidates: 9 };
    const saved = await saveGeneration(store, 4, { parameters, kind: 'hnsw' });
    expect(await store.latest(COLLECTION)).to.deep.equal(saved);
    expect(await (await reopen()).latest(COLLECTION)).to.deep.equal(saved);
    expect(saved).to.deep.include({ facts: factsOf(4, { parameters, kind: 'hnsw' }), rowCount: 3 });
    expect(store.kindOf(COLLECTION)).to.equal('hnsw');
    await verify(saved);
    const { recordIds, leftOut } = await readRows(saved);
    expect([...recordIds]).to.deep.equal([11, 12, 2 ** 40]);
    expect([...leftOut]).to.deep.equal([1]);
  });

  it('have a manifest that an operator can read, with the names of the API', async () => {
    const saved = await saveGeneration(store, 1, { parameters: { efSearch: 64 } });
    const manifest = JSON.parse(await readFile(manifestPath(saved.folder), 'utf8')) as Record<string, unknown>;
    expect(manifest).to.deep.include({
      ...{ version: 1, collection_id: 7, number: 1, kind: 'bq', sequence: 1_234, row_count: 3 },
      parameters: { ef_search: 64 },
    });
  });

  it('with the highest number are the latest, and a collection without any has no latest one', async () => {
    for (const number of [9, 10, 2]) await saveGeneration(store, number);
    expect((await store.latest(COLLECTION))?.facts.number).to.equal(10);
    expect(await store.latest(8)).to.equal(undefined);
    expect(store.kindOf(8)).to.equal(undefined);
  });

  it('get a number above every number that exists or existed', async () => {
    expect([store.nextNumber(COLLECTION), store.nextNumber(COLLECTION), store.nextNumber(8)]).to.deep.equal([1, 2, 1]);
    const saved = await saveGeneration(store, 12);
    await reopen();
    await store.setAside(saved, 'a test');
    expect((await reopen()).nextNumber(COLLECTION)).to.equal(13);
    await store.removeAll(COLLECTION);
    expect(store.nextNumber(COLLECTION)).to.equal(14);
  });

  it('with a changed byte in the manifest are refused, and the generation before is used', async () => {
    await saveGeneration(store, 1, { kind: 'ivf' });
    const { folder: damaged } = await saveGeneration(store, 2);
    const { length } = await readFile(manifestPath(damaged));
    for (let at = 0; at < length; at++) {
      await flip(manifestPath(damaged), at);
      expect(await rejection(readSaved(damaged)), `byte ${at}`).to.be.instanceOf(DamagedGeneration);
      await flip(manifestPath(damaged), at);
    }
    expect((await store.latest(COLLECTION))?.facts.number).to.equal(2);
    await flip(manifestPath(damaged), random.int(length));
    expect((await store.latest(COLLECTION))?.facts.number).to.equal(1);
    expect(store.kindOf(COLLECTION)).to.equal('ivf');
  });

  it('with a changed byte in the rows are refused', async () => {
    const saved = await saveGeneration(store, 1);
    for (let at = 0; at < saved.rows.sizeBytes; at++) {
      await flip(rowsPath(saved), at);
      expect(await rejection(readRows(saved))).to.be.instanceOf(DamagedGeneration);
      expect(await rejection(verify(saved))).to.be.instanceOf(DamagedGeneration);
      await flip(rowsPath(saved), at);
    }
    await readRows(saved);
  });

  it('with a changed byte in the payload are refused', async () => {
    const saved = await saveGeneration(store, 1);
    for (let at = 0; at < saved.payload.sizeBytes; at++) {
      await flip(payloadPath(saved.folder), at);
      expect((await rejection(verify(saved))).message).to.equal('the file payload does not match its checksum');
      await flip(payloadPath(saved.folder), at);
    }
    await verify(saved);
  });

  it('are not set aside if the operating system cannot read a file', async () => {
    const saved = await saveGeneration(store, 1);
    await rm(rowsPath(saved));
    await mkdir(rowsPath(saved));
    const error = await rejection(verify(saved));
    expect(error).to.include({ code: 'unavailable', message: 'the file rows cannot be read (EISDIR)' });
    const setAside: unknown[] = [];
    const services = {
      store: { setAside: async (...what: unknown[]) => setAside.push(what) },
      builds: { verify: () => verify(saved) },
    } as unknown as IndexServices;
    const { collectionId: id, createdAtMs, dimension, sequence } = saved.facts;
    const collection = { config: { id, createdAtMs, dimension }, sequence } as unknown as IndexedCollection;
    const load = new GenerationMaker(collection, services).load({ facts: saved.facts } as unknown as Building, saved);
    expect(await rejection(load)).to.be.instanceOf(Unusable);
    expect(setAside).to.deep.equal([]);
  });

  it('with a shorter, longer or missing file are refused', async () => {
    const saved = await saveGeneration(store, 1);
    for (const [name, path] of [
      ['payload', payloadPath(saved.folder)],
      ['rows', rowsPath(saved)],
    ] as const) {
      const content = await readFile(path);
      await truncate(path, content.length - 1);
      const cutOff = `the file ${name} has ${content.length - 1} bytes, not ${content.length}`;
      expect((await rejection(verify(saved))).message).to.equal(cutOff);
      await writeFile(path, Buffer.concat([content, content]));
      expect(await rejection(verify(saved))).to.be.instanceOf(DamagedGeneration);
      if (name === 'rows') expect(await rejection(readRows(saved))).to.be.instanceOf(DamagedGeneration);
      await rm(path);
      expect((await rejection(verify(saved))).message).to.equal(`the file ${name} is missing`);
      await writeFile(path, content);
      await verify(saved);
    }
    await truncate(manifestPath(saved.folder), 10);
    expect(await store.latest(COLLECTION)).to.equal(undefined);
    expect(await listed()).to.deep.equal(['damaged-g1']);
  });

  it('in the folder of another collection or number are set aside', async () => {
    const saved = await saveGeneration(store, 1);
    for (const elsewhere of [store.folderOf(8, 1), store.folderOf(COLLECTION, 2)]) {
      await mkdir(elsewhere, { recursive: true });
      for (const path of [manifestPath, payloadPath])
        await writeFile(path(elsewhere), await readFile(path(saved.folder)));
    }
    expect(await store.latest(8)).to.equal(undefined);
    expect(await readdir(join(folder, '8'))).to.deep.equal(['damaged-g1']);
    expect((await store.latest(COLLECTION))?.facts.number).to.equal(1);
    expect(await listed()).to.deep.equal(['damaged-g2', 'g1']);
  });

  it('with an unknown version are not used, and stay in place', async () => {
    const newer = await saveGeneration(store, 2);
    await saveGeneration(store, 1);
    const { checksum: _, ...manifest } = JSON.parse(await readFile(manifestPath(newer.folder), 'utf8'));
    const later = { ...manifest, version: 2 };
    const checksum = toHex(hash(Buffer.from(JSON.stringify(later))));
    await writeFile(manifestPath(newer.folder), JSON.stringify({ ...later, checksum }));
    expect((await store.latest(COLLECTION))?.facts.number).to.equal(1);
    expect(await listed()).to.deep.equal(['g1', 'g2']);
  });

  it('without a manifest are removed when the store opens, but not by a later read', async () => {
    await saveGeneration(store, 1);
    const incomplete = await saveGeneration(store, 2);
    await rm(manifestPath(incomplete.folder));
    await mkdir(join(folder, '9', 'g1'), { recursive: true });
    expect((await store.latest(COLLECTION))?.facts.number).to.equal(1);
    expect(await listed()).to.deep.equal(['g1', 'g2']);
    await reopen();
    expect(await listed()).to.deep.equal(['g1']);
    expect(await readdir(folder)).to.deep.equal([String(COLLECTION)]);
    expect(store.nextNumber(COLLECTION)).to.equal(3);
  });

  it('are renamed and kept if they are damaged', async () => {
    for (const number of [1, 2, 3]) await saveGeneration(store, number, { kind: number === 1 ? 'ivf' : 'bq' });
    for (const number of [3, 2]) {
      const saved = await store.latest(COLLECTION);
      expect(saved?.facts.number).to.equal(number);
      await store.setAside(saved!, 'a test');
    }
    expect(await listed()).to.deep.equal(['damaged-g2', 'damaged-g3', 'g1']);
    expect(store.kindOf(COLLECTION)).to.equal('ivf');
  });

  it('below a number are deleted by `keepOnly`, and all of a collection by `removeAll`', async () => {
    for (const number of [1, 2, 3]) await saveGeneration(store, number);
    await saveGeneration(store, 1, { collectionId: 8 });
    await store.keepOnly(COLLECTION, 2);
    expect(await listed()).to.deep.equal(['g2', 'g3']);
    await store.removeAll(COLLECTION);
    await store.removeAll(COLLECTION);
    expect(await readdir(folder)).to.deep.equal(['8']);
    expect(store.kindOf(COLLECTION)).to.equal(undefined);
  });

  it('are deleted by `sweep` if the shard does not own their collection; other files stay', async () => {
    const ids = Array.from({ length: 20 }, (_, i) => i + 1);
    for (const collectionId of ids) await saveGeneration(store, 1, { collectionId });
    await writeFile(join(folder, 'note'), 'a file of another program');
    const owned = new Set(ids.filter(() => random.int(2) === 0));
    await store.sweep((id) => owned.has(id));
    expect((await readdir(folder)).sort()).to.deep.equal([...[...owned].map(String), 'note'].sort());
    await reopen();
    expect(ids.filter((id) => store.kindOf(id) === 'bq')).to.deep.equal([...owned]);
  });
});

/** Flips one bit of the byte at `at`; a second call restores it. */
async function flip(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[at]! ^= 1 << (at % 8);
  await writeFile(path, bytes);
}
