/** How `npm run load` ends: its refusals, its last line, and its exit code. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { expect } from 'chai';
import { runLoad, runLoadOf, succeeded } from '../support/launch/commands.js';
import { freePort } from '../support/launch/freePort.js';
import { loadRig } from '../support/launch/loadRig.js';
import type { Launched } from '../support/launch/process.js';

describe('the end of npm run load', () => {
  const rig = loadRig();
  const { at, file } = rig;

  const collections = async (): Promise<string[]> =>
    ((await at.rw.get('/v1/namespaces')).body.collections as { name: string }[]).map(({ name }) => name);
  const records = async (collection: string): Promise<{ text: string; external_id?: string; metadata: object }[]> =>
    (await at.rw.get(`/v1/records?collection=${collection}&with=text`)).body.records;
  const lastLine = (output: string): string => output.trimEnd().split('\n').at(-1)!;
  const refusalOf = async (command: Launched): Promise<string> => {
    expect((await command.waitForEnd()).code, command.output).to.equal(1);
    expect(command.output).to.not.match(/^✔ load/m);
    return command.output;
  };

  it('names the row and the byte of a file in Latin-1, and adds no record', async () => {
    const table = await file('csv', Buffer.from('id,vector,text\nCaf\xe9,1 0,a\nCaf\xe8,0 1,b\n', 'latin1'));
    const output = await refusalOf(runLoad(at, table, 'cafes', ['--create', '--id', 'id']));
    expect(output).to.match(/^✘ load +row 1: byte 4 of id, 0xE9, is not UTF-8: convert it to UTF-8; no row fits$/m);
    expect(await collections()).to.deep.equal([]);
  });

  it('rejects a first row that does not fit, and creates the collection from the next one', async () => {
    const lines = '{"embedding":null,"text":"a"}\n{"embedding":[1,0],"text":"b"}\n';
    const path = await file('jsonl', lines);
    expect(await refusalOf(runLoad(at, path, 'first', ['--create']))).to.match(
      /^✘ load +row 1: embedding is not a list of numbers; --rejects FILE/m,
    );
    expect(await collections()).to.deep.equal([]);
    const rejects = join(rig.folder, 'first.rejects');
    await succeeded(runLoad(at, path, 'first', ['--create', '--rejects', rejects]));
    expect(JSON.parse(await readFile(rejects, 'utf8'))).to.deep.equal({
      row: 1,
      reason: 'embedding is not a list of numbers',
    });
    expect((await records('first')).map(({ text }) => text)).to.deep.equal(['b']);
    const none = await refusalOf(
      runLoad(at, await file('jsonl', '{"vector":1}\n'), 'none', ['--create', '--rejects', rejects]),
    );
    expect(none).to.match(/^✘ load +row 1: vector is not a list of numbers; no row fits$/m);
    expect(await collections()).to.deep.equal(['first']);
  });

  it('names the first row and its fault where no row fits, and advises no file of rejects', async () => {
    const lines = (count: number): string => '{"vector":[1,2,3]}\n'.repeat(count);
    const load = async (count: number, options: readonly string[] = []): Promise<Launched> =>
      runLoad(at, await file('jsonl', lines(count)), 'narrow', options);
    await succeeded(runLoad(at, await file('jsonl', '{"vector":[1]}\n'), 'narrow', ['--create']));
    const fault = 'row 1: its vector has 3 components, those of the collection 1';
    expect(await refusalOf(await load(99))).to.match(new RegExp(`^✘ load +${fault}; no row fits$`, 'm'));
    expect(await refusalOf(await load(200))).to.match(
      new RegExp(`^✘ load +${fault}; none of the first 100 rows fits$`, 'm'),
    );
    const piped = runLoadOf(at, 'narrow', ['--format', 'jsonl'], { input: [lines(2)], isInputOpen: true });
    expect(await refusalOf(piped)).to.match(new RegExp(`^✘ load +${fault}$`, 'm'));
    const rejects = join(rig.folder, 'narrow.rejects');
    expect(await succeeded(await load(200, ['--rejects', rejects]))).to.match(
      new RegExp(`^! rejected +200 rows do not fit: .*narrow.rejects says why; ${fault}; no row fits$`, 'm'),
    );
    expect((await readFile(rejects, 'utf8')).trim().split('\n')).to.have.length(200);
  });

  it('names the number of records, where rows with one external id count once', async () => {
    const rows = ['d0', 'd0', 'd1', 'd1'].map((doc, i) => JSON.stringify({ vector: [i, 1], doc, text: `c${i}` }));
    const output = await succeeded(
      runLoad(at, await file('jsonl', rows.join('\n')), 'docs', ['--create', '--id', 'doc']),
    );
    expect(output).to.match(/^✔ load +4 rows/m);
    expect(lastLine(output)).to.match(
      /^✔ collection +docs: 2 records are in it; 2 of 4 rows replaced an earlier one of their doc$/,
    );
    expect((await records('docs')).map(({ external_id, text }) => [external_id, text])).to.deep.equal([
      ['d0', 'c1'],
      ['d1', 'c3'],
    ]);
  });

  it('is a refusal if the progress file is of a load into another collection', async () => {
    const path = await file('jsonl', '{"vector":[1]}\n{"vector":[2]}\n');
    await succeeded(runLoad(at, path, 'pair', ['--create']));
    const other = { ...(await rig.newProject()) };
    expect(await refusalOf(runLoad(other, path, 'pair', ['--create']))).to.match(
      /^✘ load +.*pair\.progress is of a load into pair of project .+ at http:.*: name another file with --progress$/m,
    );
    expect((await other.rw.get('/v1/namespaces')).body.collections).to.deep.equal([]);
    const named = ['--create', '--progress', `${path}.other`];
    expect(lastLine(await succeeded(runLoad(other, path, 'pair', named)))).to.match(/pair: 2 records are in it$/);
  });

  it('is a refusal if the file of rejected rows is the loaded file', async () => {
    const path = await file('jsonl', '{"vector":[1]}\n{"vector":[2]}\n');
    expect(await refusalOf(runLoad(at, path, 'self', ['--create', '--rejects', path]))).to.match(
      /is not a file of rejected rows, and would be replaced: name another one with --rejects$/m,
    );
    expect(await readFile(path, 'utf8')).to.equal('{"vector":[1]}\n{"vector":[2]}\n');
    expect(await collections()).to.deep.equal([]);
  });

  it('leaves the content of the file under each external id, also if it was loaded before', async () => {
    const path = await file('jsonl', '');
    for (const text of ['old', 'new', 'old']) {
      await writeFile(path, `{"vector":[1],"doc":"a","text":"${text}"}\n`);
      await succeeded(runLoad(at, path, 'back', ['--create', '--id', 'doc']));
      await rm(`${path}.back.progress`);
      expect((await records('back')).map((record) => record.text)).to.deep.equal([text]);
    }
  });

  it('warns of recognised rows whose records were deleted', async () => {
    const path = await file('jsonl', '{"vector":[1],"n":1}\n{"vector":[2],"n":2}\n');
    await succeeded(runLoad(at, path, 'gone', ['--create']));
    await rm(`${path}.gone.progress`);
    await at.rw.post('/v1/records/delete', { collection: 'gone', ids: [2] });
    expect(lastLine(await succeeded(runLoad(at, path, 'gone')))).to.match(
      /^! collection +gone: 1 record is in it; 2 of 2 rows had been loaded before, and no such row is inserted again/,
    );
  });

  it('comes at a refused row or an interruption, even if standard input stays open', async () => {
    const args = ['--create', '--format', 'jsonl'];
    const refused = runLoadOf(at, 'open', args, { input: ['{"vector":[1]}\n', 'nothing\n'], isInputOpen: true });
    expect(await refusalOf(refused)).to.match(/^✘ load +row 2: the line is not JSON/m);
    const interrupted = runLoadOf(at, 'waiting', args, { input: ['{"vector":[1]}\n'], isInputOpen: true });
    await interrupted.waitForLine(/waiting is created/);
    interrupted.signal('SIGINT');
    expect((await interrupted.waitForEnd()).code, interrupted.output).to.equal(130);
    expect(lastLine(interrupted.output)).to.match(/^ +stopped +the same command continues from here$/);
    expect(interrupted.output).to.not.include('✔ load');
  });

  it('closes the connection to PostgreSQL if its first row or its target is refused', async () => {
    const db = await PGlite.create({ extensions: { vector } });
    const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: await freePort() });
    try {
      await db.exec(`
        CREATE EXTENSION vector;
        CREATE TABLE firstbad (embedding vector(2), content text, share double precision);
        INSERT INTO firstbad VALUES ('[1,0]', 'one', 'NaN'), ('[0,1]', 'two', 0.5);
        CREATE TABLE raw (emb bytea, content text);
        INSERT INTO raw VALUES ('\\x0000c03f000000c0', 'one');`);
      await server.start();
      const url = `postgres://postgres@${server.getServerConn()}/postgres`;
      const load = (table: string, args: readonly string[]): Launched =>
        runLoad(at, url, 'moved', ['--from', 'pgvector', '--source', table, ...args]);
      expect(await refusalOf(load('firstbad', []))).to.match(
        /^✘ load +the collection moved does not exist: --create makes it$/m,
      );
      expect(await refusalOf(load('firstbad', ['--create']))).to.match(
        /^✘ load +row 1: share holds NaN, which JSON cannot hold; --rejects FILE/m,
      );
      expect(await refusalOf(load('raw', ['--create', '--vector', 'emb']))).to.match(
        /^✘ load +row 1: emb holds 8 bytes: --vector-bytes says what they are, such as float32/m,
      );
      const bytes = ['--create', '--vector', 'emb', '--vector-bytes'];
      const made = await succeeded(
        runLoad(at, url, 'bytes', ['--from', 'pgvector', '--source', 'raw', ...bytes, 'float32']),
      );
      expect(made).to.match(/^✔ collection +bytes is created, with 2 components$/m);
      const { body: stored } = await at.rw.get('/v1/records/1?collection=bytes');
      expect(stored).to.deep.include({ vector: [1.5, -2], metadata: null });
      const asBytes = ['--vector', 'emb', '--vector-bytes', 'int8'];
      const longer = runLoad(at, url, 'bytes', ['--from', 'pgvector', '--source', 'raw', ...asBytes]);
      expect(await refusalOf(longer)).to.match(
        /^✘ load +row 1: its vector has 8 components, those of the collection 2; no row fits$/m,
      );
      const rejects = join(rig.folder, 'pg.rejects');
      const output = await succeeded(load('firstbad', ['--create', '--rejects', rejects]));
      expect(lastLine(output)).to.match(/^✔ collection +moved: 1 record is in it$/);
      expect(output).to.match(/^! rejected +1 row does not fit/m);
    } finally {
      await server.stop();
      await db.close();
    }
  });
});
