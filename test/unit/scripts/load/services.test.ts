// Covers: scripts/load/services/
/** Rows of other services: small servers that answer as Qdrant and Chroma do. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { chromaSource } from '../../../../scripts/load/services/chroma.js';
import { qdrantSource } from '../../../../scripts/load/services/qdrant.js';
import type { Fields } from '../../../../scripts/load/source.js';
import { failureOf, readAll } from '../../../support/rigs/rowsRead.js';

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
    const rows = (await readAll(qdrantSource(url, 'big', undefined))) as Fields[];
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
    expect(await readAll(qdrantSource(url, 'clash', undefined))).to.deep.equal([
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
    expect(await readAll(qdrantSource(url, 'c', undefined))).to.deep.equal([
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
    expect(await readAll(chromaSource(url, 'clash', undefined))).to.deep.equal([
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
