// Covers: scripts/backup/writeStore.ts, scripts/service/collections.ts, scripts/setup/hnswlib.mjs
/**
 * Stores of LangChain.js, written and loaded by its own `HNSWLib`. The test installs it, because it is too large for
 * the checkout.
 */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { runExport, runLoad, runStoreExport, succeeded } from '../support/launch/commands.js';
import { compileHnswlib } from '../support/launch/compiledHnswlib.js';
import { loadRig } from '../support/launch/loadRig.js';
import { skip } from '../support/skip.js';
import { ROOT } from '../support/sourceTree.js';

const PACKAGES = ['@langchain/community@1.1.29', '@langchain/core@1.4.0'];
const FLAGS = ['--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel=error'];

interface Document {
  readonly pageContent: string;
  readonly metadata: object;
  readonly id?: string;
}

interface Store {
  addVectors(vectors: number[][], documents: Document[]): Promise<void>;
  similaritySearchVectorWithScore(query: number[], k: number): Promise<[Document, number][]>;
  save(folder: string): Promise<void>;
  readonly index: { getCurrentCount(): number };
}

interface HNSWLib {
  new (embeddings: object, args: { readonly space: string }): Store;
  load(folder: string, embeddings: object): Promise<Store>;
}

const EMBEDDINGS = { embedDocuments: () => Promise.resolve([]), embedQuery: () => Promise.resolve([]) };

/** Points around a circle, at distances from its centre. */
const pointsOf = (count: number): number[][] =>
  Array.from({ length: count }, (_, i) => [Math.cos(i) * (1 + i / 8), Math.sin(i) * (1 + i / 8), 0.25]);
const documentsOf = (count: number): Document[] =>
  Array.from({ length: count }, (_, i) => ({
    pageContent: i % 3 === 0 ? '' : `text ${i} "é"`,
    metadata: i % 2 === 0 ? {} : { n: i, loc: { lines: { from: i, to: i + 1 } }, tags: ['a', null] },
    ...(i % 5 === 0 && { id: `id-${i}` }),
  }));

