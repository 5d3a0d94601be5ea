// Covers: scripts/load/formats/parquet.ts, scripts/load/formats/parquetColumn.ts, scripts/load/formats/parquetTypes.ts
// Covers: scripts/load/formats/npy.ts, scripts/load/vectorBytes.ts, scripts/load/times.ts
/** Files written by pyarrow, DuckDB and NumPy (`files/make.py`): the value that each of their types becomes. */
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { FORMATS, type Format, openFile } from '../../../../scripts/load/formats/open.js';
import { type Columns, RowFault, rowOf } from '../../../../scripts/load/row.js';
import { isUnreadable, USUAL } from '../../../../scripts/load/source.js';
import { vectorBytesIn } from '../../../../scripts/load/vectorBytes.js';
import { ROOT } from '../../../support/sourceTree.js';

const COLUMNS: Columns = {
  ...{ vector: undefined, text: 'none', tag: undefined, id: undefined },
  ...{ metadata: 'rest', isNormalised: false, numbers: new Set<string>() },
};

const pathOf = (name: string): string => join(ROOT, 'test/unit/scripts/load/files', name);

/** Metadata of each row of a file, or the reason why the row is rejected. */
async function loaded(name: string, columns: Columns = COLUMNS): Promise<unknown[]> {
  const rows: unknown[] = [];
  const format = FORMATS.find((each) => name.endsWith(`.${each}`)) as Format;
  for await (const raw of (await openFile(pathOf(name), format)).rows())
    rows.push(isUnreadable(raw) ? raw.fault : metadataOrFault(raw.fields, columns));
  return rows;
}

function metadataOrFault(fields: Record<string, unknown>, columns: Columns): unknown {
  try {
    return rowOf(fields, columns, USUAL).metadata;
  } catch (error) {
    if (error instanceof RowFault) return error.message;
    throw error;
  }
}

/** Vector of each row from a field of bytes, or the reason why the row is rejected. */
async function vectorsIn(name: string, vector: string, vectorBytes: string): Promise<unknown[]> {
  const columns: Columns = { ...COLUMNS, vector, metadata: [], vectorBytes: vectorBytesIn(vectorBytes) };
  const vectors: unknown[] = [];
  const format = FORMATS.find((each) => name.endsWith(`.${each}`)) as Format;
  for await (const raw of (await openFile(pathOf(name), format)).rows()) {
    if (isUnreadable(raw)) throw new Error(raw.fault);
    try {
      const { buffer, byteOffset, length } = rowOf(raw.fields, columns, USUAL).vector as Uint8Array;
      vectors.push(Array.from(new Int32Array(buffer, byteOffset, length / 4), (component) => component / 65_536));
    } catch (error) {
      if (!(error instanceof RowFault)) throw error;
      vectors.push(error.message);
    }
  }
  return vectors;
}

