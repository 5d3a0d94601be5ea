// Covers: scripts/load/formats/lines.ts, scripts/load/utf8.ts
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Format, openFile } from '../../../../../scripts/load/formats/open.js';
import { isUnreadable } from '../../../../../scripts/load/source.js';

describe('lines of a text file', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-lines-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  let files = 0;
  /** Fields of each row, or the reason why it cannot be read. */
  const read = async (format: Format, content: string | Buffer, delimiter?: string): Promise<unknown[]> => {
    const path = join(folder, `${++files}`);
    await writeFile(path, content);
    const rows: unknown[] = [];
    for await (const row of (await openFile(path, format, delimiter)).rows())
      rows.push(isUnreadable(row) ? row.fault : row.fields);
    return rows;
  };
  const failureOf = async (format: Format, content: string | Buffer): Promise<string> => {
    try {
      return `none: ${JSON.stringify(await read(format, content))}`;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

  it("a row that is not UTF-8 is refused with the byte's position, and the others are read", async () => {
    const fault = 'byte 23 of the line, 0xE9, is not UTF-8: convert it to UTF-8';
    const lines = Buffer.concat([latin1('{"n":1,"text":"naive, é"}\n'), Buffer.from('{"text":"é"}\n{"n":2}')]);
    expect(await read('jsonl', lines)).to.deep.equal([fault, { text: 'é' }, { n: 2 }]);
    const table = Buffer.concat([Buffer.from('id,text\n1,é\n'), latin1('Caf\xe9,a\n'), Buffer.from('3,😀\n')]);
    expect(await read('csv', table)).to.deep.equal([
      { id: '1', text: 'é' },
      'byte 4 of id, 0xE9, is not UTF-8: convert it to UTF-8',
      { id: '3', text: '😀' },
    ]);
    // Halves of surrogate pairs, an overlong encoding, and a truncated character.
    for (const bytes of ['eda080', 'c0af', 'f0908d'])
      expect(await read('jsonl', Buffer.from(`7b2261223a22${bytes}227d`, 'hex')), bytes).to.match(/is not UTF-8/);
  });

  it('titles that are not UTF-8, and files of UTF-16, end the load', async () => {
    expect(await failureOf('csv', latin1('id,caf\xe9\n1,2\n'))).to.match(/^byte 4 of title 2, 0xE9, is not UTF-8/);
    for (const format of ['csv', 'jsonl'] as const)
      expect(await failureOf(format, Buffer.from('\uFEFF{"a":1}\n', 'utf16le'))).to.match(
        /is UTF-16 or UTF-32: convert it to UTF-8$/,
      );
  });

  it('a byte order mark is dropped before the first title and the first row', async () => {
    expect(await read('csv', '\uFEFFid,n\n1,2\n')).to.deep.equal([{ id: '1', n: '2' }]);
    expect(await read('csv', '\uFEFF"id",n\n1,2\n')).to.deep.equal([{ id: '1', n: '2' }]);
    expect(await read('jsonl', '\uFEFF{"id":1}\n')).to.deep.equal([{ id: 1 }]);
    expect(await read('csv', '\uFEFFid\n1\n')).to.deep.equal([{ id: '1' }]);
  });

  it('a CSV file of one line is refused, since that line is its titles', async () => {
    expect(await failureOf('csv', '1,2,3,4\n')).to.match(
      /^\d+ has one line, which is read as the titles of its columns \("1", "2", "3", …\): add rows below it, or titles above/,
    );
    expect(await failureOf('csv', 'a')).to.match(/the titles of its columns \("a"\): /);
    expect(await read('csv', '')).to.deep.equal([]);
  });

  it('an empty line below a single title is an empty field, and below several titles is skipped', async () => {
    expect(await read('csv', '\ntext\na\n\n""\nb\n\n')).to.deep.equal(['a', '', '', 'b', ''].map((text) => ({ text })));
    expect(await read('csv', 'a,b\n\n1,2\n\n')).to.deep.equal([{ a: '1', b: '2' }]);
    expect(await failureOf('csv', 'a,b\n1,2\n3\n')).to.match(
      /^\d+ is not valid CSV: row 2 has 1 fields, and there are 2 titles$/,
    );
  });

  it('lines end with LF, CR LF or CR, also mixed in one file', async () => {
    const ends = ['\n', '\r\n', '\r'];
    for (const first of ends)
      for (const second of ends) {
        expect(await read('csv', `a,b${first}1,2${second}3,4${first}`)).to.deep.equal([
          { a: '1', b: '2' },
          { a: '3', b: '4' },
        ]);
        expect(await read('jsonl', `{"a":1}${first}{"a":2}${second}${second}{"a":3}`)).to.deep.equal([
          { a: 1 },
          { a: 2 },
          { a: 3 },
        ]);
      }
    const quoted = 'a,b\n"1\r\n2","3\n"\r\n';
    expect(await read('csv', quoted)).to.deep.equal([{ a: '1\r\n2', b: '3\n' }]);
  });

  it('Unicode separators do not end a line', async () => {
    for (const separator of ['\u2028', '\u2029', '\u0085', '\v', '\f']) {
      const text = `a${separator}b`;
      expect(await read('jsonl', `{"text":${JSON.stringify(text)}}\n{"text":"c"}\n`)).to.deep.equal([
        { text },
        { text: 'c' },
      ]);
      expect(await read('csv', `text,n\n${text},1\n`)).to.deep.equal([{ text, n: '1' }]);
    }
  });

  it('lines and characters that are split between two reads are joined', async () => {
    const text = 'é'.repeat(700_001);
    const rows = [{ a: `x${text}` }, { a: text }, { a: `xyz${text}` }];
    expect(await read('jsonl', rows.map((row) => JSON.stringify(row)).join('\r\n'))).to.deep.equal(rows);
    expect(await read('csv', `a\r\n${rows.map(({ a }) => a).join('\r\n')}`)).to.deep.equal(rows);
  });

  it('two columns of one title are refused, and a title may be `__proto__` or `constructor`', async () => {
    expect(await failureOf('csv', 'vector,place,place\n1,Rome,Oslo\n')).to.match(
      /has two columns of the title "place": rename one$/,
    );
    const [row] = await read('csv', '__proto__,constructor\n1,2\n');
    expect(Object.entries(row as object)).to.deep.equal([
      ['__proto__', '1'],
      ['constructor', '2'],
    ]);
  });

  it('a repeated key is refused at any depth of the row', async () => {
    const [top, deep, different] = await read(
      'jsonl',
      '{"a":1,"a":2}\n{"a":[{"b":1,"b":1}]}\n{"a":{"b":1},"b":{"b":1}}',
    );
    expect(top).to.match(/a appears twice$/);
    expect(deep).to.match(/b appears twice$/);
    expect(different).to.deep.equal({ a: { b: 1 }, b: { b: 1 } });
  });

  it('a .csv file that is separated by another character is refused with the option that reads it', async () => {
    for (const [content, option] of [
      ['id;vector;text\n1;1 0;a\n', "';'"],
      ['id;vector\n1;0,5 0,5\n', "';'"],
      ['id\tvector\n1\t1 0\n', 'tab'],
      ['id|vector|a,b\n1|1 0|c,d\n', "'|'"],
    ] as const) {
      expect(await failureOf('csv', content), content).to.match(
        new RegExp(
          `has (?:one column|2 columns) if commas separate them, .*: give --delimiter ${option.replace('|', '\\|')}, or --delim`,
        ),
      );
      const delimiter = option === 'tab' ? '\t' : option[1];
      const [row] = await read('csv', content, delimiter);
      expect(Object.keys(row as object), content).to.deep.equal(content.split('\n')[0]!.split(delimiter!));
    }
    expect(await read('csv', 'vector\n1 0\n')).to.deep.equal([{ vector: '1 0' }]);
    expect(await read('csv', 'a;b,vector\n1,2\n')).to.deep.equal([{ 'a;b': '1', vector: '2' }]);
    expect(await read('csv', 'a;b\n1\n', ',')).to.deep.equal([{ 'a;b': '1' }]);
  });

  it('.json is an array of rows or one row after another, written in one line or many', async () => {
    const rows = [
      { vector: [1, 2], text: 'a ] " \\ }' },
      { vector: [3, 4], more: [{ b: '[' }] },
    ];
    for (const content of [
      JSON.stringify(rows),
      JSON.stringify(rows, null, 2),
      `\uFEFF \n${JSON.stringify(rows)}\n`,
      rows.map((row) => JSON.stringify(row)).join('\n'),
      rows.map((row) => JSON.stringify(row, null, 2)).join(''),
    ])
      expect(await read('json', content), content).to.deep.equal(rows);
    expect(await read('json', '[[1, 2],[3, 4]]')).to.deep.equal([{ vector: [1, 2] }, { vector: [3, 4] }]);
    expect(await read('json', '[]')).to.deep.equal([]);
    const [first, second, third] = await read('json', '[{"a":1},{"a":01},{"a":1,"a":2}]');
    expect(first).to.deep.equal({ a: 1 });
    expect(second).to.match(/^the row is not JSON/);
    expect(third).to.match(/a appears twice$/);
  });

  it('rows of .json that pieces of the file cut in two are whole', async () => {
    const text = 'é"'.repeat(700_001);
    const rows = [{ a: `x${text}` }, { a: text }, { a: `xyz${text}`, b: [[1], { c: '}' }] }];
    expect(await read('json', JSON.stringify(rows, null, 1))).to.deep.equal(rows);
  });

  it('.json of any other form ends the load', async () => {
    for (const [content, why] of [
      ['[{"a":1}', /ends before the end of its array$/],
      ['[{"a":1},', /ends before the end of its array$/],
      ['[{"a":1},{"a":', /ends within a row$/],
      ['[{"a":"1}]', /ends within a row$/],
      ['[{"a":1},]', /"\]" is in the place of a row$/],
      ['[,{"a":1}]', /"," is in the place of a row$/],
      ['[{"a":1} {"a":1}]', /"\{" is in the place of a row$/],
      ['[{"a":1}] []', /there is more behind the end of its array$/],
      ['[1, 2]', /is not an array of objects, .* "1" is in the place of a row$/],
      ['"text"', /in the place of a row$/],
      ['{"a":1},{"a":2}', /"," is in the place of a row$/],
    ] as const)
      expect(await failureOf('json', content), content).to.match(why);
  });

  it('.jsonl with an array, or with rows of several lines, names the format that reads it', async () => {
    for (const content of ['[\n{"vector":[1]},\n{"vector":[2]}\n]\n', '{\n"vector": [1]\n}\n'])
      expect(await failureOf('jsonl', content)).to.match(/has rows of several lines: --format json reads them$/);
    expect(await read('jsonl', '[{"vector":[1]},{"vector":[2]}]\n')).to.deep.equal([
      'the line is an array of objects: --format json reads each as a row',
    ]);
  });
});
