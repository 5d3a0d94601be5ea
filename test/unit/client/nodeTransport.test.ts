// Covers: client/nodeTransport.ts, client/ending.ts, client/transport.ts
/** The requests that the client sends by `node:http`. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createRawServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { Ending } from '../../../client/ending.js';
import { ConnectionError, UnexpectedAnswerError, Vouch, type VouchError } from '../../../client/index.js';
import { nodeTransport } from '../../../client/nodeTransport.js';
import type { Answer, Request } from '../../../client/transport.js';
import { AnswerTooLong } from '../../../verifier/index.js';
import { authority, hasOpenSsl } from '../../support/certificates.js';
import { rejection } from '../../support/expectations.js';
import { runTool } from '../../support/launch/foreignTool.js';
import { ALL_ODDITIES, type Oddity, OddServer, whileCollecting } from '../../support/rigs/oddServer.js';
import { skip } from '../../support/skip.js';
import { ROOT } from '../../support/sourceTree.js';

const MAX_BYTES = 256 * 1024;
const ENDS: Readonly<Record<Oddity, string>> = {
  drips: 'deadline',
  'never answers': 'deadline',
  'sends the head and stops': 'deadline',
  'closes in the middle of the body': 'the connection closed before the end of the answer',
  'sends without an end': `the answer is longer than ${MAX_BYTES} bytes`,
};
const CLIENT = pathToFileURL(join(ROOT, 'dist', 'client', 'index.js')).href;

/** Sends one request by itself. */
async function ask(address: string, request: Partial<Request> = {}, withinMs = 60_000): Promise<Answer> {
  const ending = new Ending(withinMs, undefined);
  const transport = nodeTransport(address, MAX_BYTES)!;
  try {
    return await transport({ method: 'GET', url: `${address}/`, headers: {}, body: undefined, ...request }, ending);
  } finally {
    ending.close();
  }
}

