// Covers: scripts/load/formats/, scripts/load/combined.ts, scripts/load/source.ts, scripts/load/json.ts
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { beside } from '../../../../scripts/load/combined.js';
import { type Format, formatOf, openFile } from '../../../../scripts/load/formats/open.js';
import { isUnreadable, type Source } from '../../../../scripts/load/source.js';
import { fvecsOf, npyBytes, npyOf } from '../../../support/rigs/vectorFiles.js';

/** Two rows of a JSON list, a text and an INT64, written by hyparquet-writer 0.17. */
const PARQUET =
  'UEFSMRUGFSgVLFwVBBUAFQQVABUEFQAAAAMDEkQFAAAAWzEsMl0FAAAAWzMsNF0VBhUYFRxcFQQVABUEFQAVBBUAAAADAwokAQAAAGEBAAAAYh' +
  'UGFSQVKFwVBBUAFQQVABUEFQAAAAMDEDzRBwAAAAAAANIHAAAAAAAAFQQZTEgEcm9vdBUGABUMJQIYCWVtYmVkZGluZyUmABUMJQIYBHRleHQl' +
  'AAAVBCUCGAR5ZWFyABYEGRwZPCYIHBUMGRUAGRgJZW1iZWRkaW5nFQIWBBZSFlYmCDw2ACgFWzMsNF0YBVsxLDJdABkcFQYVABUCAAAAJl4cFQ' +
  'wZFQAZGAR0ZXh0FQIWBBZCFkYmXjw2ACgBYhgBYQAZHBUGFQAVAgAAACakARwVBBkVABkYBHllYXIVAhYEFk4WUiakATw2ACgI0gcAAAAAAAAY' +
  'CNEHAAAAAAAAABkcFQYVABUCAAAAFuIBFgQ27gEAKAloeXBhcnF1ZXQZPBwAABwAABwAAAAEAQAAUEFSMQ==';

