// Covers: client/nodeFetch.ts
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { nodeFetch } from '../../../client/node.js';
import { rejection } from '../../support/expectations.js';

const MIB = 1024 * 1024;

describe('fetch over node:http', () => {
  let server: Server;
  let answer: RequestListener;
  let url: string;
  let connections: number;
  const fetch = nodeFetch();
  beforeEach(async () => {
    connections = 0;
    server = createServer((request, response) => answer(request, response)).on('connection', () => connections++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/path?a=b%20c`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('sends method, address, headers and body, and returns status, headers and body', async () => {
    answer = async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { method, url: path, headers } = request;
      const seen = [method, path, headers['x-name'], headers['content-length'], headers['transfer-encoding']];
      response.writeHead(
        201,
        'Made',
        [
          ['set-cookie', 'a'],
          ['set-cookie', 'b'],
          ['x-seen', seen.join()],
        ].flat(),
      );
      response.end(Buffer.concat(chunks));
    };
    for (const body of ['é', new TextEncoder().encode('é')]) {
      const response = await fetch(url, { method: 'PUT', headers: { 'x-name': 'v' }, body });
      expect([response.status, response.ok, response.statusText]).to.deep.equal([201, true, 'Made']);
      expect(response.headers.getSetCookie()).to.deep.equal(['a', 'b']);
      expect(response.headers.get('x-seen')).to.equal('PUT,/path?a=b%20c,v,2,');
      expect(await response.text()).to.equal('é');
    }
    expect(connections).to.equal(1);
  });

  it('returns answers without a body, which leave the connection open', async () => {
    answer = (_, response) => void response.writeHead(204).end();
    for (let i = 0; i < 3; i++) {
      const { status, body } = await fetch(new URL(url));
      expect([status, body]).to.deep.equal([204, null]);
    }
    expect(connections).to.equal(1);
  });

  it('streams an answer that is long or has no declared length, and ends it if its reader cancels', async () => {
    let isClosed: Promise<unknown> = Promise.resolve();
    answer = ({ method }, response) => {
      if (method === 'POST') response.setHeader('content-length', 3 * MIB);
      for (let i = 0; i < 3; i++) response.write(Buffer.alloc(MIB, i));
      if (method === 'POST') response.end();
      isClosed = new Promise((resolve) => response.once('close', resolve));
    };
    const whole = new Uint8Array(await (await fetch(url, { method: 'POST' })).arrayBuffer());
    expect([whole.length, whole[0], whole.at(-1)]).to.deep.equal([3 * MIB, 0, 2]);
    const endless = (await fetch(url)).body!.getReader();
    expect((await endless.read()).value?.[0]).to.equal(0);
    await endless.cancel();
    await isClosed;
  });

  it('rejects with the reason of its signal, before the request, before the answer and within it', async () => {
    answer = (request, response) => {
      if (request.method === 'POST') response.writeHead(200, { 'content-length': 2 }).write('1');
    };
    expect((await rejection(fetch(url, { signal: AbortSignal.abort(new Error('early')) }))).message).to.equal('early');
    for (const method of ['GET', 'POST']) {
      const aborting = new AbortController();
      const asked = rejection(fetch(url, { method, signal: aborting.signal }));
      await new Promise((resolve) => server.once('request', resolve));
      setImmediate(() => aborting.abort(new Error(method)));
      expect((await asked).message).to.equal(method);
    }
  });

  it('rejects with a TypeError if the connection breaks or is refused, and for what it does not take', async () => {
    answer = ({ socket, method }, response) => {
      if (method === 'POST') response.writeHead(200, { 'content-length': 2 }).write('1', () => socket.destroy());
      else socket.destroy();
    };
    for (const method of ['GET', 'POST']) {
      const error = await rejection(fetch(url, { method }));
      expect([error.constructor, error.message]).to.deep.equal([TypeError, 'fetch failed']);
      expect(error.cause).to.be.instanceOf(Error);
    }
    expect(await rejection(fetch('http://127.0.0.1:1/'))).to.be.instanceOf(TypeError);
    expect((await rejection(fetch(new Request(url)))).message).to.match(/expected an address/);
    expect((await rejection(fetch(url, { method: 'POST', body: new FormData() }))).message).to.match(/text or bytes/);
  });
});
