// Covers: scripts/load/services/
/** Rows of other services: PostgreSQL in WebAssembly, and small servers that answer as Qdrant and Chroma do. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { expect } from 'chai';
import { chromaSource } from '../../../../scripts/load/services/chroma.js';
import { pgvectorSource } from '../../../../scripts/load/services/pgvector.js';
import { qdrantSource } from '../../../../scripts/load/services/qdrant.js';
import { type Fields, isUnreadable, type Source } from '../../../../scripts/load/source.js';
import { freePort } from '../../../support/launch/freePort.js';

/** Fields of each row, or the reason why it cannot be read. */
async function read(source: Source): Promise<(Fields | string)[]> {
  const rows: (Fields | string)[] = [];
  for await (const row of source.rows()) rows.push(isUnreadable(row) ? row.fault : row.fields);
  return rows;
}

const failureOf = (source: Source): Promise<string> =>
  read(source).then(
    (rows) => `none: ${rows.length} rows`,
    (error: Error) => error.message,
  );

describe('rows of PostgreSQL', () => {
  /** Type → a literal and the value that it becomes. */
  const TYPES: Readonly<Record<string, readonly [literal: string, value: unknown]>> = {
    bool: ["'t'", true],
    int2: ['-32768', -32_768],
    int4: ['2147483647', 2_147_483_647],
    int8: ['9007199254740993', 9_007_199_254_740_993n],
    oid: ['4294967295', 4_294_967_295],
    numeric: ["'12345678901234567890.10'", '12345678901234567890.10'],
    'numeric(10, 2)': ["'NaN'", 'NaN'],
    float4: ["'0.1'", 0.1],
    float8: ["'-Infinity'", Number.NEGATIVE_INFINITY],
    money: ["'12.5'", '$12.50'],
    text: ["'naïve\n'", 'naïve\n'],
    'varchar(3)': ["'abc'", 'abc'],
    'char(3)': ["'a'", 'a  '],
    name: ["'a'", 'a'],
    bytea: ["'\\x00ff'", Buffer.of(0, 255)],
    date: ["'2026-01-02'", '2026-01-02'],
    'date -- long ago': ["'0044-03-15 BC'", '-000043-03-15'],
    'date -- far': ["'infinity'", 'infinity'],
    time: ["'03:04:05.5'", '03:04:05.5'],
    timetz: ["'03:04:05+02'", '03:04:05+02'],
    timestamp: ["'2026-01-02 03:04:05.123456'", '2026-01-02T03:04:05.123456'],
    'timestamp -- whole': ["'2026-01-02 03:04:05'", '2026-01-02T03:04:05.000'],
    'timestamp -- long ago': ["'0044-03-15 12:00:00 BC'", '-000043-03-15T12:00:00.000'],
    'timestamp -- far': ["'12026-01-02 03:04:05'", '+012026-01-02T03:04:05.000'],
    timestamptz: ["'2026-01-02 03:04:05+09'", '2026-01-01T18:04:05.000Z'],
    'timestamptz -- endless': ["'-infinity'", '-infinity'],
    interval: ["'1 year 2 days 03:04:05'", 'P1Y2DT3H4M5S'],
    uuid: ["'00000000-0000-0000-0000-00000000000a'", '00000000-0000-0000-0000-00000000000a'],
    json: [`'{"a": 9007199254740993, "b": 1e20}'`, { a: 9_007_199_254_740_993n, b: 1e20 }],
    jsonb: [`'[1, {"a": "x"}]'`, [1, { a: 'x' }]],
    xml: ["'<a/>'", '<a/>'],
    inet: ["'10.0.0.1/8'", '10.0.0.1/8'],
    point: ["'(1,2)'", '(1,2)'],
    int4range: ["'[1,5)'", '[1,5)'],
    tsvector: ["'a b'", "'a' 'b'"],
    'bit(3)': ["B'101'", [1, 0, 1]],
    mood: ["'calm'", 'calm'],
    positive: ['7', 7n],
    pair: ["ROW(1, 'x')", '(1,x)'],
    'int8[]': ["'{9007199254740993, NULL, 1}'", [9_007_199_254_740_993n, null, 1n]],
    'int4[]': ["'[0:1]={1,2}'", [1, 2]],
    'int4[][]': [
      "'{{1,2},{3,4}}'",
      [
        [1, 2],
        [3, 4],
      ],
    ],
    'text[]': [`ARRAY['a,b', 'c"d\\e', 'NULL', NULL, '', '{}']`, ['a,b', 'c"d\\e', 'NULL', null, '', '{}']],
    'timestamptz[]': ["ARRAY['2026-01-02 03:04:05+00'::timestamptz]", ['2026-01-02T03:04:05.000Z']],
    'bytea[]': ["ARRAY['\\x00ff'::bytea]", [Buffer.of(0, 255)]],
    'positive[]': ['ARRAY[7]::positive[]', [7n]],
    'mood[]': ["ARRAY['calm']::mood[]", ['calm']],
    'box[]': ["ARRAY['(1,2),(3,4)'::box, '(5,6),(7,8)']", ['(3,4),(1,2)', '(7,8),(5,6)']],
    'vector(2)': ["'[1,-0.25]'", [1, -0.25]],
    'halfvec(2)': ["'[1,-0.25]'", [1, -0.25]],
    'sparsevec(3)': ["'{1:1.5}/3'", '{1:1.5}/3'],
    'vector(2)[]': ["ARRAY['[1,2]'::vector]", [[1, 2]]],
    'int4 -- null': ['NULL', null],
  };

  let db: PGlite;
  let server: PGLiteSocketServer;
  let url: string;
  const zone = process.env.TZ;
  before(async () => {
    db = await PGlite.create({ extensions: { vector } });
    const columns = Object.entries(TYPES).map(([type], i) => `c${i} ${type}\n`);
    const literals = Object.entries(TYPES).map(([, [literal]]) => literal);
    await db.exec(`
      CREATE EXTENSION vector;
      CREATE TYPE mood AS ENUM ('calm', 'wild'); CREATE DOMAIN positive AS int8 CHECK (VALUE > 0);
      CREATE TYPE pair AS (a int, b text);
      CREATE TABLE types (${columns.join(',')}); INSERT INTO types VALUES (${literals.join(',')});
      CREATE TABLE twice (n json);
      INSERT INTO twice VALUES ('{"a": 1}'), ('{"a": 1, "a": 2}'), ('{"a": 3}');
      CREATE TABLE many AS SELECT i AS n FROM generate_series(1, 2500) i; CREATE VIEW few AS SELECT n FROM many WHERE n < 3;
      SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'; SET IntervalStyle = 'sql_standard'; SET bytea_output = 'escape';`);
    server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: await freePort() });
    await server.start();
    url = `postgres://postgres@${server.getServerConn()}/postgres`;
  });
  after(async () => {
    await server.stop();
    await db.close();
  });
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  for (const ownZone of ['UTC', 'America/New_York'])
    it(`keep the value of every type under any server settings, in the time zone ${ownZone}`, async () => {
      process.env.TZ = ownZone;
      const [row] = (await read(pgvectorSource(url, 'public.types'))) as [Fields];
      for (const [i, [type, [literal, value]]] of Object.entries(TYPES).entries())
        expect(row[`c${i}`], `${type} of ${literal}`).to.deep.equal(value);
    });

  it('are rejected one by one if they cannot be read', async () => {
    const [first, second, third] = await read(pgvectorSource(url, 'twice'));
    expect([first, third]).to.deep.equal([{ n: { a: 1 } }, { n: { a: 3 } }]);
    expect(second).to.match(/a appears twice$/);
  });

  it('are read completely from views and from tables of many pages', async () => {
    const many = (await read(pgvectorSource(url, 'many'))) as Fields[];
    expect(many.map(({ n }) => n)).to.deep.equal(Array.from({ length: 2_500 }, (_, i) => i + 1));
    expect(await read(pgvectorSource(url, 'few'))).to.deep.equal([{ n: 1 }, { n: 2 }]);
    expect(await failureOf(pgvectorSource(url, 'none'))).to.equal(
      'the table none cannot be read: relation "none" does not exist',
    );
  });

  it('close their connection when the reader stops early', async () => {
    for (let round = 0; round < 3; round++)
      for await (const row of pgvectorSource(url, 'many').rows()) if (row.number === 3) break;
    expect(await read(pgvectorSource(url, 'few'))).to.have.length(2);
  });
});

