/** `npm run load` where a row could be stored twice, lost, or replaced by another one unseen. */
import { appendFile, cp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { runLoad, runLoadOf, succeeded } from '../support/launch/commands.js';
import { loadRig } from '../support/launch/loadRig.js';
import { npyOf } from '../support/rigs/vectorFiles.js';

describe('rows of npm run load', () => {
  const rig = loadRig();
  const { at, file } = rig;

  const linesOf = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const collections = async (): Promise<string[]> =>
    ((await at.rw.get('/v1/namespaces')).body.collections as { name: string }[]).map(({ name }) => name);
  const texts = async (collection: string): Promise<unknown[]> =>
    (await at.rw.get(`/v1/records?collection=${collection}&with=text`)).body.records.map(
      ({ external_id: id, text }: { external_id?: string; text: string }) => (id === undefined ? text : [id, text]),
    );
  const lastLine = (output: string): string => output.trimEnd().split('\n').at(-1)!;
  const refusalOf = async (...args: Parameters<typeof runLoad>): Promise<string> => {
    const command = runLoad(...args);
    expect((await command.waitForEnd()).code, command.output).to.equal(1);
    return command.output;
  };
  const reasonsIn = async (path: string): Promise<unknown[]> =>
    (await readFile(path, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map(({ row, reason }) => [row, reason]);

  it('are rejected where a number and a text would become one external id', async () => {
    const ids = ['1', '"1"', '1.0', '1.5', '"2"', 'true', '3', '"three"'];
    const path = await file('jsonl', ids.map((id, i) => `{"vector":[${i}],"text":"t${i}","id":${id}}\n`).join(''));
    const rejects = join(rig.folder, 'ids.rejects');
    const output = await succeeded(runLoad(at, path, 'ids', ['--create', '--id', 'id', '--rejects', rejects]));
    expect(await reasonsIn(rejects)).to.deep.equal([
      [2, 'id is the text 1, and earlier ids are numbers: write all ids as texts, or all as numbers'],
      [4, 'id holds 1.5, which is not a whole number: write ids of other kinds as texts'],
      [5, 'id is the text 2, and earlier ids are numbers: write all ids as texts, or all as numbers'],
      [6, 'id holds true, which is not an id'],
    ]);
    expect(await texts('ids')).to.deep.equal([
      ['1', 't2'],
      ['3', 't6'],
      ['three', 't7'],
    ]);
    expect(lastLine(output)).to.match(/ids: 3 records are in it; 1 of 4 rows replaced an earlier one of their id$/);
    // Rows that are appended are compared with those that were loaded before.
    await appendFile(path, '{"vector":[9],"id":"9"}\n');
    expect(await refusalOf(at, path, 'ids', ['--id', 'id'])).to.match(/✘ load +row 9: id is the text 9, and earlier/);
  });

  it('are counted where they replaced an earlier row or record', async () => {
    const path = await file('jsonl', linesOf(['a', 'b', 'a', 'b', 'a'].map((id, i) => ({ vector: [i], id }))));
    const options = ['--create', '--id', 'id'];
    expect(lastLine(await succeeded(runLoad(at, path, 'same', options)))).to.match(
      /^✔ collection +same: 2 records are in it; 3 of 5 rows replaced an earlier one of their id$/,
    );
    await rm(`${path}.same.progress`);
    expect(lastLine(await succeeded(runLoad(at, path, 'same', options)))).to.match(
      /^✔ collection +same: 2 records are in it; 5 of 5 rows replaced an earlier one of their id$/,
    );
  });

  it('are not loaded if the file beside them has another length', async () => {
    const vectors = await file('npy', npyOf([[1], [2], [3]]));
    const lines = ['{"text":"a"}', '', '{"text":"b"}'];
    const short = await file('jsonl', lines.join('\n'));
    expect(await refusalOf(at, vectors, 'pairs', ['--create', '--beside', short])).to.match(
      /^✘ load +\d+\.jsonl has 2 rows, and \d+\.npy 3: each row of one needs a row of the other$/m,
    );
    const long = await file('csv', 'text\na\nb\nc\nd\n');
    expect(await refusalOf(at, vectors, 'pairs', ['--create', '--beside', long])).to.match(
      /^✘ load +\d+\.csv has 4 rows, and \d+\.npy 3: /m,
    );
    expect(await collections()).to.deep.equal([]);
    await writeFile(short, [...lines, '{"text":"c"}'].join('\n'));
    await succeeded(runLoad(at, vectors, 'pairs', ['--create', '--beside', short]));
    expect(await texts('pairs')).to.deep.equal(['a', 'b', 'c']);
  });

  it('are reported if an earlier load has inserted them, and inserted with --again', async () => {
    const rows = linesOf([{ vector: [1] }, { vector: [2] }, { vector: [3] }]);
    const load = (args: readonly string[]) => runLoadOf(at, 'again', ['--format', 'jsonl', ...args], { input: [rows] });
    await succeeded(load(['--create']));
    await at.rw.post('/v1/records/delete', { collection: 'again', ids: [2] });
    expect(lastLine(await succeeded(load([])))).to.match(
      /^! collection +again: 2 records are in it; 3 of 3 rows had been loaded before, and no such row is inserted again, even if its record was deleted since: without a progress file --again inserts all$/,
    );
    expect(lastLine(await succeeded(load(['--again'])))).to.match(/^✔ collection +again: 5 records are in it$/);
    const usage = load(['--again', '--id', 'id']);
    expect((await usage.waitForEnd()).code).to.equal(2);
    expect(usage.output).to.include('give --again or --id, not both: --id replaces records');
  });

  it('are counted without the blank lines between them, and numbered by line', async () => {
    const path = await file('jsonl', '\n{"vector":[1]}\n  \n\n{"vector":[2]}\n\n{"vector":0}\n\n');
    const rejects = join(rig.folder, 'blank.rejects');
    const output = await succeeded(runLoad(at, path, 'blank', ['--create', '--rejects', rejects]));
    expect(output).to.match(/^✔ load +3 rows \(/m);
    expect(await reasonsIn(rejects)).to.deep.equal([[7, 'vector is not a list of numbers']]);
  });

  it('are counted apart if they were rejected before, with another file', async () => {
    const path = await file('jsonl', '{"vector":[1]}\n{"vector":1}\n');
    const [first, second] = [join(rig.folder, 'first.rejects'), join(rig.folder, 'second.rejects')];
    await succeeded(runLoad(at, path, 'two', ['--create', '--rejects', first]));
    await appendFile(path, '{"vector":[2]}\n{"vector":3}\n{"vector":4}\n');
    for (const row of [4, 6]) {
      const output = await succeeded(runLoad(at, path, 'two', ['--rejects', second]));
      expect(output).to.match(new RegExp(`^! rejected +${row / 2} rows do not fit: .*second.rejects says why$`, 'm'));
      expect(output).to.match(
        /^! rejected +1 row before them does not fit: the file of an earlier --rejects says why$/m,
      );
      await appendFile(path, '{"vector":5}\n');
    }
    expect((await reasonsIn(first)).map((reason) => (reason as unknown[])[0])).to.deep.equal([2]);
    expect((await reasonsIn(second)).map((reason) => (reason as unknown[])[0])).to.deep.equal([4, 5, 6]);
  });

  it('end the load, or are counted, if the service refuses all of them', async () => {
    const long = 'x'.repeat(70_000);
    const path = await file(
      'jsonl',
      linesOf([
        { vector: [1], text: long },
        { vector: [2], text: long },
      ]),
    );
    expect(await refusalOf(at, path, 'long', ['--create'])).to.match(
      /^✘ load +row 1: its texts .*; --rejects FILE writes such rows there and skips them$/m,
    );
    const rejects = join(rig.folder, 'long.rejects');
    const output = await succeeded(runLoad(at, path, 'long', ['--create', '--rejects', rejects]));
    expect(output).to.match(/^! rejected +2 rows do not fit: .*long\.rejects says why; no row fits$/m);
  });

  it('are not skipped after an older copy of the folder was restored', async () => {
    const { service } = rig;
    const path = await file('jsonl', linesOf([{ vector: [1] }, { vector: [2] }]));
    await succeeded(runLoad(at, path, 'old', ['--create']));
    const copy = `${service.dataDir}.copy`;
    const stopped = async (work: () => Promise<unknown>): Promise<void> => {
      await service.end('standalone');
      await work();
      await service.restart('standalone');
    };
    await stopped(() => cp(service.dataDir, copy, { recursive: true }));
    await appendFile(path, linesOf([{ vector: [3] }]));
    await succeeded(runLoad(at, path, 'old'));
    await stopped(async () => {
      await rm(service.dataDir, { recursive: true });
      await rename(copy, service.dataDir);
    });
    const refusal =
      /old\.progress has rows that are not in old, which was restored from an older copy: remove \S*old\.progress to load/;
    expect(await refusalOf(at, path, 'old')).to.match(refusal);
    // Other events take the place of those that were lost.
    for (const [i] of ['a', 'b', 'c'].entries())
      await at.rw.post('/v1/records', { collection: 'old', values: [10 + i] });
    expect(await refusalOf(at, path, 'old')).to.match(refusal);
    await rm(`${path}.old.progress`);
    expect(await succeeded(runLoad(at, path, 'old'))).to.match(
      /old: 6 records are in it; 2 of 3 rows had been loaded before/,
    );
  });
});