describe('a store of LangChain.js', () => {
  const rig = loadRig();
  const { at } = rig;
  let HNSWLib: HNSWLib;
  let stores = 0;
  before(async function () {
    await compileHnswlib(this);
    const modules = join(rig.folder, 'node_modules');
    await mkdir(modules);
    await writeFile(join(rig.folder, 'package.json'), '{}');
    await promisify(execFile)('npm', ['install', ...FLAGS, ...PACKAGES], { cwd: rig.folder }).catch((error: Error) =>
      skip(this, `LangChain.js cannot be installed: ${error.message.split('\n')[0]}`),
    );
    await symlink(join(ROOT, 'node_modules', 'hnswlib-node'), join(modules, 'hnswlib-node'));
    const file = join(modules, '@langchain/community/dist/vectorstores/hnswlib.js');
    ({ HNSWLib } = await import(pathToFileURL(file).href));
  });

  const newFolder = (): string => join(rig.folder, `store-${++stores}`);
  const storeOf = async (space: string, count: number): Promise<{ store: Store; folder: string }> => {
    const store = new HNSWLib(EMBEDDINGS, { space });
    await store.addVectors(pointsOf(count), documentsOf(count));
    const folder = newFolder();
    await store.save(folder);
    return { store, folder };
  };
  const load = (folder: string, collection: string, ...args: string[]): Promise<string> =>
    succeeded(runLoad(at, folder, collection, ['--from', 'hnswlib', '--create', ...args]));
  /** Nearest documents of the collection, with their distances. */
  const nearest = async (collection: string, query: number[], k: number): Promise<[Document, number][]> => {
    const body = { collection, query, k, with: ['metadata', 'text'] };
    const { results } = (await at.rw.post('/v1/search', body)).body as {
      results: { score: number; text: string; metadata: object | null }[];
    };
    return results.map(({ score, text, metadata }) => [{ pageContent: text, metadata: metadata ?? {} }, score]);
  };
  const contentsOf = (found: readonly [Document, number][]): unknown[] =>
    found.map(([{ pageContent, metadata }]) => ({ pageContent, metadata }));
  const query = [0.5, -0.75, 0.125];

  for (const [space, says] of [
    ['l2', undefined],
    ['cosine', /^ {2}order +cosine: hnswlib divides vectors by their length, so squared_l2 gives the same order$/m],
    ['ip', /^ {2}order +ip: squared_l2 gives the same order only among vectors of one length; --normalise gives /m],
  ] as const)
    it(`in the space ${space} is loaded with its texts and metadata, and a line about the order`, async () => {
      const { store, folder } = await storeOf(space, 40);
      const output = await load(folder, 'loaded', '--metadata', 'n,loc,tags');
      if (says === undefined) expect(output).not.to.match(/ order /);
      else expect(output).to.match(says);
      expect(output).to.match(/^✔ collection +loaded: 40 records are in it$/m);
      expect(await readdir(rig.folder)).to.include(`${folder.slice(rig.folder.length + 1)}.loaded.progress`);
      if (space === 'ip') return;
      const found = await store.similaritySearchVectorWithScore(query, 10);
      const length = Math.hypot(...query);
      const asked = space === 'l2' ? query : query.map((component) => component / length);
      expect(contentsOf(await nearest('loaded', asked, 10))).to.deep.equal(contentsOf(found));
    });

  it('compared by ip is loaded in the order of cosine with --normalise', async () => {
    const { folder } = await storeOf('ip', 40);
    const { store } = await storeOf('cosine', 40);
    await load(folder, 'normal', '--metadata', 'n,loc,tags', '--normalise');
    const length = Math.hypot(...query);
    const found = await nearest(
      'normal',
      query.map((component) => component / length),
      10,
    );
    expect(contentsOf(found)).to.deep.equal(contentsOf(await store.similaritySearchVectorWithScore(query, 10)));
  });

  it('loaded and saved again by LangChain.js is loaded', async () => {
    const { folder } = await storeOf('cosine', 5);
    const again = newFolder();
    await (await HNSWLib.load(folder, EMBEDDINGS)).save(again);
    expect(await readFile(join(again, 'args.json'), 'utf8')).to.match(/_docs/);
    expect(await load(again, 'again')).to.match(/^✔ collection +again: 5 records are in it$/m);
  });

  it('is written by an export, and LangChain.js finds and adds documents in it', async () => {
    await at.rw.post('/v1/namespaces', { name: 'born', dimension: 3, metric: 'squared_l2' });
    const batch = pointsOf(1_500);
    const metadata = batch.map((_, i) => (i % 2 === 0 ? null : { n: i, deep: { list: [i, 'é'] } }));
    const texts = batch.map((_, i) => (i % 3 === 0 ? null : `text ${i}`));
    await at.rw.post('/v1/vectors/batch-insert', { collection: 'born', batch, metadata, texts });
    await at.rw.post('/v1/records/delete', { collection: 'born', ids: [1, 700, 1_500] });
    await at.rw.post('/v1/records/encrypted', { collection: 'born', payload: 'eA==' });
    await at.rw.post('/v1/records', { collection: 'born', values: [0, 0, 0], text: 'zeros' });
    const folder = newFolder();
    const output = await succeeded(runStoreExport(at, 'born', folder));
    expect(output).to.match(/^! left out +1 record of zeros without text and metadata, as encrypted ones are$/m);
    expect(output).to.match(/^✔ folder +store-\d+: 1,498 documents, compared by l2$/m);
    expect(await readdir(folder)).to.have.members(['args.json', 'docstore.json', 'hnswlib.index']);

    const store = await HNSWLib.load(folder, EMBEDDINGS);
    expect(store.index.getCurrentCount()).to.equal(1_498);
    const found = await store.similaritySearchVectorWithScore(query, 10);
    const wanted = await nearest('born', query, 10);
    expect(contentsOf(found)).to.deep.equal(
      wanted.map(([{ pageContent, metadata: object }]) => ({ pageContent: pageContent ?? '', metadata: object })),
    );
    for (const [i, [, distance]] of found.entries()) expect(distance).to.be.closeTo(wanted[i]![1], 1e-4);
    await store.addVectors([query], [{ pageContent: 'added', metadata: {} }]);
    expect((await store.similaritySearchVectorWithScore(query, 1))[0]![0].pageContent).to.equal('added');
  });

  it('is written in the space cosine for a collection that normalises, where queries may have any length', async () => {
    await at.rw.post('/v1/namespaces', { name: 'angles', dimension: 3, metric: 'squared_l2', normalise: true });
    const batch = pointsOf(40);
    const texts = batch.map((_, i) => `text ${i}`);
    await at.rw.post('/v1/vectors/batch-insert', { collection: 'angles', batch, texts });
    const folder = newFolder();
    const output = await succeeded(runStoreExport(at, 'angles', folder));
    expect(output).to.match(/^✔ folder +store-\d+: 40 documents, compared by cosine$/m);
    const store = await HNSWLib.load(folder, EMBEDDINGS);
    const long = query.map((component) => 100 * component);
    const found = await store.similaritySearchVectorWithScore(long, 10);
    const wanted = await nearest('angles', query, 10);
    expect(contentsOf(found)).to.deep.equal(contentsOf(wanted));
    for (const [i, [, distance]] of found.entries()) expect(distance).to.be.closeTo(wanted[i]![1] / 2, 1e-4);
  });

  it('returns external ids, and keeps tags in its metadata', async () => {
    await at.rw.post('/v1/namespaces', { name: 'there', dimension: 1, metric: 'squared_l2' });
    const rows = { batch: [[1], [2], [3]], external_ids: ['a', 'b', '0'], tags: [0, 7, 8] };
    const metadata = [null, { x: 1 }, { tag: 'own' }];
    await at.rw.post('/v1/vectors/batch-upsert', { collection: 'there', ...rows, metadata, texts: ['t', null, 'u'] });
    const folder = newFolder();
    await succeeded(runStoreExport(at, 'there', folder));
    expect(JSON.parse(await readFile(join(folder, 'docstore.json'), 'utf8'))).to.deep.equal([
      ['0', { pageContent: 't', metadata: {}, id: 'a' }],
      ['1', { pageContent: '', metadata: { x: 1, tag: 7 }, id: 'b' }],
      ['2', { pageContent: 'u', metadata: { tag: 'own', 'record.tag': 8 }, id: '0' }],
    ]);
    await load(folder, 'back', '--id', 'id', '--metadata', 'x');
    const { records } = (await at.rw.get('/v1/records?collection=back&with=vector')).body as { records: unknown[] };
    expect(records).to.deep.equal([
      { id: 1, external_id: 'a', tag: 0, metadata: null, vector: [1] },
      { id: 2, external_id: 'b', tag: 0, metadata: { x: 1 }, vector: [2] },
      { id: 3, external_id: '0', tag: 0, metadata: null, vector: [3] },
    ]);
  });

  it('is written for an empty collection, and LangChain.js adds documents to it', async () => {
    await at.rw.post('/v1/namespaces', { name: 'empty', dimension: 2, metric: 'squared_l2' });
    await succeeded(runStoreExport(at, 'empty', newFolder()));
    await at.rw.post('/v1/records', { collection: 'empty', values: [0, 0], tag: 7 });
    const folder = newFolder();
    expect(await succeeded(runStoreExport(at, 'empty', folder))).to.match(/^! left out +1 record of zeros without/m);
    const store = await HNSWLib.load(folder, EMBEDDINGS);
    expect(store.index.getCurrentCount()).to.equal(0);
    await store.addVectors([[1, 2]], [{ pageContent: 'first', metadata: {} }]);
    expect(contentsOf(await store.similaritySearchVectorWithScore([1, 2], 1))).to.deep.equal([
      { pageContent: 'first', metadata: {} },
    ]);
  });

  it('never overwrites anything, and leaves nothing behind if the collection is missing', async () => {
    const failed = async (collection: string, folder: string, says: RegExp): Promise<void> => {
      const run = runStoreExport(at, collection, folder);
      expect((await run.waitForEnd()).code).to.equal(1);
      expect(run.output).to.match(says);
    };
    const before = await readdir(rig.folder);
    await failed('none', newFolder(), /^✘ export +the collection none does not exist$/m);
    await failed('none', rig.folder, /^✘ export +.* is there already: choose another name$/m);
    await failed('none', join(rig.folder, 'no', 'folder'), /^✘ export +the folder .*\/no does not exist$/m);
    expect(await readdir(rig.folder)).to.deep.equal(before);
    const log = runExport(at, 'none', join(rig.folder, 'none.vouchlog'));
    expect((await log.waitForEnd()).code).to.equal(1);
  });
});
