// Covers: scripts/load/formats/hnswlib.ts, scripts/load/formats/docstore.ts, scripts/hnswlib/library.ts
// Covers: scripts/hnswlib/store.ts
/** Rows of hnswlib's files, read by hnswlib-node, which is compiled for this test. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { hnswlibNode } from '../../../../../scripts/hnswlib/library.js';
import type { Space } from '../../../../../scripts/hnswlib/store.js';
import { hnswlibSource } from '../../../../../scripts/load/formats/hnswlib.js';
import { type Columns, rowOf } from '../../../../../scripts/load/row.js';
import { type Fields, isUnreadable, type Source } from '../../../../../scripts/load/source.js';
import { rejection } from '../../../../support/expectations.js';
import { compileHnswlib } from '../../../../support/launch/compiledHnswlib.js';
import { hnswlibIndex } from '../../../../support/rigs/hnswlibIndex.js';

const COLUMNS: Columns = {
  ...{ vector: undefined, text: undefined, tag: 'id', id: 'id' },
  ...{ metadata: 'rest', isNormalised: false, numbers: new Set<string>() },
};

/** Fields of each row, or the reason why it cannot be read, by row number. */
async function read(source: Source): Promise<Record<number, Fields | string>> {
  const rows: Record<number, Fields | string> = {};
  for await (const row of source.rows()) rows[row.number] = isUnreadable(row) ? row.fault : row.fields;
  return rows;
}