describe('requests of the client over node:http', () => {
  let server: Server;
  let answer: RequestListener;
  let url: string;
  let connections: number;
  beforeEach(async () => {
    connections = 0;
    server = createServer((request, response) => answer(request, response)).on('connection', () => connections++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('carry method, path, headers and body over one connection, and get status, headers and bytes', async () => {
    answer = async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { method, url: path, headers } = request;
      const { host, 'x-name': name, 'content-length': length = '', 'transfer-encoding': encoding = '' } = headers;
      response.writeHead(201, { 'x-seen': [method, path, `http://${host}` === url, name, length, encoding].join() });
      response.end(Buffer.concat(chunks));
    };
    for (const [method, body, length] of [
      ['PUT', 'é', 2],
      ['PUT', new TextEncoder().encode('é'), 2],
      ['POST', undefined, 0],
      ['GET', undefined, ''],
    ] as const) {
      const asked = { method, url: `${url}/path?a=b%20c`, headers: { 'x-name': 'v' }, body };
      const { status, headers, bytes } = await ask(url, asked);
      expect([status, headers.get('x-seen'), headers.get('x-none')]).to.deep.equal([
        201,
        `${method},/path?a=b%20c,true,v,${length},`,
        null,
      ]);
      expect(bytes).to.deep.equal(new TextEncoder().encode(body === undefined ? '' : 'é'));
    }
    expect(connections).to.equal(1);
  });

  it('get an answer in many pieces whole, and one without a body', async () => {
    answer = ({ method }, response) => {
      if (method === 'DELETE') return void response.writeHead(204).end();
      for (let i = 0; i < 3; i++) response.write(Buffer.alloc(64 * 1024, i));
      response.end();
    };
    const { bytes } = await ask(url);
    expect([bytes.length, bytes[0], bytes.at(-1)]).to.deep.equal([3 * 64 * 1024, 0, 2]);
    const { status, bytes: none } = await ask(url, { method: 'DELETE' });
    expect([status, none.length]).to.deep.equal([204, 0]);
  });

  it('use a new connection once the server has closed the idle one', async () => {
    answer = (_, response) => void response.end('whole');
    const vouch = new Vouch({ url });
    for (let i = 1; i <= 3; i++) {
      expect(await vouch.version()).to.equal('whole');
      expect(connections).to.equal(i);
      server.closeIdleConnections();
    }
  });

  it('are sent again after the loss of a reused connection only if that is safe', async () => {
    let broken = 0;
    const vouch = new Vouch({ url });
    for (const [call, isRepeated] of [
      [() => vouch.collection('docs').count(), true],
      [() => vouch.collection('docs').graph.createNode({ kind: 1 }), false],
    ] as const) {
      answer = (_, response) => void response.end('{"count":1,"node_id":1}');
      await call();
      [broken, connections] = [0, 0];
      answer = ({ socket }, response) => {
        if (broken++ === 0) socket.destroy();
        else response.end('{"count":1}');
      };
      const outcome = call();
      if (isRepeated) expect(await outcome).to.equal(1);
      else expect(await rejection(outcome)).to.be.instanceOf(ConnectionError);
      expect([broken, connections]).to.deep.equal(isRepeated ? [2, 1] : [1, 0]);
    }
  });

  it('follow no redirect', async () => {
    answer = (_, response) => void response.writeHead(307, { location: '/other' }).end();
    const error = (await rejection(new Vouch({ url }).version())) as VouchError;
    expect(error).to.be.instanceOf(UnexpectedAnswerError).and.include({ status: 307 });
  });

  it('fail with ConnectionError if nothing listens, or if the server changes the protocol', async () => {
    const raw = createRawServer((socket) =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    );
    await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
    const odd = `http://127.0.0.1:${(raw.address() as AddressInfo).port}`;
    const refused = 'http://127.0.0.1:1';
    for (const address of [odd, refused]) {
      const error = await rejection(new Vouch({ url: address, retries: 0 }).version());
      expect(error).to.be.instanceOf(ConnectionError);
      expect([error.message, error.cause]).to.deep.equal([`no answer from ${address}/v1/version`, error.cause]);
      expect(error.cause).to.be.instanceOf(Error);
    }
    raw.close();
  });

  it('reach a service at an IPv6 address', async function () {
    if (!Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1')))
      skip(this, 'the machine has no IPv6');
    const six = createServer(({ headers }, response) => void response.end(headers.host));
    await new Promise<void>((resolve) => six.listen(0, '::1', resolve));
    const { port } = six.address() as AddressInfo;
    expect(await new Vouch({ url: `http://[::1]:${port}` }).version()).to.equal(`[::1]:${port}`);
    six.closeAllConnections();
    six.close();
  });

  it('reach a service over TLS, and leave no process running', async function () {
    if (!hasOpenSsl()) skip(this, 'openssl is not installed');
    const folder = await mkdtemp(join(tmpdir(), 'vouch-transport-'));
    const { ca, certificate } = authority(folder);
    const made = certificate('service');
    const options = { cert: await readFile(made.cert), key: await readFile(made.key) };
    const secure = createSecureServer(options, ({ url: path }, response) => void response.end(path));
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    const address = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`;
    const program = `import { Vouch } from '${CLIENT}'; console.log(await new Vouch({ url: '${address}', retries: 0 }).version())`;
    const run = (env: NodeJS.ProcessEnv) =>
      runTool(process.execPath, ['--input-type=module', '-e', program], '', { env: { ...process.env, ...env } });
    const [trusting, wary] = [await run({ NODE_EXTRA_CA_CERTS: ca }), await run({})];
    secure.closeAllConnections();
    secure.close();
    await rm(folder, { recursive: true });
    expect([trusting.code, trusting.output]).to.deep.equal([0, '/v1/version\n']);
    expect(wary.code).to.equal(1);
    expect(wary.output).to.match(/ConnectionError: no answer[\s\S]*unable to verify the first certificate/);
  });

  for (const [where, change] of [
    ['in Next.js', () => Object.assign(process.env, { NEXT_RUNTIME: 'nodejs' })],
    ['without getBuiltinModule', () => Object.defineProperty(process, 'getBuiltinModule', { value: undefined })],
  ] as const)
    it(`use fetch ${where}`, async () => {
      const kept = Object.getOwnPropertyDescriptor(process, 'getBuiltinModule')!;
      const { fetch } = globalThis;
      try {
        change();
        globalThis.fetch = async () => new Response('by fetch');
        expect(await new Vouch({ url }).version()).to.equal('by fetch');
      } finally {
        globalThis.fetch = fetch;
        Object.defineProperty(process, 'getBuiltinModule', kept);
        delete process.env.NEXT_RUNTIME;
      }
    });
});

describe('a request of the client over node:http to a misbehaving server', () => {
  let odd: OddServer;
  beforeEach(async () => {
    odd = await OddServer.start();
  });
  afterEach(() => odd.stop());

  for (const oddity of ALL_ODDITIES)
    for (const method of ['GET', 'POST'] as const)
      it(`ends at its bounds if the server ${oddity} after ${method}`, async () => {
        odd.oddity = oddity;
        const request = method === 'GET' ? {} : { method, body: 'x' };
        const withinMs = ENDS[oddity] === 'deadline' ? 250 : 60_000;
        const error = await whileCollecting(() => rejection(ask(odd.url, request, withinMs)));
        expect(error.message).to.equal(ENDS[oddity]);
        expect(error instanceof AnswerTooLong).to.equal(oddity === 'sends without an end');
        // The connection does not outlive the exchange.
        await odd.untilLeft();
      });

  for (const oddity of ['drips', 'never answers'] as const)
    it(`ends with the reason of an aborted signal if the server ${oddity}`, async () => {
      odd.oddity = oddity;
      const aborting = new AbortController();
      const asked = rejection(new Vouch({ url: odd.url }).version({ signal: aborting.signal }));
      setTimeout(() => aborting.abort(new Error('enough')), 50);
      expect((await whileCollecting(() => asked)).message).to.equal('enough');
      await odd.untilLeft();
    });
});
