/** Rows of PostgreSQL, which runs in WebAssembly. */
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { expect } from 'chai';
import { pgvectorSource } from '../../../../../scripts/load/services/pgvector.js';
import type { Fields } from '../../../../../scripts/load/source.js';
import { freePort } from '../../../../support/launch/freePort.js';
import { failureOf, readAll } from '../../../../support/rigs/rowsRead.js';

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
      const [row] = (await readAll(pgvectorSource(url, 'public.types'))) as [Fields];
      for (const [i, [type, [literal, value]]] of Object.entries(TYPES).entries())
        expect(row[`c${i}`], `${type} of ${literal}`).to.deep.equal(value);
    });

  it('are rejected one by one if they cannot be read', async () => {
    const [first, second, third] = await readAll(pgvectorSource(url, 'twice'));
    expect([first, third]).to.deep.equal([{ n: { a: 1 } }, { n: { a: 3 } }]);
    expect(second).to.match(/a appears twice$/);
  });

  it('are read completely from views and from tables of many pages', async () => {
    const many = (await readAll(pgvectorSource(url, 'many'))) as Fields[];
    expect(many.map(({ n }) => n)).to.deep.equal(Array.from({ length: 2_500 }, (_, i) => i + 1));
    expect(await readAll(pgvectorSource(url, 'few'))).to.deep.equal([{ n: 1 }, { n: 2 }]);
    expect(await failureOf(pgvectorSource(url, 'none'))).to.equal(
      'the table none cannot be read: relation "none" does not exist',
    );
  });

  it('close their connection when the reader stops early', async () => {
    for (let round = 0; round < 3; round++)
      for await (const row of pgvectorSource(url, 'many').rows()) if (row.number === 3) break;
    expect(await readAll(pgvectorSource(url, 'few'))).to.have.length(2);
  });
});
