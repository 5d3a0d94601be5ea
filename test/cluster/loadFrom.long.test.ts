/**
 * `npm run load --from` with the services themselves: PostgreSQL with pgvector, in WebAssembly, and a server of Chroma.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { expect } from 'chai';
import { runLoad, succeeded } from '../support/launch/commands.js';
import { findTool } from '../support/launch/foreignTool.js';
import { freePort } from '../support/launch/freePort.js';
import { loadRig } from '../support/launch/loadRig.js';
import { launch } from '../support/launch/process.js';
import { skip } from '../support/skip.js';

const ROWS = 2_500;
const COLLECTIONS = '/api/v2/tenants/default_tenant/databases/default_database/collections';

describe('npm run load --from a service', () => {
  const { at, service } = loadRig();

  const load = (url: string, kind: string, source: string) =>
    runLoad(at, url, 'moved', ['--from', kind, '--source', source, '--create']);
  const counted = async (): Promise<unknown> => (await at.rw.get('/v1/records/count?collection=moved')).body;
  /** Record nearest to the vector. */
  const nearest = async (query: number[]): Promise<unknown> => {
    const asked = { collection: 'moved', query, k: 1, with: ['metadata', 'text', 'vector'] };
    const { id: _, ...hit } = (await at.rw.post('/v1/search', asked)).body.results[0];
    return hit;
  };

  it('reads a table of PostgreSQL by a cursor, with columns of many types', async () => {
    const db = await PGlite.create({ extensions: { vector } });
    const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: await freePort() });
    try {
      await db.exec(`
        CREATE EXTENSION vector;
        CREATE TABLE birds (embedding vector(2), content text, land text, seen timestamptz, tags jsonb, big bigint);
        INSERT INTO birds SELECT ('[' || i || ', -0.25]')::vector, 'bird ' || i, CASE WHEN i % 2 = 0 THEN 'de' END,
          '2026-01-02T03:04:05Z', '{"of": [1, "b"]}', 9007199254740993 FROM generate_series(1, ${ROWS}) i`);
      await server.start();
      const url = `postgres://postgres@${server.getServerConn()}/postgres`;
      const output = await succeeded(load(url, 'pgvector', 'public.birds'));
      expect(output).to.match(/^✔ collection +moved: 2,500 records are in it$/m);
      expect(await counted()).to.deep.equal({ count: ROWS });
      const metadata = {
        land: null,
        seen: '2026-01-02T03:04:05.000Z',
        tags: { of: [1, 'b'] },
        big: '9007199254740993',
      };
      expect(await nearest([2_499, -0.25])).to.deep.equal({
        score: 0,
        vector: [2_499, -0.25],
        text: 'bird 2499',
        metadata,
      });
      const missing = load(url, 'pgvector', 'fish');
      expect((await missing.waitForEnd()).code).to.equal(1);
      expect(missing.output).to.match(/^✘ load +the table fish cannot be read: relation "fish" does not exist$/m);
    } finally {
      await server.stop();
      await db.close();
    }
  });

  it('reads a collection of a Chroma server page by page', async function () {
    const program = findTool('chroma');
    // The project does not include it; load.long.test.ts has a mock.
    if (program === undefined) skip(this, 'chroma, the server of the Python package chromadb, is not installed');
    const folder = await mkdtemp(join(tmpdir(), 'vouch-chroma-'));
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const chroma = launch(program, ['run', '--host', '127.0.0.1', '--port', String(port), '--path', folder]);
    const post = async (path: string, body: object): Promise<unknown> => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(answer.ok, path).to.equal(true);
      return answer.json();
    };
    try {
      await service.until(async () => (await fetch(`${url}/api/v2/heartbeat`)).ok, { everyMs: 100 });
      const { id } = (await post(COLLECTIONS, { name: 'old' })) as { id: string };
      const rows = Array.from({ length: 700 }, (_, i) => i);
      await post(`${COLLECTIONS}/${id}/add`, {
        ids: rows.map((i) => `id-${i}`),
        embeddings: rows.map((i) => [i, -0.25]),
        documents: rows.map((i) => (i % 2 === 0 ? null : `text ${i}`)),
        metadatas: rows.map((i) => (i % 3 === 0 ? null : { n: i, share: i / 4, odd: i % 2 === 1, name: `n${i}` })),
      });
      await succeeded(load(url, 'chroma', 'old'));
      expect(await counted()).to.deep.equal({ count: 700 });
      const metadata = { id: 'id-679', n: 679, share: 169.75, odd: true, name: 'n679' };
      expect(await nearest([679, -0.25])).to.deep.equal({ score: 0, vector: [679, -0.25], text: 'text 679', metadata });
      const bare = { score: 0, vector: [672, -0.25], text: null, metadata: { id: 'id-672' } };
      expect(await nearest([672, -0.25])).to.deep.equal(bare);
      const missing = load(url, 'chroma', 'new');
      expect((await missing.waitForEnd()).code).to.equal(1);
      expect(missing.output).to.match(/^✘ load +Chroma has no collection new$/m);
    } finally {
      await chroma.kill();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