async function failureOf(name: string): Promise<string> {
  try {
    return `none: ${JSON.stringify(await loaded(name))}`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Type of pyarrow → values of the first and the second row. */
const PYARROW: Readonly<Record<string, readonly [unknown, unknown]>> = {
  bool: [true, null],
  int8: [-128, null],
  uint8: [255, null],
  int16: [-32_768, null],
  uint16: [65_535, null],
  int32: [-(2 ** 31), null],
  uint32: [2 ** 32 - 1, null],
  int64: ['9007199254740993', 3],
  uint64: ['18446744073709551615', 3],
  half: [1.5, null],
  float: [1.5, null],
  double: [0.1, 1e17],
  decimal32: ['19.99', '-0.01'],
  decimal128: ['1234567890123456789012345678.0123456789', null],
  decimal256: ['9'.repeat(76), '-1'],
  text: ['naïve', null],
  largeText: ['b', ''],
  dictionary: ['x', 'x'],
  binary: ['AP+AQQ==', 'cGxhaW4='],
  fixed: ['AP+AQQ==', null],
  uuid: ['00000000-0000-0000-0000-00000000000a', null],
  date: ['2026-01-02', '0001-01-01'],
  date64: ['2026-01-02', null],
  timeMs: ['03:04:05.12', null],
  timeUs: ['03:04:05', '03:04:05.123456'],
  timeNs: ['03:04:05.000000001', null],
  timestampS: ['2026-01-02T03:04:05.000', null],
  timestampMs: ['2026-01-02T03:04:05.120', null],
  timestampUs: ['2026-01-02T03:04:05.123456', 'infinity'],
  timestampNs: ['2026-01-02T03:04:05.000000001', null],
  timestampUtc: ['2026-01-02T03:04:05.000Z', null],
  timestampZone: ['2026-01-02T03:04:05.000Z', '-infinity'],
  longAgo: ['-000001-12-31T23:59:59.999', '+010000-01-01T00:00:00.000'],
  duration: [1_500, null],
  list: [[1, null, '9007199254740993'], []],
  listOfLists: [[['a'], [], null], null],
  fixedList: [
    [1.5, 2],
    [3, 4],
  ],
  struct: [{ price: '1.10', at: '2026-01-02T03:04:05.123456' }, null],
  structs: [[{ price: '1.10', at: null }, null], []],
  map: [{ a: '1.10', b: null }, {}],
  mapOfWhole: [{ 1: 'a', 2: 'b' }, null],
  mapOfDates: [{ '2026-01-02': 1 }, null],
  null: [null, null],
};

describe('files that other programs wrote', () => {
  for (const file of ['pyarrow-types.parquet', 'pyarrow-types-v2.parquet'])
    it(`${file}: every type keeps its value, as the page says`, async () => {
      const columns: Columns = { ...COLUMNS, metadata: Object.keys(PYARROW) };
      const [first, second] = await loaded(file, columns);
      const expected = (row: 0 | 1): object =>
        Object.fromEntries(Object.entries(PYARROW).map(([name, values]) => [name, values[row]]));
      expect(first).to.deep.equal(expected(0));
      expect(second).to.deep.equal(expected(1));
      const nan: Columns = { ...COLUMNS, metadata: ['nan'] };
      expect(await loaded(file, nan)).to.deep.equal([
        'nan holds Infinity, which JSON cannot hold',
        'nan holds NaN, which JSON cannot hold',
      ]);
    });

  it('.parquet: a vector may be of any numeric type, and bytes are refused without --vector-bytes', async () => {
    const vectorOf = async (vector: string): Promise<unknown[]> =>
      loaded('pyarrow-types.parquet', { ...COLUMNS, vector, metadata: [] });
    expect((await vectorOf('fixed'))[0]).to.equal(
      'fixed holds 4 bytes: --vector-bytes says what they are, such as float32',
    );
    expect((await vectorOf('binary'))[1]).to.equal(
      'binary holds 5 bytes: --vector-bytes says what they are, such as float32',
    );
    expect(await vectorOf('fixedList')).to.deep.equal([null, null]);
    expect((await vectorOf('list'))[0]).to.equal('list holds null, which is not a number');
  });

  it('.parquet: bytes are read as vectors of the named type, and malformed bytes are rejected with their field', async () => {
    const sizes = { float32: 4, float64: 8, float16: 2 };
    for (const [type, size] of Object.entries(sizes)) {
      const [first, longer, last] = await vectorsIn('pyarrow-vectors.parquet', type, type);
      expect(first, type).to.deep.equal([1.5, -2]);
      expect(longer).to.equal(`${type} holds ${2 * size + 1} bytes: each component of ${type} takes ${size}`);
      expect(last).to.match(new RegExp(`^component 0 of ${type} is (NaN|-?Infinity): is it ${type}\\?$`));
    }
    const none = (type: string): string => `${type} holds 0 bytes: each component of ${type} takes 1`;
    const file = 'pyarrow-vectors.parquet';
    expect(await vectorsIn(file, 'int8', 'int8')).to.deep.equal([[1, -2], [1, -2, 0], none('int8')]);
    expect(await vectorsIn(file, 'uint8', 'uint8')).to.deep.equal([[1, 254], [1, 254, 0], none('uint8')]);
    expect(await vectorsIn(file, 'fixed', 'float32')).to.deep.equal([[1.5, -2], [1.5, -2], 'it has no fixed']);
    expect(await vectorsIn('duckdb-vectors.parquet', 'embedding', 'float32')).to.deep.equal([[1.5, -2]]);
    const lists = await vectorsIn('pyarrow-types.parquet', 'fixedList', 'float32');
    expect(lists[0]).to.equal('fixedList does not hold bytes: leave out --vector-bytes');
  });

  it('.csv and .jsonl: hex or base64 is read as vector bytes where --vector-bytes says so', async () => {
    expect(await vectorsIn('sqlite-vectors.csv', 'embedding', 'float32,hex')).to.deep.equal([[1.5, -2]]);
    expect(await vectorsIn('sqlite-vectors.csv', 'prefixed', 'float32')).to.deep.equal([[1.5, -2]]);
    expect(await vectorsIn('numpy-base64.jsonl', 'embedding', 'float32,base64')).to.deep.equal([[1.5, -2]]);
    expect(await vectorsIn('sqlite-vectors.csv', 'embedding', 'float32')).to.deep.equal([
      'embedding is a text: add ,hex or ,base64 to --vector-bytes, whichever its bytes are written in',
    ]);
    expect(await vectorsIn('numpy-base64.jsonl', 'embedding', 'float32,hex')).to.deep.equal([
      'embedding is not hex of whole bytes',
    ]);
    expect(await vectorsIn('sqlite-vectors.csv', 'text', 'float32,base64')).to.deep.equal(['text is not base64']);
    for (const option of ['float33', 'float32,octal', 'float32,hex,hex', '', 'hex'])
      expect(vectorBytesIn(option), option).to.equal(undefined);
  });

  it('.parquet: every compression is read, also in pages without a value', async () => {
    for (const codec of ['none', 'snappy', 'gzip', 'brotli', 'lz4', 'zstd'])
      expect(await loaded(`pyarrow-${codec}.parquet`), codec).to.deep.equal([
        { text: 'ab'.repeat(20), nothing: null },
        { text: 'b', nothing: null },
      ]);
  });

  it('.parquet: timestamps of 96 bits keep their nanoseconds', async () => {
    expect(await loaded('pyarrow-int96.parquet')).to.deep.equal([
      { at: '2026-01-02T03:04:05.000000001' },
      { at: null },
    ]);
  });

  it('.parquet: a text that is not UTF-8 is refused with its row', async () => {
    expect(await loaded('pyarrow-latin1.parquet')).to.deep.equal([
      'byte 4 of text, 0xE9, is not UTF-8: convert it to UTF-8',
      { text: 'café' },
    ]);
  });

  it('.parquet: two columns of one title are refused', async () => {
    expect(await failureOf('pyarrow-title-twice.parquet')).to.match(
      /has two columns of the title "vector": rename one$/,
    );
  });

  it('.parquet: rows of a row group are complete however its columns are split into pages', async () => {
    const rows = await loaded('pyarrow-pages.parquet');
    const expected = Array.from({ length: 600 }, (_, n) => ({
      n,
      words: n % 7 === 0 ? null : Array.from({ length: n % 5 }, () => `w${n}`),
      nested: Array.from({ length: n % 3 }, () => ({ a: n })),
    }));
    expect(rows).to.deep.equal(expected);
  });

  it('.parquet: each byte of a large row group is read once', async () => {
    const path = pathOf('pyarrow-pages.parquet');
    const probe = await open(path);
    const prototype = Object.getPrototypeOf(probe) as { read: (...args: unknown[]) => Promise<unknown> };
    await probe.close();
    const { read } = prototype;
    const counts: number[] = [];
    prototype.read = function (...args) {
      counts.push(args[2] as number);
      return read.apply(this, args);
    };
    try {
      await loaded('pyarrow-pages.parquet');
    } finally {
      prototype.read = read;
    }
    const { size } = await stat(path);
    // Twice, because the footer with the columns' offsets is read once more.
    expect(counts.reduce((sum, count) => sum + count, 0)).to.be.at.most(2 * size);
  });

  it('.parquet of DuckDB: every type keeps its value, infinite times too', async () => {
    const [first, second] = (await loaded('duckdb-types.parquet')) as Record<string, unknown>[];
    expect(first).to.deep.equal({
      ...{ bool: true, int8: -128, uint8: 255, uint64: '18446744073709551615', int64: '9007199254740993' },
      ...{ decimal: '1.25', wideDecimal: '12345678901234567890.5', text: 'naïve', enumeration: 'calm', blob: 'AP8=' },
      uuid: '00000000-0000-0000-0000-00000000000a',
      ...{ date: '-000043-03-15', time: '03:04:05.5', timestamp: '2026-01-02T03:04:05.123456' },
      ...{ timestamptz: '2026-01-02T01:04:05.000Z', timestampS: '2026-01-02T03:04:05.000' },
      ...{ timestampNs: '2026-01-02T03:04:05.000000001', interval: 'P14M3DT4.5S', map: { a: 1, b: null } },
      ...{ struct: { a: '1.10', b: [null, 'x'] }, json: { a: '9007199254740993' } },
    });
    const ends = { date: 'infinity', timestamp: 'infinity', timestamptz: '-infinity', map: {} };
    for (const [name, value] of Object.entries(second!))
      expect(value, name).to.deep.equal(ends[name as 'date'] ?? null);
  });

  it('.csv and .jsonl of DuckDB: texts are read with any content, JSON numbers beyond 2^53 are refused', async () => {
    const text: Columns = { ...COLUMNS, metadata: ['text', 'nothing', 'price', 'made', 'inner'] };
    expect(await loaded('duckdb.csv', text)).to.deep.equal([
      { text: 'a "b", ü\nc', nothing: '', price: '1.10', made: '2026-01-02 03:04:05' },
    ]);
    expect(await loaded('duckdb.jsonl', text)).to.deep.equal([
      { text: 'a "b", ü\u2028c', nothing: null, inner: { a: [1, null] } },
    ]);
    expect((await loaded('duckdb.jsonl'))[0]).to.match(/^big holds .*, which is not read to its last digit/);
  });

  it('.npy of NumPy: every numeric type is read, in either byte order', async () => {
    for (const kind of ['f2', 'f4', 'f8', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8'])
      for (const order of ['le', 'be']) {
        const name = `numpy-${kind}-${order}.npy`;
        const vectors: number[][] = [];
        for await (const row of (await openFile(pathOf(name), 'npy')).rows())
          if (!isUnreadable(row)) vectors.push(Array.from(row.fields.vector as number[]));
        expect(vectors, name).to.deep.equal([
          [1, 2],
          [100, 0],
        ]);
      }
  });

  it('.npy of NumPy: every other type and shape is refused before its first row', async () => {
    for (const kind of ['bool', 'complex', 'longdouble', 'text', 'datetime', 'records', 'objects'])
      expect(await failureOf(`numpy-${kind}.npy`), kind).to.match(
        /does not hold plain numbers: save it as numpy\.float32$/,
      );
    for (const [kind, shape] of [
      ['one', '(2)'],
      ['three', '(1, 1, 2)'],
      ['empty', '(3, 0)'],
    ] as const)
      expect(await failureOf(`numpy-${kind}.npy`), kind).to.include(`has the shape ${shape}: `);
    expect(await failureOf('numpy-fortran.npy')).to.match(/is stored by columns/);
    expect(await failureOf('numpy-twice.npy')).to.match(/continues after the 2 rows of its array/);
    expect(await loaded('numpy-none.npy')).to.deep.equal([]);
  });
});
