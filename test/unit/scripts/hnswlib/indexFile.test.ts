/** The checks of hnswlib's files before hnswlib-node reads them, and the errors without hnswlib-node. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parseExport } from '../../../../scripts/backup/request.js';
import { indexFacts } from '../../../../scripts/hnswlib/indexFile.js';
import { documentsIn } from '../../../../scripts/load/formats/docstore.js';
import { hnswlibSource } from '../../../../scripts/load/formats/hnswlib.js';
import { parseLoad } from '../../../../scripts/load/request.js';
import { rejection } from '../../../support/expectations.js';
import { hnswlibSetup } from '../../../support/launch/compiledHnswlib.js';
import { launchNode } from '../../../support/launch/process.js';
import { hnswlibIndex } from '../../../support/rigs/hnswlibIndex.js';
import { ROOT } from '../../../support/sourceTree.js';

const ELEMENTS = [
  { label: 7n, vector: [1, 2, 3] },
  { label: 2n ** 63n, vector: [4, 5, 6] },
];

describe('hnswlib files', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-hnswlib-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const factsOf = async (bytes: Uint8Array) => {
    const path = join(folder, 'some.index');
    await writeFile(path, bytes);
    return indexFacts(path, 'some.index');
  };

  it('an index file yields its number of vectors and its dimension', async () => {
    expect(await factsOf(hnswlibIndex(3, ELEMENTS))).to.deep.equal({ count: 2, dimension: 3 });
    expect(await factsOf(hnswlibIndex(1, []))).to.deep.equal({ count: 0, dimension: 1 });
  });

  it('an index that is cut within its vectors, at any byte, is refused', async () => {
    const whole = hnswlibIndex(3, ELEMENTS);
    for (let bytes = 0; bytes < whole.length; bytes++) {
      const says =
        bytes < 96 ? /^some\.index is not an index of hnswlib: it has \d+ bytes?$/ : /^some\.index is cut short: /;
      expect((await rejection(factsOf(whole.subarray(0, bytes)))).message, `${bytes} bytes`).to.match(says);
    }
  });

  it('a file of another format is refused', async () => {
    for (const fill of [0, 1, 0xff])
      expect((await rejection(factsOf(Buffer.alloc(1_000, fill)))).message).to.match(/is not an index of hnswlib's/);
    // Capacity below the number of vectors, and above what can be linked.
    for (const most of [1n, 2n ** 60n]) {
      const odd = hnswlibIndex(3, ELEMENTS);
      odd.writeBigUInt64LE(most, 8);
      expect((await rejection(factsOf(odd))).message).to.match(/is not an index of hnswlib's/);
    }
    expect((await rejection(factsOf(hnswlibIndex(0, ELEMENTS)))).message).to.match(/is not an index of hnswlib's/);
  });

  it('a store without records is refused with the request that makes an empty collection', async () => {
    const store = join(folder, 'store');
    await mkdir(store);
    await writeFile(join(store, 'hnswlib.index'), hnswlibIndex(3, []));
    await writeFile(join(store, 'args.json'), '{"space":"l2","numDimensions":3}');
    await writeFile(join(store, 'docstore.json'), '[]');
    expect((await rejection(hnswlibSource(store, undefined))).message).to.equal(
      'store has no record; make an empty collection of dimension 3 by POST /v1/namespaces',
    );
  });

  it('documents are cut out of the docstore list, whatever their texts contain', () => {
    const documents = [
      { pageContent: 'a "quoted" \\ ] } text', metadata: { deep: [[{ a: [] }], '[{'] } },
      { pageContent: '', metadata: {}, id: 'x' },
      { pageContent: 'é 🦊 \\"', metadata: { '"]': '}' } },
    ];
    const entries = documents.map((document, i) => [String(10 * i), document]);
    for (const text of [JSON.stringify(entries), JSON.stringify(entries, null, 2)]) {
      const found = documentsIn(Buffer.from(text), 'docstore.json');
      expect([...found.keys()]).to.deep.equal([0, 10, 20]);
      expect([...found.values()].map((json) => JSON.parse(json.toString()))).to.deep.equal(documents);
    }
    expect(documentsIn(Buffer.from('[]'), 'docstore.json').size).to.equal(0);
  });

  it('a docstore that is cut short or has malformed entries is refused', () => {
    const text = JSON.stringify([['0', { pageContent: 'a]', metadata: { b: ['c'] } }]]);
    for (let chars = 0; chars < text.length; chars++)
      expect(() => documentsIn(Buffer.from(text.slice(0, chars)), 'docstore.json')).to.throw(/^docstore\.json is cut/);
    const refused = (content: unknown, says: RegExp): void => {
      expect(() => documentsIn(Buffer.from(JSON.stringify(content)), 'docstore.json')).to.throw(says);
    };
    refused([['id', {}]], /^entry 1 of docstore\.json has no label$/);
    refused(
      [
        ['0', {}],
        [1, {}],
      ],
      /^entry 2 of docstore\.json has no label$/,
    );
    refused(
      [
        ['0', {}],
        ['0', {}],
      ],
      /^docstore\.json has two documents of label 0$/,
    );
    for (const other of [{ 0: {} }, 'text', 1, null, [1], ['0'], [['0', {}], null]])
      refused(other, /^docstore\.json is cut short, or is not a list of documents$/);
    expect(() => documentsIn(Buffer.from('[] []'), 'docstore.json')).to.throw(/^docstore\.json is cut short/);
  });

  it('the command lines take a folder or a file, and the space', () => {
    const load = (...args: string[]) => parseLoad([...args, '--collection', 'c']);
    expect(load('/s', '--from', 'hnswlib')).to.deep.include({
      origin: { kind: 'hnswlib', path: '/s', space: undefined },
      progress: '/s.c.progress',
    });
    expect(load('/i', '--from=hnswlib', '--space', 'ip').origin).to.deep.include({ path: '/i', space: 'ip' });
    expect(() => load('/i', '--from', 'hnswlib', '--space', 'l1')).to.throw(
      /^--space is l1; there are l2, ip, cosine$/,
    );
    expect(() => load('/i.npy', '--space', 'l2')).to.throw(/^--space needs --from hnswlib$/);
    expect(() => load('/s', '--from', 'hnswlib', '--source', 'x')).to.throw(
      /^--source and --source-key are for services/,
    );
    expect(() => load('-', '--from', 'hnswlib')).to.throw(/^--from hnswlib reads no standard input/);
    const written = (...args: string[]) => parseExport([...args, '--collection', 'c']).target;
    expect(written('--to', 'hnswlib', '/s')).to.deep.equal({ kind: 'hnswlib', path: '/s' });
    expect(written('--out', '/f')).to.deep.equal({ kind: 'log', path: '/f' });
    expect(() => written('--to', 'faiss', '/s')).to.throw(/^--to is faiss; there is hnswlib$/);
    expect(() => written('--to', 'hnswlib')).to.throw(/^the folder to export into is missing/);
    expect(() => written('--out', '/f', '/s')).to.throw(/^Unexpected argument '\/s'$/);
    expect(() => written('--to', 'hnswlib', '/s', '--out', '/f')).to.throw(/^give --out or --to, not both$/);
  });

  describe('without hnswlib-node', () => {
    /** Loads an index while `member` of Node's modules fails for hnswlib-node. Returns the output. */
    const loadWithout = async (member: '_load' | '_resolveFilename', message: string): Promise<string> => {
      const [index, without] = [join(folder, 'small.index'), join(folder, 'without.cjs')];
      await writeFile(index, hnswlibIndex(3, ELEMENTS));
      await writeFile(
        without,
        `const Module = require('node:module');
         const original = Module.${member};
         Module.${member} = (name, ...rest) => {
           if (name === 'hnswlib-node') throw new Error(${JSON.stringify(message)});
           return original(name, ...rest);
         };`,
      );
      const args = [index, '--from', 'hnswlib', '--space', 'l2', '--collection', 'c', '--create'];
      const service = ['--url', 'http://127.0.0.1:1', '--key', 'k'];
      const env = { NODE_OPTIONS: `--require ${without}`, INIT_CWD: folder };
      const load = launchNode(join(ROOT, 'dist', 'scripts', 'load.js'), [...args, ...service], { env });
      expect((await load.waitForEnd()).code, load.output).to.equal(1);
      return load.output.trimEnd();
    };

    it('a load names the package to install, in one line', async () => {
      expect(await loadWithout('_resolveFilename', 'Cannot find module')).to.equal(
        `✘ load          hnswlib-node is not installed: npm install hnswlib-node in ${folder} compiles it, which takes g++, make and python3`,
      );
    });

    it('a load names the command that compiles the package, in one line', async () => {
      const message = 'Could not locate the bindings file. Tried:\n → /a\n → /b';
      expect(await loadWithout('_load', message)).to.equal(
        '✘ load          hnswlib-node is not compiled for this Node (Could not locate the bindings file): npm rebuild hnswlib-node does that, which takes g++, make and python3',
      );
    });

    it('set-up names the missing compiler tools in one line and starts none', async () => {
      const { compileHnswlib } = await hnswlibSetup();
      const { PATH } = process.env;
      process.env.PATH = folder;
      try {
        expect((await rejection(compileHnswlib(folder))).message).to.match(
          /^hnswlib-node is compiled when first asked for, and this machine has no \S+, no make, no \S+: install g\+\+, make and python3$/,
        );
      } finally {
        process.env.PATH = PATH;
      }
    });
  });
});
