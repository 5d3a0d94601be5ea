// Covers: coordinator/http/requestHead.ts, coordinator/http/bodyReader.ts, coordinator/http/engine/
// Covers: coordinator/http/router.ts
/** Malformed HTTP requests, byte by byte: each is answered at once and has no effect. */
import { expect } from 'chai';
import { HostileClient } from '../../../support/launch/hostileClient.js';
import { rawExchange, requestHead } from '../../../support/launch/http.js';
import { overEngines, TestEdge } from '../../../support/rigs/testEdge.js';

const HOST = 'host: test\r\n';
/** Longer than any immediate answer takes, shorter than the idle timeout. */
const ANSWER_MS = 4_000;
/** Longer than the 5 s after which a stopped body is refused. */
const STALLED_MS = 8_000;

type Ends = 'closed' | 'open';

interface Row {
  readonly bytes: string;
  /** Status of the first answer; 0 without an answer. */
  readonly status: number;
  readonly ends: Ends;
  /** False if the engine's parser answers and the server never sees the request. */
  readonly isJson?: boolean;
  /** Answer of Node's parser, where it differs. */
  readonly byNode?: { readonly status: number; readonly ends: Ends };
}

overEngines('malformed requests', (engine) => {
  let edge: TestEdge;
  let authorization: string;
  const clients: HostileClient[] = [];
  beforeEach(async () => {
    edge = await TestEdge.start({ http: { engine } });
    authorization = `authorization: Bearer ${await edge.key()}\r\n`;
    await edge.backend.create('p', { name: 'x', dimension: 2, index: 'brute' });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.end();
    await edge.stop();
  });

  const names = async (): Promise<string[]> => (await edge.backend.list('p')).map(({ name }) => name);
  const open = async (bytes: string): Promise<HostileClient> => {
    const client = await HostileClient.open(edge.edge.port, bytes);
    clients.push(client);
    return client;
  };
  const soon = async (condition: () => boolean, withinMs: number): Promise<void> => {
    for (let turn = 0; !condition() && turn < withinMs / 10; turn++)
      await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const bodyIn = (received: string): string => received.slice(received.indexOf('\r\n\r\n') + 4);
  const headerIn = (received: string, name: string): string | undefined =>
    new RegExp(`^${name}: (.*)$`, 'im').exec(received.slice(0, received.indexOf('\r\n\r\n')).replaceAll('\r', ''))?.[1];

  const DELETION = 'DELETE /v1/namespaces/x HTTP/1.1\r\n';
  const framed = (headers: string): string => `${DELETION}${HOST}${authorization}${headers}\r\n`;
  const check = async (rows: () => Readonly<Record<string, Row>>): Promise<void> => {
    for (const [name, row] of Object.entries(rows())) {
      const { bytes, isJson = true } = row;
      const { status, ends } = (engine === 'node' && row.byNode) || row;
      const client = await open(bytes);
      await soon(() => (ends === 'closed' ? !client.isOpen : client.status !== 0), ANSWER_MS);
      expect([client.status, client.isOpen ? 'open' : 'closed'], name).to.deep.equal([status, ends]);
      if (status === 400 && isJson) {
        expect(JSON.parse(bodyIn(client.received)).code, name).to.equal('validation_error');
        expect(headerIn(client.received, 'connection'), name).to.equal('close');
        expect(headerIn(client.received, 'x-request-id'), name).to.match(/./);
      }
      expect(await names(), `${name} has no effect`).to.deep.equal(['x']);
    }
  };

  it('an invalid or repeated length gets 400 first, and the bytes behind it are not read', () =>
    check(() => {
      const refused = (headers: string, rest = ''): Row => ({
        bytes: framed(headers) + rest,
        status: 400,
        ends: 'closed',
      });
      const smuggled = `${DELETION}${HOST}${authorization}\r\n`;
      return {
        'a list': refused('content-length: 1, 1\r\n', '{}'),
        letters: refused('content-length: abc\r\n', '{}'),
        negative: refused('content-length: -1\r\n', '{}'),
        signed: refused('content-length: +2\r\n', '{}'),
        empty: refused('content-length: \r\n', smuggled),
        'two words': refused('content-length: 2 2\r\n', '{}'),
        hexadecimal: refused('content-length: 0x2\r\n', '{}'),
        'a fraction': refused('content-length: 2.0\r\n', '{}'),
        '2^53': refused('content-length: 9007199254740992\r\n', '{}'),
        '26 digits': refused(`content-length: ${'1'.repeat(26)}\r\n`, '{}'),
        'twice the same': refused('content-length: 0\r\ncontent-length: 0\r\n', smuggled),
        'two lengths': refused('content-length: 0\r\nContent-Length: 3\r\n', smuggled),
        'chunked twice': refused('transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n', '0\r\n\r\n'),
        'not chunked': refused('transfer-encoding: gzip\r\n', '{}'),
        'gzip in chunks': refused('transfer-encoding: gzip, chunked\r\n', '0\r\n\r\n'),
        'an empty length, and chunked': refused('content-length: \r\ntransfer-encoding: chunked\r\n', '0\r\n\r\n'),
        'two hosts': refused('host: other\r\n'),
        'two keys': refused('authorization: Bearer vk_b\r\n'),
        'two content types': refused('content-type: text/plain\r\ncontent-type: application/json\r\n'),
        'two content encodings': refused('content-encoding: identity\r\ncontent-encoding: gzip\r\n'),
        'two idempotency keys': refused('idempotency-key: a\r\nidempotency-key: b\r\n'),
        'without a key, at no path': {
          bytes: `PUT /nope HTTP/1.1\r\n${HOST}content-length: 1, 1\r\n\r\n`,
          status: 400,
          ends: 'closed',
        },
        HEAD: { bytes: `HEAD /health HTTP/1.1\r\n${HOST}content-length: 1, 1\r\n\r\n`, status: 400, ends: 'closed' },
      };
    }));

  it('a request that the native parser refuses is answered by it and closed', () =>
    check(() => {
      const native = (status: number, bytes: string, byNode: Row['byNode'] = { status, ends: 'closed' }): Row => ({
        ...{ bytes, status, ends: 'closed', isJson: false, byNode },
      });
      const byNode = { status: 400, ends: 'closed' } as const;
      const served = { status: 200, ends: 'open' } as const;
      const chunked = framed('transfer-encoding: chunked\r\n').replace(DELETION, 'POST /v1/search HTTP/1.1\r\n');
      const health = 'GET /health HTTP/1.1\r\n';
      return {
        'a length beside chunked': native(400, framed('content-length: 2\r\ntransfer-encoding: chunked\r\n')),
        'no host': native(400, `${health}accept: */*\r\n\r\n`),
        'a chunk size that is not a number': native(400, `${chunked}zz\r\n{}\r\n0\r\n\r\n`),
        'HTTP/1.0': native(505, `GET /health HTTP/1.0\r\n${HOST}\r\n`, { status: 200, ends: 'closed' }),
        'HTTP/1.0 with a body in chunks': native(
          ...([
            505,
            `${DELETION.replace('1.1', '1.0')}${HOST}${authorization}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
          ] as const),
          byNode,
        ),
        'HTTP/2.0': native(505, `GET /health HTTP/2.0\r\n${HOST}\r\n`),
        'HTTP/1.2': native(505, `GET /health HTTP/1.2\r\n${HOST}\r\n`),
        'HTTP/3.0': native(505, `GET /health HTTP/3.0\r\n${HOST}\r\n`),
        'the preface of HTTP/2': native(505, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        CONNECT: native(505, `CONNECT test:80 HTTP/1.1\r\n${HOST}\r\n`, byNode),
        'a target that is *': native(505, `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, { status: 404, ends: 'open' }),
        'lines without CR': native(505, 'GET /health HTTP/1.1\nhost: x\n\n', byNode),
        'an absolute URI': native(505, `GET http://test/health HTTP/1.1\r\n${HOST}\r\n`, served),
        TLS: native(505, `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${'x'.repeat(200)}`, byNode),
        'a NUL in the path': native(505, `GET /health\0 HTTP/1.1\r\n${HOST}\r\n`, byNode),
        'a head of 20,000 bytes': native(431, `${health}${HOST}x-a: ${'a'.repeat(20_000)}\r\n\r\n`),
        'a path of 20,000 bytes': native(431, `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`),
        '120 headers': native(431, `${health}${HOST}${'x-a: a\r\n'.repeat(120)}\r\n`, served),
      };
    }));

  it('a rare but valid request is served, and the connection stays open', () =>
    check(() => {
      const health = 'GET /health HTTP/1.1\r\n';
      return {
        'an empty header': { bytes: `${health}${HOST}x-a:\r\n\r\n`, status: 200, ends: 'open' },
        'a length with leading zeros': {
          bytes: `${health}${HOST}content-length: 000\r\n\r\n`,
          status: 200,
          ends: 'open',
        },
        'Chunked in capitals': {
          bytes: `${health}${HOST}transfer-encoding: Chunked\r\n\r\n0\r\n\r\n`,
          status: 200,
          ends: 'closed',
        },
        'a last request': { bytes: `${health}${HOST}connection: Close\r\n\r\n`, status: 200, ends: 'closed' },
        'an unknown method': {
          ...{ bytes: `G@T /health HTTP/1.1\r\n${HOST}\r\n`, status: 405, ends: 'open' },
          ...{ isJson: false, byNode: { status: 400, ends: 'closed' } },
        },
      };
    }));

  it('bytes behind the last chunk of a body are not read as a request', async () => {
    const body = JSON.stringify({ collection: 'x', query: [1, 2], k: 1 });
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n`;
    const search = `POST /v1/search HTTP/1.1\r\n${HOST}${authorization}transfer-encoding: chunked\r\n\r\n${chunk}`;
    for (const trailer of ['', 'XX', '\r\n', 'x-trailer: 1\r\n\r\n'])
      for (const isLate of [false, true]) {
        const client = await open(search);
        if (isLate) await soon(() => client.status !== 0, 500);
        client.send(`${trailer}${DELETION}${HOST}${authorization}\r\n`);
        await soon(() => !client.isOpen, ANSWER_MS);
        expect(client.isOpen).to.equal(false);
        expect(await names()).to.deep.equal(['x']);
        // Some bytes end the connection of uWebSockets.js without an answer.
        const status = trailer.endsWith('\r\n') ? 200 : 400;
        if (engine === 'node') expect(client.received.match(/HTTP\/1.1 \d+/g)).to.deep.equal([`HTTP/1.1 ${status}`]);
      }
  });

  it('a head of 16,000 bytes is served, whole or in pieces', async () => {
    const head = `GET /health HTTP/1.1\r\n${HOST}x-a: ${'a'.repeat(16_000)}\r\n\r\n`;
    const whole = await open(head);
    const inPieces = await open(head.slice(0, 9_000));
    await soon(() => whole.status !== 0, ANSWER_MS);
    inPieces.send(head.slice(9_000));
    await soon(() => inPieces.status !== 0, ANSWER_MS);
    expect([whole.status, inPieces.status]).to.deep.equal([200, 200]);
  });

  it('a byte beyond ASCII inside a header value gets 400', () =>
    check(() => {
      const refused = (headers: string): Row => ({ bytes: framed(headers), status: 400, ends: 'closed' });
      return {
        'a key for idempotency': refused('idempotency-key: 0123\xe9456\r\n'),
        'a content type': refused('content-type: application/\xc3\xa9json\r\n'),
        'a second authorization': refused('authorization: Bearer a\xffb\r\n'),
        'an origin': refused('origin: https://\xfc.example\r\n'),
      };
    }));

  // The parser of uWebSockets.js drops such bytes at the ends of values before it passes them on.
  if (engine === 'node')
    it('a byte beyond ASCII at an end of a header value gets 400', () =>
      check(() => {
        const names = ['authorization', 'content-type', 'content-length', 'idempotency-key', 'accept', 'host'];
        const rows = names.flatMap((name) =>
          ['\x80', '\xa0', '\xff'].flatMap((byte) => [
            [`${name} ends with`, `${name}: 0${byte}\r\n`],
            [`${name} begins with`, `${name}: ${byte}0\r\n`],
          ]),
        );
        return Object.fromEntries(
          rows.map(([name, header]) => [
            name,
            {
              ...{
                bytes: `GET /health HTTP/1.1\r\n${header!.startsWith('host') ? '' : HOST}${header}\r\n`,
                isJson: false,
              },
              ...{ status: 400, ends: 'closed' },
            } as Row,
          ]),
        );
      }));

  if (engine === 'node') {
    it('a request that the parser refuses gets the reason in JSON', async () => {
      const health = 'GET /health HTTP/1.1\r\n';
      const reasons = {
        'the header Host is missing': `${health}accept: */*\r\n\r\n`,
        'the method CONNECT is for proxies, and this is not one': `CONNECT test:80 HTTP/1.1\r\n${HOST}\r\n`,
        'this is not a request of HTTP/1.1: Invalid header value char': `${health}${HOST}x-a: a\0b\r\n\r\n`,
        "this is not a request of HTTP/1.1: Transfer-Encoding can't be present with Content-Length": framed(
          'content-length: 2\r\ntransfer-encoding: chunked\r\n',
        ),
      };
      for (const [reason, bytes] of Object.entries(reasons)) {
        const client = await open(bytes);
        await soon(() => !client.isOpen, ANSWER_MS);
        expect(headerIn(client.received, 'cache-control'), reason).to.equal('no-store');
        expect(JSON.parse(bodyIn(client.received)), client.received).to.deep.equal({
          error: reason,
          code: 'validation_error',
        });
      }
    });

    it('a header behind 2,000 others is read', async () => {
      const client = await open(`GET /health HTTP/1.1\r\n${HOST}${'a:\r\n'.repeat(2_500)}${HOST}\r\n`);
      await soon(() => !client.isOpen, ANSWER_MS);
      expect(JSON.parse(bodyIn(client.received)).error).to.equal('the header Host is repeated');
    });
  }

  it('garbage behind an unanswered request gets no answer', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    edge.backend.beforeCall = () => released;
    const body = JSON.stringify({ collection: 'x', query: [1, 2], k: 1 });
    const client = await open(
      `POST /v1/search HTTP/1.1\r\n${HOST}${authorization}content-length: ${body.length}\r\n\r\n${body}`,
    );
    await soon(() => edge.backend.calls.length === 1, ANSWER_MS);
    client.send('garbage\r\n\r\n');
    client.send('garbage\r\n\r\n');
    // These bytes are read before this later request.
    await rawExchange(edge.edge.port, requestHead('GET', '/health'));
    release();
    await soon(() => (engine === 'node' ? !client.isOpen : client.status !== 0), ANSWER_MS);
    expect(client.received.match(/HTTP\/1.1 \d+/g)).to.deep.equal(['HTTP/1.1 200']);
  });

  it('a bad length reserves no memory for uploads', async () => {
    for (let i = 0; i < 20; i++) {
      const bad = requestHead('POST', '/v1/search', { 'content-length': '1, 1' });
      const [answer] = await rawExchange(edge.edge.port, bad.replace('host:', `${authorization}host:`));
      expect(answer!.status).to.equal(400);
    }
    const { text } = await (await edge.client('metrics')).get('/metrics');
    expect(text).to.match(/^vouch_http_in_flight_body_bytes 0$/m);
    expect(text).to.match(/^vouch_http_in_flight 0$/m);
  });

  it('a body that stops early is answered and closed before the idle timeout', async () => {
    const post = (headers: string, body: string): string =>
      `POST /v1/search HTTP/1.1\r\n${HOST}${authorization}${headers}\r\n${body}`;
    const stalled = await Promise.all([
      open(post('content-length: 100\r\n', '{"query"')),
      open(post('content-length: 100\r\n', '')),
      open(post('transfer-encoding: chunked\r\n', '5\r\n{"que\r\n')),
      // uWebSockets.js reads an extension of a chunk as a part of its size.
      ...(engine === 'uws' ? [open(post('transfer-encoding: chunked\r\n', '2;a=b\r\n{}\r\n0\r\n\r\n'))] : []),
    ]);
    const slow = await open(post('content-length: 100\r\n', ''));
    const drip = setInterval(() => slow.send(' '), 1_000);
    await soon(() => stalled.every(({ isOpen }) => !isOpen), STALLED_MS);
    clearInterval(drip);
    for (const { received, status, isOpen } of stalled) {
      expect([status, isOpen]).to.deep.equal([400, false]);
      expect(JSON.parse(bodyIn(received))).to.deep.equal({
        error: 'the body stopped before its end: nothing came for 5 s',
        code: 'validation_error',
      });
      expect(headerIn(received, 'connection')).to.equal('close');
    }
    expect([slow.status, slow.isOpen]).to.deep.equal([0, true]);
    expect(edge.backend.calls).to.deep.equal([]);
  });
});
