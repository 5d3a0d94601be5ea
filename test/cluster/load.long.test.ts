// Covers: scripts/load.ts, scripts/load/namedFields.ts, scripts/load/report.ts, scripts/load/request.ts
// Covers: scripts/load/target.ts, scripts/terminal/progress.ts
/** `npm run load` to a service: files, interrupted loads, rows that do not fit, and other services. */
import { access, appendFile, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { runLoad, runLoadOf, succeeded } from '../support/launch/commands.js';
import { loadRig } from '../support/launch/loadRig.js';
import { npyOf } from '../support/rigs/vectorFiles.js';

describe('npm run load', () => {
  const rig = loadRig();
  const { at, file } = rig;

  const counts = async (): Promise<Record<string, number>> => {
    const { body } = await at.rw.get('/v1/namespaces');
    const listed = body.collections as { name: string; record_count: number }[];
    return Object.fromEntries(listed.map(({ name, record_count }) => [name, record_count]));
  };
  const nearest = async (collection: string, query: number[]): Promise<unknown> => {
    const { body } = await at.rw.post('/v1/search', { collection, query, k: 1 });
    return (await at.rw.get(`/v1/records/${body.results[0].id}?collection=${collection}`)).body;
  };
  const refusalOf = async (...args: Parameters<typeof runLoad>): Promise<string> => {
    const command = runLoad(...args);
    expect((await command.waitForEnd()).code, command.output).to.equal(1);
    return command.output;
  };

  it('creates a collection from a .npy file and the texts beside it', async () => {
    const rows = Array.from({ length: 2_500 }, (_, i) => [i, -i / 4, 0.5]);
    const vectors = await file('npy', npyOf(rows));
    const texts = await file('jsonl', rows.map((_, i) => `{"text":"row ${i}","n":${i}}`).join('\n'));
    const output = await succeeded(runLoad(at, vectors, 'some', ['--create', '--beside', texts]));
    expect(output).to.match(/^✔ collection +some is created, with 3 components$/m);
    expect(output).to.match(/^✔ load +2,500 rows \(/m);
    expect(output).to.match(/^✔ collection +some: 2,500 records are in it$/m);
    expect(await counts()).to.deep.equal({ some: 2_500 });
    const { vector, metadata } = (await nearest('some', [1_234, -308.5, 0.5])) as Record<string, unknown>;
    expect([vector, metadata]).to.deep.equal([[1_234, -308.5, 0.5], { n: 1_234 }]);
  });

  it('makes a collection for cosine with --normalise, and loads into it what an insert would store', async () => {
    const rows = [
      [3, 4, 0],
      [0.1, 0.7, -1e-9],
      [-20_000, 1, 1],
    ];
    const vectors = await file('jsonl', rows.map((vector) => JSON.stringify({ vector })).join('\n'));
    for (const [collection, flag] of [
      ['one', '--normalise'],
      ['other', '--normalize'],
    ] as const) {
      const output = await succeeded(runLoad(at, vectors, collection, ['--create', flag]));
      expect(output).to.match(
        /^✔ collection +\w+ is created, with 3 components, and divides vectors by their length$/m,
      );
      expect(output).to.not.match(/ lengths /);
    }
    await at.rw.post('/v1/vectors/batch-insert', { collection: 'one', batch: rows });
    const { records } = (await at.rw.get('/v1/records?collection=one&with=vector')).body;
    const stored = records.map(({ vector }: { vector: number[] }) => vector);
    expect(stored.slice(0, 3)).to.deep.equal(stored.slice(3));
    // It knows the collection, and says nothing of lengths.
    await rm(`${vectors}.one.progress`);
    expect(await succeeded(runLoad(at, vectors, 'one'))).to.not.match(/ lengths /);
    const zeros = await file('jsonl', '{"vector":[0,0,0]}');
    expect(await refusalOf(at, zeros, 'one')).to.include('its vector holds only zeros, which have no direction');
    await succeeded(runLoad(at, vectors, 'plain', ['--create']));
    expect(await refusalOf(at, vectors, 'plain', ['--create', '--normalise'])).to.include(
      'plain was made without --normalise, which cannot change: load into another collection',
    );
  });

  it('loads all rows into the collection of an alias, and says which', async () => {
    await at.rw.post('/v1/namespaces', { name: 'real', dimension: 2, metric: 'squared_l2' });
    await at.rw.put('/v1/aliases/other-name', { collection: 'real' });
    const path = await file('jsonl', '{"vector":[1,0]}\n{"vector":[0,1]}');
    const output = await succeeded(runLoad(at, path, 'other-name', ['--create']));
    expect(output).to.include('other-name is an alias of real').and.to.include('real: 2 records are in it');
    expect((await at.rw.get('/v1/records/count?collection=real')).body).to.deep.equal({ count: 2 });
  });

  it('says once that lengths differ, and nothing where they are alike', async () => {
    const load = async (collection: string, ...rows: number[][]): Promise<string> => {
      const path = await file('jsonl', rows.map((vector) => JSON.stringify({ vector })).join('\n'));
      return succeeded(runLoad(at, path, collection, ['--create']));
    };
    expect(await load('alike', [1, 0], [0.6, 0.8], [0, -1])).to.not.match(/ lengths /);
    const output = await load('different', [1, 0], [0, 2], [3, 0], [0, 4]);
    expect(
      output.match(/^ {2}lengths +vectors are 1\.00 to 4\.00 long, so distances depend on length; /gm),
    ).to.have.length(1);
    expect(output).to.match(/for cosine load them into a collection that --create --normalise makes$/m);
  });

  it('gives records the tags and external ids of their rows, and replaces existing ones', async () => {
    const fileOf = (numbers: readonly number[], text: string, y: number): Promise<string> => {
      const row = (n: number): object => ({ vector: [n, y], key: `page ${n}`, rank: n + 10 * y, text: `${text} ${n}` });
      return file('jsonl', numbers.map((n) => `${JSON.stringify(row(n))}\n`).join(''));
    };
    const options = ['--create', '--id', 'key', '--tag', 'rank'];
    await succeeded(runLoad(at, await fileOf([1, 2, 3], 'old', 0), 'pages', options));
    await succeeded(runLoad(at, await fileOf([2, 3, 4], 'new', 1), 'pages', options));
    const { body } = await at.rw.get('/v1/records?collection=pages&with=text,vector');
    expect(body.records).to.deep.equal([
      { id: 1, external_id: 'page 1', tag: 1, metadata: null, text: 'old 1', vector: [1, 0] },
      { id: 2, external_id: 'page 2', tag: 12, metadata: null, text: 'new 2', vector: [2, 1] },
      { id: 3, external_id: 'page 3', tag: 13, metadata: null, text: 'new 3', vector: [3, 1] },
      { id: 4, external_id: 'page 4', tag: 14, metadata: null, text: 'new 4', vector: [4, 1] },
    ]);
  });

  it('reads - from standard input, in pieces that end anywhere, and inserts nothing twice', async () => {
    const lines = Array.from({ length: 1_500 }, (_, i) => `{"vector":[${i},1],"text":"naïve ${i}"}\n`).join('');
    const bytes = Buffer.from(lines);
    // One of them ends within a character.
    const cut = bytes.indexOf('ï') + 1;
    const pieces = [bytes.subarray(0, cut), bytes.subarray(cut, 9_999), bytes.subarray(9_999)];
    for (let round = 0; round < 2; round++) {
      const output = await succeeded(runLoadOf(at, 'piped', ['--create', '--format', 'jsonl'], { input: pieces }));
      expect(output).to.match(
        /^[✔!] collection +piped: 1,500 records are in it(?:$|; 1,500 of 1,500 rows had been loaded before)/m,
      );
      expect(await counts()).to.deep.equal({ piped: 1_500 });
    }
    // Concurrent batches arrive in any order, so a row's id is unknown.
    const search = { collection: 'piped', query: [0, 1], k: 1, with: ['text', 'vector'] };
    expect((await at.rw.post('/v1/search', search)).body.results[0])
      .to.include({ text: 'naïve 0' })
      .and.to.deep.include({ vector: [0, 1] });
    const rows = npyOf(Array.from({ length: 40 }, (_, i) => [i, 0.5, -i]));
    const bytewise = [rows.subarray(0, 7), rows.subarray(7, 200), rows.subarray(200)];
    await succeeded(runLoadOf(at, 'binary', ['--create', '--format', 'npy'], { input: bytewise }));
    expect(((await nearest('binary', [39, 0.5, -39])) as Record<string, unknown>).vector).to.deep.equal([39, 0.5, -39]);
    const unnamed = runLoadOf(at, 'other', ['--create'], { input: pieces });
    expect((await unnamed.waitForEnd()).code).to.not.equal(0);
    expect(unnamed.output).to.include('the format of the input is unknown: name it with --format');
    expect(await counts()).to.deep.equal({ piped: 1_500, binary: 40 });
  });

  it('never rounds a number, and reads only the named columns as numbers', async () => {
    const lines = [
      '{"vector":[4],"key":8}',
      '{"vector":[1],"key":9007199254740993}',
      '{"vector":[2],"key":1e400}',
      '{"vector":[3],"key":7,"n":9007199254740993}',
      '{"vector":[3],"key":6,"n":170141183460469231731687303715}',
      '{"vector":[3],"key":5,"n":{"a":[0,-1e-400]}}',
      '{"vector":[3],"key":3,"n":[1e30,0.0,0e-400]}',
    ];
    const rejects = join(rig.folder, 'numbers.jsonl');
    const path = await file('jsonl', lines.join('\n'));
    await succeeded(runLoad(at, path, 'keyed', ['--create', '--id', 'key', '--rejects', rejects]));
    const reasons = (await readFile(rejects, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(reasons.map(({ row }) => row)).to.deep.equal([2, 3, 4, 5, 6]);
    for (const { reason } of reasons) expect(reason).to.match(/is not read to its last digit: write it as a text$/);
    const table = await file('csv', 'x,year,zip\n1,2001,01067\n2,,1\n');
    await succeeded(runLoad(at, table, 'tabled', ['--create', '--vector', 'x', '--numbers', 'year']));
    const { body } = await at.rw.get('/v1/records?collection=tabled');
    expect(body.records.map(({ metadata }: { metadata: object }) => metadata)).to.deep.equal([
      { year: 2001, zip: '01067' },
      { year: '', zip: '1' },
    ]);
  });

  it('continues after a kill without repeats; a further load inserts only appended rows', async () => {
    const line = (i: number): string => `${JSON.stringify({ vector: [i, i % 7], i, pad: 'x'.repeat(200) })}\n`;
    const rows = 30_000;
    const path = await file('jsonl', Array.from({ length: rows }, (_, i) => line(i)).join(''));
    const noted = `${path}.long.progress`;
    const row = async (): Promise<number> => JSON.parse(await readFile(noted, 'utf8').catch(() => '{"row":0}')).row;
    for (const from of [2_000, 9_000]) {
      const command = runLoad(at, path, 'long', ['--create']);
      await Promise.race([command.ended, rig.service.until(async () => (await row()) >= from, { everyMs: 5 })]);
      await command.kill();
    }
    const output = await succeeded(runLoad(at, path, 'long'));
    expect(output).to.match(/^✔ collection +long: 30,000 records are in it$/m);
    expect(await counts()).to.deep.equal({ long: rows });
    await appendFile(path, line(rows));
    const more = await succeeded(runLoad(at, path, 'long'));
    expect(more).to.match(/^ +load +continues after row 30,000/m);
    expect(await counts()).to.deep.equal({ long: rows + 1 });
    // A new collection of the name starts from the first row.
    expect((await at.rw.delete('/v1/namespaces/long')).status).to.equal(204);
    await succeeded(runLoad(at, path, 'long', ['--create']));
    expect(await counts()).to.deep.equal({ long: rows + 1 });
  });

  it('inserts no remembered row twice, even without its progress file', async () => {
    const path = await file('csv', 'embedding,kind\n"[1, 2]",a\n"[3, 4]",b\n');
    for (let i = 0; i < 2; i++) {
      await succeeded(runLoad(at, path, 'twice', ['--create']));
      await rm(`${path}.twice.progress`);
    }
    expect(await counts()).to.deep.equal({ twice: 2 });
    expect(((await nearest('twice', [3, 4])) as Record<string, unknown>).metadata).to.deep.equal({ kind: 'b' });
  });

  it('ends at the first row that does not fit, or writes such rows to a file and continues', async () => {
    const deep = JSON.stringify({ vector: [7, 8], big: 2 ** 60 }).replace('1152921504606847000', '1152921504606846977');
    const lines = [
      '{"vector":[1,2]}',
      '{"vector":[1]}',
      'nothing',
      deep,
      '{"vector":[3,4],"text":1}',
      '{"vector":[5,6]}',
    ];
    const path = await file('jsonl', lines.join('\n'));
    expect(await refusalOf(at, path, 'fit', ['--create'])).to.match(
      /^✘ load +row 2: its vector has 1 component, those of the collection 2; --rejects FILE writes such rows there/m,
    );
    expect(await counts(), 'the rows before it stay').to.deep.equal({ fit: 1 });
    const rejects = join(rig.folder, 'rejects.jsonl');
    const output = await succeeded(runLoad(at, path, 'fit', ['--rejects', rejects]));
    const written = (await readFile(rejects, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(written.map(({ row }) => row)).to.include.members([2, 3, 5]);
    const fitting = lines.length - written.length;
    expect(output).to.match(new RegExp(`^! rejected +${written.length} rows do not fit`, 'm'));
    expect(await counts()).to.deep.equal({ fit: fitting });
  });

  it('loads a file with semicolons or tabs, and refuses to take it for one of commas', async () => {
    const semicolons = await file('csv', 'vector;text\n0.5 1;one\n0 2;two\n');
    expect(await refusalOf(at, semicolons, 'parted', ['--create'])).to.match(
      /has one column if commas separate them, and ";" in its titles: give --delimiter ';', or --delimiter , if the titles are right$/m,
    );
    expect(await counts()).to.deep.equal({});
    await succeeded(runLoad(at, semicolons, 'parted', ['--create', '--delimiter', ';']));
    await succeeded(runLoad(at, await file('tsv', 'vector\ttext\n7 1\tthree\n'), 'parted'));
    const tabs = await file('csv', 'vector\ttext\n8 1\tfour\n');
    await succeeded(runLoad(at, tabs, 'parted', ['--delimiter', 'tab']));
    expect(await counts()).to.deep.equal({ parted: 4 });
  });

  it('loads an array of objects of a .json file', async () => {
    const rows = Array.from({ length: 2_345 }, (_, i) => ({ vector: [i, 1], text: `row ${i}`, n: i }));
    const output = await succeeded(
      runLoad(at, await file('json', JSON.stringify(rows, null, 2)), 'array', ['--create']),
    );
    expect(output).to.match(/^✔ load +2,345 rows \(/m);
    expect(await counts()).to.deep.equal({ array: 2_345 });
    expect(((await nearest('array', [2_344, 1])) as Record<string, unknown>).metadata).to.deep.equal({ n: 2_344 });
  });

  it('finds a row in its batch that only the service refuses', async () => {
    const lines = Array.from({ length: 40 }, (_, i) =>
      JSON.stringify({ vector: [i, 0], text: i === 17 ? 'x'.repeat(2_000_000) : 'a' }),
    );
    const path = await file('jsonl', lines.join('\n'));
    const rejects = join(rig.folder, 'refused.jsonl');
    await succeeded(runLoad(at, path, 'refused', ['--create', '--rejects', rejects]));
    const { row, reason } = JSON.parse(await readFile(rejects, 'utf8'));
    expect(row).to.equal(18);
    expect(reason).to.match(/^its texts/);
    expect(await counts()).to.deep.equal({ refused: 39 });
  });

  it('reports wrong arguments, files and collections', async () => {
    const path = await file('jsonl', '{"vector":[1]}');
    expect(await refusalOf(at, path, 'missing')).to.match(/the collection missing does not exist: --create makes it$/m);
    expect(await refusalOf(at, join(rig.folder, 'no.npy'), 'missing')).to.match(/the file .*no\.npy does not exist$/m);
    expect(await refusalOf(at, await file('jsonl', ''), 'missing')).to.match(/has no row that can be read$/m);
    for (const [args, why] of [
      [['--index', 'hnsw'], /--index needs --create/],
      [['--format', 'xml'], /--format is xml; there are jsonl, /],
      [
        ['--vector-bytes', 'float33'],
        /--vector-bytes is float33; there are float32, float64, float16, int8, uint8, or/,
      ],
      [['--vector-bytes', 'int8', '--vector', 'a..b'], /--vector-bytes needs one field of bytes/],
      [['--from', 'pinecone'], /--from is pinecone; there are qdrant, chroma, pgvector/],
      [['--metadata', 'body', '--numbers', 'year'], /--numbers names year, which is not in --metadata/],
      [['--delimiter', ';'], /--delimiter is for \.csv files/],
      [['--format', 'csv', '--delimiter', '::'], /--delimiter is "::"; allowed is one character/],
      [['--format', 'csv', '--delimiter', '"'], /--delimiter is .*; allowed is one character/],
    ] as const) {
      const command = runLoad(at, path, 'x', args);
      expect((await command.waitForEnd()).code, command.output).to.equal(2);
      expect(command.output).to.match(why);
    }
    await expectNone(join(rig.folder, 'no.npy.missing.progress'));
    for (const option of ['--progress', '--rejects'])
      expect(await refusalOf(at, path, 'x', ['--create', option, join(rig.folder, 'none', 'file')])).to.match(
        /^✘ load +.*none does not exist, or its folder does not$/m,
      );
    expect(await counts()).to.deep.equal({});
  });

  it('refuses a column that an option misspells, and says which field no object had', async () => {
    const table = await file('csv', 'vector,body,year\n1 0,a,1999\n0 1,b,2000\n');
    for (const [option, name] of [
      ['--text', 'bodi'],
      ['--tag', 'yaer'],
      ['--metadata', 'body,yaer'],
      ['--numbers', 'yaer'],
    ] as const)
      expect(await refusalOf(at, table, 'x', ['--create', option, name])).to.match(
        new RegExp(
          `row 1: it has no ${name.slice(-4)}, which ${option} names; its fields are vector, body, year; no row fits$`,
          'm',
        ),
      );
    expect(await counts()).to.deep.equal({});
    const rows = await file('jsonl', '{"vector":[1],"body":"a"}\n{"vector":[2],"body":"b","rank":5}\n');
    const output = await succeeded(runLoad(at, rows, 'objects', ['--create', '--text', 'bodi', '--tag', 'rank']));
    expect(output).to.match(/^! fields +no row has bodi, which --text names$/m);
    expect(await counts()).to.deep.equal({ objects: 2 });
  });

  it('reads a collection of Qdrant page by page, from a hand-written mock of its API', async () => {
    const points = Array.from({ length: 600 }, (_, id) => ({ id, payload: { colour: `c${id}` }, vector: [id, 1] }));
    const qdrant = await listening((path, body) => {
      if (path === '/collections/old/points/count') return { result: { count: points.length } };
      if (path !== '/collections/old/points/scroll') return undefined;
      const { limit, offset = 0 } = body as { limit: number; offset?: number };
      const next = offset + limit < points.length ? offset + limit : null;
      return { result: { points: points.slice(offset, offset + limit), next_page_offset: next } };
    });
    const from = ['--from', 'qdrant', '--source', 'old', '--create'];
    await succeeded(runLoad(at, qdrant.url, 'moved', from));
    expect(await counts()).to.deep.equal({ moved: 600 });
    expect(((await nearest('moved', [599, 1])) as Record<string, unknown>).metadata).to.deep.equal({
      id: 599,
      colour: 'c599',
    });
    const missing = ['--from', 'qdrant', '--source', 'none', '--create'];
    expect(await refusalOf(at, qdrant.url, 'none', missing)).to.match(/Qdrant has no collection none$/m);
    qdrant.server.close();
  });

  it('reads a collection of Chroma page by page, from a hand-written mock of its API', async () => {
    const ids = Array.from({ length: 300 }, (_, i) => `id-${i}`);
    const base = '/api/v2/tenants/default_tenant/databases/default_database/collections';
    const chroma = await listening((path, body) => {
      if (path === `${base}/old`) return { id: 'some-uuid' };
      if (path === `${base}/some-uuid/count`) return ids.length;
      if (path !== `${base}/some-uuid/get`) return undefined;
      const { limit, offset } = body as { limit: number; offset: number };
      const page = ids.slice(offset, offset + limit);
      return {
        ids: page,
        embeddings: page.map((id) => [Number(id.slice(3)), 2]),
        documents: page.map((id) => `text of ${id}`),
        metadatas: page.map(() => null),
      };
    });
    await succeeded(runLoad(at, chroma.url, 'moved', ['--from', 'chroma', '--source', 'old', '--create']));
    expect(await counts()).to.deep.equal({ moved: 300 });
    expect(((await nearest('moved', [299, 2])) as Record<string, unknown>).metadata).to.deep.equal({ id: 'id-299' });
    chroma.server.close();
  });
});

const expectNone = async (path: string): Promise<void> => {
  expect(
    await access(path).then(
      () => 'there',
      () => 'none',
    ),
  ).to.equal('none');
};

/**
 * A small mock of another service. It shows that pages are requested and rows are read as that service documents them,
 * not that it answers so. `answer` returns undefined for 404.
 */
async function listening(answer: (path: string, body: unknown) => unknown): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const sent = Buffer.concat(pieces).toString('utf8');
      const found = answer(request.url!, sent === '' ? undefined : JSON.parse(sent));
      response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(found ?? { error: 'not found' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
