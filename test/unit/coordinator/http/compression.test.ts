/** The compression of answers, and their cache headers. */
import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { Compressor } from '../../../../coordinator/http/compression.js';
import type { Reply } from '../../../../coordinator/http/reply.js';
import type { RequestHead } from '../../../../coordinator/http/requestHead.js';
import { overEngines, TestEdge } from '../../../support/rigs/testEdge.js';

const long = (contentType = 'application/json'): Reply => ({ status: 200, contentType, body: 'vouch '.repeat(5_000) });
const head = (acceptEncoding: string, method = 'GET') => ({ acceptEncoding, method }) as RequestHead;
const headersOf = (reply: Reply): Record<string, string> => Object.fromEntries(reply.headers ?? []);

describe('the compression of answers', () => {
  it('uses the coding with the highest weight, brotli before gzip, or none', async () => {
    const codings: Readonly<Record<string, string | undefined>> = {
      gzip: 'gzip',
      br: 'br',
      'gzip, deflate, br, zstd': 'br',
      'br;q=0.5, gzip;q=0.8': 'gzip',
      'br;q=0, gzip': 'gzip',
      'GZIP ; q=1': 'gzip',
      '*': 'br',
      '*;q=0': undefined,
      'identity, gzip;q=0.5': undefined,
      'deflate, zstd': undefined,
      'gzip;q=0': undefined,
      '': undefined,
    };
    for (const [accepted, coding] of Object.entries(codings)) {
      const { 'content-encoding': given, vary } = headersOf(await new Compressor().compress(long(), head(accepted)));
      expect([given, vary], accepted).to.deep.equal([coding, 'accept-encoding']);
    }
  });

  it('leaves short answers, bytes and empty answers uncompressed', () => {
    const kept: readonly Reply[] = [
      { ...long(), body: 'x'.repeat(8 * 1024 - 1) },
      long('application/octet-stream'),
      { ...long(), contentType: null, body: '' },
    ];
    for (const reply of kept) expect(new Compressor().compress(reply, head('gzip'))).to.equal(reply);
  });

  it('compresses an answer that is sent repeatedly once', async () => {
    const compressor = new Compressor();
    const file = long('text/javascript');
    const first = await compressor.compress(file, head('gzip'));
    expect(compressor.compress(file, head('gzip'))).to.equal(first);
  });

  it('compresses two answers at a time, and leaves a third uncompressed', async () => {
    const compressor = new Compressor();
    const replies = [1, 2, 3].map(() => compressor.compress(long(), head('br')));
    expect(replies.map((reply) => reply instanceof Promise)).to.deep.equal([true, true, false]);
    await Promise.all(replies);
    expect(headersOf(await compressor.compress(long(), head('br')))).to.include({ 'content-encoding': 'br' });
  });
});

overEngines('a long answer', (engine) => {
  let edge: TestEdge;
  beforeEach(async () => {
    edge = await TestEdge.start({ http: { engine } });
  });
  afterEach(() => edge.stop());

  const get = async (path: string, acceptEncoding: string, method = 'GET') => {
    const headers = { 'accept-encoding': acceptEncoding };
    const sent = request(edge.edge.url + path, { method, headers, agent: false }).end();
    const [answer] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk);
    return { headers: answer.headers as IncomingHttpHeaders, bytes: Buffer.concat(chunks) };
  };

  it('arrives whole in every coding, and names the coding', async () => {
    const [, entry] = /src="([^"]+\.js)"/.exec((await get('/console/', '')).bytes.toString())!;
    const [, program] = /import\("\.\/(main-[^"]+)"\)/.exec((await get(`/console/${entry}`, '')).bytes.toString())!;
    for (const path of ['/openapi.json', `/console/${program}`]) {
      const plain = await get(path, '');
      expect(plain.headers).not.to.have.property('content-encoding');
      for (const [coding, decompress] of [
        ['gzip', gunzipSync],
        ['br', brotliDecompressSync],
      ] as const) {
        const { headers, bytes } = await get(path, coding);
        expect([headers['content-encoding'], headers.vary], path).to.deep.equal([coding, 'accept-encoding']);
        expect(Number(headers['content-length'])).to.equal(bytes.length);
        expect(bytes.length).to.be.below(plain.bytes.length / 2);
        expect(decompress(bytes).equals(plain.bytes), path).to.equal(true);
      }
    }
  });

  it('has for HEAD the length of the uncompressed body', async () => {
    const [got, head] = [await get('/openapi.json', ''), await get('/openapi.json', 'gzip', 'HEAD')];
    expect([Number(head.headers['content-length']), head.bytes.length]).to.deep.equal([got.bytes.length, 0]);
  });
});

overEngines('the headers for caches', (engine) => {
  let edge: TestEdge;
  beforeEach(async () => {
    edge = await TestEdge.start({ http: { engine } });
  });
  afterEach(() => edge.stop());

  it('forbid to store any answer of the API, refusals included, and allow to store the console', async () => {
    const client = await edge.client();
    const answers = [
      ...[await client.get('/health'), await client.get('/openapi.json'), await client.get('/v1/namespaces')],
      ...[await client.get('/v1/nope'), await client.raw('PUT', '/v1/records', ''), await client.get('/metrics')],
      ...[await client.raw('POST', '/v1/search', '{'), await client.raw('DELETE', '/v1/namespaces/none', undefined)],
    ];
    for (const { status, headers } of answers)
      expect([status, headers.get('cache-control')]).to.deep.equal([status, 'no-store']);
    expect((await client.get('/console/')).headers.get('cache-control')).to.equal('no-cache');
  });
});