describe('files of rows', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-formats-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  let files = 0;
  const opened = async (format: Format, bytes: Uint8Array | string): Promise<Source> => {
    const path = join(folder, `${++files}.${format}`);
    await writeFile(path, bytes);
    return openFile(path, formatOf(path)!);
  };
  /** Numbers and fields of all rows, with vectors as arrays. */
  const read = async (source: Source): Promise<unknown[]> => {
    const rows: unknown[] = [];
    for await (const row of source.rows()) {
      if (isUnreadable(row)) rows.push([row.number, row.fault]);
      else rows.push([row.number, JSON.parse(JSON.stringify(row.fields, (_, value) => plain(value)))]);
    }
    return rows;
  };
  const plain = (value: unknown): unknown => {
    if (typeof value === 'bigint') return `${value}n`;
    return ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<number>) : value;
  };
  const failureOf = async (source: Source): Promise<string> => {
    try {
      await read(source);
    } catch (error) {
      return (error as Error).message;
    }
    return 'none';
  };

  it('.jsonl: a line is an object or a bare vector; any other is reported by its number', async () => {
    const text = '\uFEFF{"vector":[1,2],"a":{"b":3}}\r\n\n[3,4]\n{"vector"\n5\n{"vector":[5,6]}';
    const rows = await read(await opened('jsonl', text));
    expect(rows.slice(0, 2)).to.deep.equal([
      [1, { vector: [1, 2], a: { b: 3 } }],
      [3, { vector: [3, 4] }],
    ]);
    expect(rows.slice(2).map((row) => (row as unknown[])[0])).to.deep.equal([4, 5, 6]);
    expect((rows[2] as string[])[1]).to.match(/^the line is not JSON/);
    expect((rows[3] as string[])[1]).to.equal('the line is not an object of JSON');
  });

  it('.csv: quoted fields may contain commas, quotes and line ends', async () => {
    const source = await opened('csv', 'vector,text\n"[1, 2]","a ""b"", c\nd"\n"3 4",e\n');
    expect(await read(source)).to.deep.equal([
      [1, { vector: '[1, 2]', text: 'a "b", c\nd' }],
      [2, { vector: '3 4', text: 'e' }],
    ]);
    expect(await failureOf(await opened('csv', 'a,b\n1,2,3\n'))).to.match(/^\d+\.csv is not valid CSV: /);
  });

  it('.npy: every numeric type is read, in either byte order', async () => {
    expect(
      await read(
        await opened(
          'npy',
          npyOf([
            [0.5, -1],
            [2, 3],
          ]),
        ),
      ),
    ).to.deep.equal([
      [1, { vector: [0.5, -1] }],
      [2, { vector: [2, 3] }],
    ]);
    const kinds: Readonly<Record<string, number[]>> = {
      '<f2': [0x00, 0x3c, 0x00, 0xc1],
      '>f2': [0x3c, 0x00, 0xc1, 0x00],
      '>f4': [0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0],
      '<f8': [0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0x04, 0xc0],
    };
    for (const [descr, bytes] of Object.entries(kinds))
      expect(await read(await opened('npy', npyBytes(descr, '(1, 2)', Uint8Array.from(bytes)))), descr).to.deep.equal([
        [1, { vector: [1, -2.5] }],
      ]);
    const whole: Readonly<Record<string, number[]>> = {
      '|i1': [1, 0xfe],
      '<i2': [1, 0, 0xfe, 0xff],
      '>i4': [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe],
      '<i8': [1, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    };
    for (const [descr, bytes] of Object.entries(whole))
      expect(await read(await opened('npy', npyBytes(descr, '(1, 2)', Uint8Array.from(bytes)))), descr).to.deep.equal([
        [1, { vector: [1, -2] }],
      ]);
  });

  it('.npy: a file that is not a table of vectors is refused with advice', async () => {
    const some = new Uint8Array(16);
    expect(await failureOf(await opened('npy', 'hello'))).to.match(/is not an \.npy file$/);
    expect(await failureOf(await opened('npy', npyBytes('|O8', '(1, 2)', some)))).to.match(/numpy\.float32$/);
    expect(await failureOf(await opened('npy', npyBytes('<f4', '(4,)', some)))).to.match(/has the shape \(4\)/);
    expect(await failureOf(await opened('npy', npyBytes('<f4', '(2, 2)', some, true)))).to.match(/ascontiguousarray$/);
    expect(await failureOf(await opened('npy', npyBytes('<f4', '(3, 2)', some)))).to.match(/ends within row 3 of 3$/);
    for (const head of ['\x93NUMPY', '\x93NUMPY\x01\0', '\x93NUMPY\x02\0\x10\0'])
      expect(await failureOf(await opened('npy', Buffer.from(head, 'latin1')))).to.match(/ends within its head$/);
  });

  it('.fvecs, .bvecs and .ivecs: each vector is read by its length prefix', async () => {
    const source = await opened(
      'fvecs',
      fvecsOf([
        [1.5, 2],
        [3, 4],
      ]),
    );
    expect(await read(source)).to.deep.equal([
      [1, { vector: [1.5, 2] }],
      [2, { vector: [3, 4] }],
    ]);
    expect(source.expected(1)).to.equal(2);
    const bytes = await opened('bvecs', Uint8Array.of(3, 0, 0, 0, 7, 8, 255));
    expect(await read(bytes)).to.deep.equal([[1, { vector: [7, 8, 255] }]]);
    const numbers = await opened('ivecs', Uint8Array.of(1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff));
    expect(await read(numbers)).to.deep.equal([[1, { vector: [-1] }]]);
    expect(await failureOf(await opened('fvecs', 'nothing of the kind'))).to.match(/is damaged, or not a \.fvecs file/);
    expect(await failureOf(await opened('fvecs', Uint8Array.of(2, 0, 0, 0, 1)))).to.match(/ends within vector 1$/);
  });

  it('.parquet: lists of numbers, texts and whole numbers are read', async () => {
    const source = await opened('parquet', Buffer.from(PARQUET, 'base64'));
    expect(await read(source)).to.deep.equal([
      [1, { embedding: [1, 2], text: 'a', year: '2001n' }],
      [2, { embedding: [3, 4], text: 'b', year: '2002n' }],
    ]);
    expect(source.expected(1)).to.equal(2);
    expect(await failureOf(await opened('parquet', 'hello hello'))).to.match(/is not a Parquet file/);
  });

  it('beside: the fields of two files are joined row by row, and different lengths are refused', async () => {
    const vectors = npyOf([
      [1, 2],
      [3, 4],
    ]);
    const texts = (lines: number): Promise<Source> =>
      opened('jsonl', '{"text":"a"}\n{"text":"b"}\n{"text":"c"}\n'.slice(0, 13 * lines));
    expect(await read(beside(await opened('npy', vectors), await texts(2)))).to.deep.equal([
      [1, { text: 'a', vector: [1, 2] }],
      [2, { text: 'b', vector: [3, 4] }],
    ]);
    expect(await failureOf(beside(await opened('npy', vectors), await texts(1)))).to.match(/ends before row 2 of/);
    expect(await failureOf(beside(await opened('npy', vectors), await texts(3)))).to.match(/has more rows than/);
  });
});