describe('rows of services with a JSON interface', () => {
  const servers: Server[] = [];
  after(() => {
    for (const server of servers) server.close();
  });

  /**
   * Starts a server that answers each request with the text of `answer`, or with 404 for undefined. Returns its URL.
   */
  async function answering(answer: (path: string, body: string) => string | undefined): Promise<string> {
    const server = createServer(async (request, response) => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const found = answer(request.url!, Buffer.concat(pieces).toString('utf8'));
      response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(found ?? '{}');
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Qdrant with these `points`: the JSON of each, by id. */
  const qdrant = (points: ReadonlyMap<bigint, string>, counted = points.size): Promise<string> =>
    answering((path, body) => {
      if (path.endsWith('/count')) return `{"result":{"count":${counted}}}`;
      const offset = BigInt(/"offset":(\d+)/.exec(body)?.[1] ?? 0);
      const limit = Number(/"limit":(\d+)/.exec(body)![1]);
      const left = [...points.keys()].filter((id) => id >= offset);
      const page = left.slice(0, limit).map((id) => points.get(id)!);
      return `{"result":{"points":[${page.join(',')}],"next_page_offset":${left[limit] ?? null}}}`;
    });

  it('Qdrant: every point is read once, also with ids beyond 2^53', async () => {
    const ids = Array.from({ length: 310 }, (_, i) => 2n ** 53n - 1n + BigInt(i));
    const url = await qdrant(
      new Map(ids.map((id) => [id, `{"id":${id},"payload":{"n":${id}},"vector":[1,0.1234567890123456]}`])),
    );
    const rows = (await read(qdrantSource(url, 'big', undefined))) as Fields[];
    expect(rows.map(({ id }) => String(id))).to.deep.equal(ids.map(String));
    expect(rows.map(({ n }) => String(n))).to.deep.equal(ids.map(String));
    expect(rows[9]!.vector).to.deep.equal([1, 0.1234567890123456]);
  });

  it('Qdrant: a payload hides no field of its point and loses no key', async () => {
    const url = await qdrant(
      new Map([
        [7n, '{"id":7,"payload":{"id":"sku","text":"x","vector":"north","payload.id":"y"},"vector":[1,0]}'],
        [8n, '{"id":8,"payload":{"embedding":"p","text":"z"},"vector":{"embedding":[0,1],"text":[1,1]}}'],
        [9n, '{"id":9,"payload":null,"vector":[1,1]}'],
      ]),
    );
    expect(await read(qdrantSource(url, 'clash', undefined))).to.deep.equal([
      { id: 7, vector: [1, 0], 'payload.payload.id': 'sku', text: 'x', 'payload.vector': 'north', 'payload.id': 'y' },
      { id: 8, embedding: [0, 1], 'vector.text': [1, 1], 'payload.embedding': 'p', text: 'z' },
      { id: 9, vector: [1, 1] },
    ]);
  });

  it('Qdrant: fewer points than it counted fail the load', async () => {
    const url = await qdrant(new Map([[1n, '{"id":1,"vector":[1]}']]), 2);
    expect(await failureOf(qdrantSource(url, 'c', undefined))).to.equal(
      'c of Qdrant had 2 rows when the load began, and 1 was read: load it again',
    );
  });

  it('Qdrant: pages without an end fail the load', async () => {
    for (const [page, failure] of [
      ['"points":[],"next_page_offset":1', /answers in another form than expected$/],
      ['"points":[{"id":1,"vector":[1]}],"next_page_offset":2', /had 2 rows when the load began, and 3 were read/],
    ] as const) {
      let asked = 0;
      const url = await answering((path) => {
        if (path.endsWith('/count')) return '{"result":{"count":2}}';
        return `{"result":{${asked++ % 2 === 0 || page.includes('[]') ? page : page.replace(/2$/, '1')}}}`;
      });
      expect(await failureOf(qdrantSource(url, 'c', undefined))).to.match(failure);
    }
  });

  it('Qdrant and Chroma: answers of another form fail the load in one line', async () => {
    for (const sourceOf of [qdrantSource, chromaSource])
      for (const answer of ['{}', '[]', '1', '{"result":{"count":1},"id":"u"}']) {
        const failure = await failureOf(sourceOf(await answering(() => answer), 'c', undefined));
        expect(failure, answer).to.match(
          /^c of \w+ cannot be read: its service answers in another form than expected$/,
        );
      }
    expect(await failureOf(qdrantSource(await answering(() => 'null'), 'c', undefined))).to.match(/answers null$/);
  });

  it('Qdrant: an object with a key of U+0000 is kept beside numbers beyond 2^53', async () => {
    const url = await qdrant(
      new Map([[1n, '{"id":1,"payload":{"a":{"\\u0000":"x"},"n":9007199254740993},"vector":[1]}']]),
    );
    expect(await read(qdrantSource(url, 'c', undefined))).to.deep.equal([
      { id: 1, vector: [1], a: { '\0': 'x' }, n: 9_007_199_254_740_993n },
    ]);
  });

  const chroma = (
    rows: readonly (readonly [id: string, document: string, metadata: string])[],
    counted = rows.length,
  ) =>
    answering((path, body) => {
      if (path.endsWith('/count')) return String(counted);
      if (!path.endsWith('/get')) return '{"id":"u"}';
      const { limit, offset } = JSON.parse(body) as { limit: number; offset: number };
      const page = rows.slice(offset, offset + limit);
      const list = (of: (row: (typeof rows)[number]) => string): string => `[${page.map(of).join(',')}]`;
      return `{"ids":${list(([id]) => JSON.stringify(id))},"embeddings":${list(() => '[1,0]')},
        "documents":${list(([, document]) => document)},"metadatas":${list(([, , metadata]) => metadata)}}`;
    });

  it('Chroma: metadata hides no field of its row and loses no key', async () => {
    const url = await chroma([
      ['c1', 'null', '{"text":"the whole text","id":"m1","n":9007199254740993}'],
      ['c2', '"two"', '{"vector":"north","lang":"de"}'],
      ['c3', 'null', 'null'],
    ]);
    expect(await read(chromaSource(url, 'clash', undefined))).to.deep.equal([
      {
        id: 'c1',
        text: null,
        vector: [1, 0],
        'metadata.text': 'the whole text',
        'metadata.id': 'm1',
        n: 2n ** 53n + 1n,
      },
      { id: 'c2', text: 'two', vector: [1, 0], 'metadata.vector': 'north', lang: 'de' },
      { id: 'c3', text: null, vector: [1, 0] },
    ]);
  });

  it('Chroma: fewer or more rows than it counted fail the load', async () => {
    const rows = Array.from({ length: 300 }, (_, i) => [`c${i}`, 'null', 'null'] as const);
    for (const counted of [299, 301])
      expect(await failureOf(chromaSource(await chroma(rows, counted), 'c', undefined))).to.equal(
        `c of Chroma had ${counted} rows when the load began, and 300 were read: load it again`,
      );
  });
});