describe('a load from hnswlib', () => {
  let folder: string;
  let stores = 0;
  before(async function () {
    await compileHnswlib(this);
    folder = await mkdtemp(join(tmpdir(), 'vouch-hnswlib-'));
  });
  after(() => folder && rm(folder, { recursive: true, force: true }));

  const indexOf = async (bytes: Uint8Array): Promise<string> => {
    const path = join(folder, `${++stores}.index`);
    await writeFile(path, bytes);
    return path;
  };
  /** Folder of a store. A file is left out if its content is undefined. */
  const storeOf = async (index: Uint8Array | undefined, documents: unknown, args: unknown): Promise<string> => {
    const path = join(folder, `store${++stores}`);
    await mkdir(path);
    const files = { 'hnswlib.index': index, 'docstore.json': asJson(documents), 'args.json': asJson(args) };
    for (const [name, content] of Object.entries(files))
      if (content !== undefined) await writeFile(join(path, name), content);
    return path;
  };
  const asJson = (value: unknown): string | undefined => (value === undefined ? undefined : JSON.stringify(value));
  const faultOf = async (path: string, space?: Space): Promise<string> =>
    (await rejection(hnswlibSource(path, space).then(read))).message;

  describe('from an index file', () => {
    it('yields undeleted vectors in the order of their labels, which become ids and tags', async () => {
      const index = new (hnswlibNode().HierarchicalNSW)('l2', 2);
      index.initIndex(1_000);
      for (let i = 999; i >= 0; i--) index.addPoint([i, -0.5], 5 * i);
      index.markDelete(10);
      index.resizeIndex(2_000);
      index.addPoint([0.25, 7], 4_294_967_290);
      const path = join(folder, 'own.index');
      index.addPoint([0.1, 8], 4_294_967_295);
      await index.writeIndex(path);
      const source = await hnswlibSource(path, 'l2');
      const rows = Object.entries(await read(source)).map(([number, fields]) => [Number(number), fields] as const);
      expect(source.expected(0)).to.equal(1_002);
      expect(rows).to.have.length(1_001);
      expect(rows[1]).to.deep.equal([2, { id: 5, vector: [1, -0.5] }]);
      expect(rows[2]).to.deep.equal([4, { id: 15, vector: [3, -0.5] }]);
      expect(rows.at(-1)).to.deep.equal([1_002, { id: 4_294_967_295, vector: [Math.fround(0.1), 8] }]);
      expect(rowOf(rows[1]![1] as Fields, COLUMNS, source.usual)).to.include({ externalId: '5', tag: 5 });
    });

    it('rejects a row whose label exceeds 32 bits, which hnswlib-node would truncate', async () => {
      const labels = [1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n];
      const elements = labels.map((label, i) => ({ label, vector: [i] }));
      const rows = await read(await hnswlibSource(await indexOf(hnswlibIndex(1, elements)), 'l2'));
      expect(rows[1]).to.deep.equal({ id: 1, vector: [0] });
      expect(rows[2]).to.deep.equal({ id: 4_294_967_295, vector: [1] });
      expect(rows[4]).to.equal('its label is 4294967297: hnswlib-node reads labels up to 4294967295');
      expect(Object.values(rows).filter((row) => typeof row === 'string')).to.have.length(5);
    });

    it('fails if the file is cut at any byte, or has bytes after its end', async () => {
      const whole = hnswlibIndex(2, [
        { label: 0n, vector: [1, 2] },
        { label: 1n, vector: [3, 4] },
      ]);
      for (let bytes = 0; bytes < whole.length; bytes += 3)
        expect(await faultOf(await indexOf(whole.subarray(0, bytes)), 'l2'), `${bytes} bytes`).to.match(
          /is not an index of hnswlib|is cut short/,
        );
      expect(await faultOf(await indexOf(Buffer.concat([whole, Buffer.alloc(1)])), 'l2')).to.match(
        /^\d+\.index cannot be read: Hnswlib Error: Index seems to be corrupted or unsupported$/,
      );
    });

    it('fails if two vectors have one label', async () => {
      const twice = [1, 2].map((component) => ({ label: 5n, vector: [component] }));
      expect(await faultOf(await indexOf(hnswlibIndex(1, twice)), 'l2')).to.match(
        /^\d+\.index is damaged: its 2 vectors have 1 label$/,
      );
    });

    it('rejects rows with components that are not finite or exceed Q16.16', async () => {
      const values = [32_767, 32_768, -32_769, Number.NaN, Number.POSITIVE_INFINITY];
      const elements = values.map((value, i) => ({ label: BigInt(i), vector: [value] }));
      const source = await hnswlibSource(await indexOf(hnswlibIndex(1, elements)), 'l2');
      const rows = Object.values(await read(source)) as Fields[];
      expect(rowOf(rows[0]!, COLUMNS, source.usual).externalId).to.equal('0');
      for (const fields of rows.slice(1))
        expect(() => rowOf(fields, COLUMNS, source.usual)).to.throw(
          /^component 0 is \S+: allowed is -32768 to 32767|^vector holds (?:NaN|Infinity), which is not a number$/,
        );
    });

    it('refuses a file without records, and says what to make instead', async () => {
      const path = await indexOf(hnswlibIndex(3, []));
      expect(await faultOf(path, 'cosine')).to.match(
        /^\d+\.index has no record; make an empty collection of dimension 3 by POST/,
      );
    });

    it('needs the space, and remarks where the order of results changes', async () => {
      const path = await indexOf(hnswlibIndex(1, [{ label: 0n, vector: [1] }]));
      expect(await faultOf(path)).to.match(/^\d+\.index does not say how it compares: --space says whether by l2, ip,/);
      const remarkOf = async (space: Space): Promise<string | undefined> => (await hnswlibSource(path, space)).remark;
      expect(await remarkOf('l2')).to.equal(undefined);
      expect(await remarkOf('ip')).to.match(
        /^ip: squared_l2 gives the same order only among vectors of one length; --norm/,
      );
      expect(await remarkOf('cosine')).to.equal(
        'cosine: hnswlib divides vectors by their length, so squared_l2 gives the same order',
      );
    });

    it('fails if the file does not exist', async () => {
      expect(await faultOf(join(folder, 'none'), 'l2')).to.match(/\/none does not exist$/);
    });
  });

  describe('from a LangChain.js store', () => {
    const ARGS = { space: 'ip', numDimensions: 1, docstore: { _docs: {} }, index: {} };
    const index = hnswlibIndex(1, [
      { label: 0n, vector: [0.5] },
      { label: 1n, vector: [1.5], isDeleted: true },
      { label: 2n, vector: [2.5] },
      { label: 4n, vector: [4.5] },
      { label: 5n, vector: [5.5] },
    ]);
    const documentOf = (pageContent: unknown, metadata: unknown, id?: string): object => ({
      pageContent,
      metadata,
      id,
    });

    it('yields texts, ids and metadata, and rejects vectors without documents and the reverse', async () => {
      const nested = { id: 'own', text: 7, big: 1, list: [{ a: [null] }] };
      const documents = [
        ['0', documentOf('a', nested, 'first')],
        ['1', documentOf('deleted', {})],
        ['2', documentOf('', {})],
        ['3', documentOf('of no vector', {})],
        ['4', documentOf(null, {})],
      ];
      const source = await hnswlibSource(await storeOf(index, documents, ARGS), undefined);
      expect(source.remark).to.match(/^ip: /);
      expect(await read(source)).to.deep.equal({
        1: {
          id: 'first',
          text: 'a',
          vector: [0.5],
          'metadata.id': 'own',
          'metadata.text': 7,
          big: 1,
          list: nested.list,
        },
        3: { text: '', vector: [2.5] },
        4: 'the document of label 3 has no vector',
        5: 'the document of label 4 has no pageContent',
        6: 'the vector of label 5 has no document',
      });
    });

    it('keeps numbers beyond 2^53, and rejects single rows with repeated keys or invalid UTF-8', async () => {
      const path = await storeOf(
        hnswlibIndex(
          1,
          [0n, 1n, 2n, 3n].map((label) => ({ label, vector: [1] })),
        ),
        [],
        ARGS,
      );
      const entries = ['{"a": 9007199254740993}', '{"a": 1, "a": 2}', '{"a": "\xff"}', '{"a": 3}'].map(
        (metadata, label) => `["${label}", {"pageContent": "t", "metadata": ${metadata}}]`,
      );
      await writeFile(join(path, 'docstore.json'), Buffer.from(`[${entries.join(',')}]`, 'latin1'));
      const rows = await read(await hnswlibSource(path, 'ip'));
      expect(rows[1]).to.deep.include({ a: 9_007_199_254_740_993n });
      expect(rows[2]).to.match(/a appears twice/);
      expect(rows[3]).to.match(/^byte \d+ of the document of label 2, 0xFF, is not UTF-8/);
      expect(rows[4]).to.deep.include({ a: 3 });
    });

    it('fails if a file is missing or contradicts another', async () => {
      const refused = async (path: Promise<string>, says: RegExp, space?: Space): Promise<void> => {
        expect(await faultOf(await path, space)).to.match(says);
      };
      await refused(
        storeOf(undefined, [], ARGS),
        /store\d+ is not a store of LangChain\.js: it has no hnswlib\.index$/,
      );
      await refused(
        storeOf(index, undefined, ARGS),
        /store\d+ is not a store of LangChain\.js: it has no docstore\.json; to load its vectors alone, name \S+\/hnswlib\.index and its --space$/,
      );
      await refused(
        storeOf(index, [], undefined),
        /store\d+ is not a store of LangChain\.js: it has no args\.json; to load its vectors alone, name \S+\/hnswlib\.index and its --space$/,
      );
      await refused(
        storeOf(index, [], { space: 'l1', numDimensions: 1 }),
        /^args\.json does not say the space, one of/,
      );
      await refused(storeOf(index, [], null), /^args\.json does not say the space/);
      await refused(
        storeOf(index, [], { ...ARGS, numDimensions: 2 }),
        /^args\.json says 2 components, and the vectors of hnswlib\.index have 1$/,
      );
      await refused(storeOf(index, [], ARGS), /^--space is l2, and args\.json says ip$/, 'l2');
    });
  });
});
