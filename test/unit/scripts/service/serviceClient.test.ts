import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DURATION_MAX_MS } from '../../../../config/config.js';
import { loadConfig } from '../../../../config/load.js';
import { parseImport } from '../../../../scripts/backup/request.js';
import { parseMcp } from '../../../../scripts/mcp/request.js';
import { retryAfterMs, ServiceClient } from '../../../../scripts/service/serviceClient.js';
import { findTarget } from '../../../../scripts/service/target.js';
import { authority, hasOpenSsl } from '../../../support/certificates.js';
import { rejection } from '../../../support/expectations.js';
import { skip } from '../../../support/skip.js';

const DATE = 'Wed, 21 Oct 2026 07:28:00 GMT';

describe('the flag --on-behalf-of of a command', () => {
  it('is sent as Vouch-On-Behalf-Of with each request, and without it none is sent', async () => {
    const sent: unknown[] = [];
    const server = createServer(({ headers }, response) => {
      sent.push(headers['vouch-on-behalf-of']);
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const flags = ['--url', url, '--key', 'k'];
    for (const more of [['--on-behalf-of', 'u-17'], []]) {
      const { service } = parseMcp([...flags, ...more]);
      const client = new ServiceClient(await findTarget(service, loadConfig({})));
      await client.ask('GET', '/');
      await client.ask('POST', '/', {});
    }
    server.close();
    expect(sent).to.deep.equal(['u-17', 'u-17', undefined, undefined]);
  });

  it('takes 1 to 128 visible ASCII characters', () => {
    const given = (name: string) => parseImport(['--file', 'f', '--on-behalf-of', name]).onBehalfOf;
    for (const name of ['~', 'x'.repeat(128)]) expect(given(name)).to.equal(name);
    for (const name of [' ', 'a b', 'é', 'x'.repeat(129)])
      expect(() => given(name), name).to.throw('--on-behalf-of takes 1 to 128 visible ASCII characters');
  });
});

describe('the wait for a Retry-After header in a command', () => {
  it('is the number of seconds in the header', () => {
    expect(['1', '7', '3600'].map(retryAfterMs)).to.deep.equal([1_000, 7_000, 3_600_000]);
  });

  it('is at most 7 days', () => {
    expect(['604801', '4294967296', '9'.repeat(400)].map(retryAfterMs)).to.deep.equal(
      new Array(3).fill(DURATION_MAX_MS),
    );
  });

  it('is one second if the header is missing, a date, 0 or not a whole number', () => {
    for (const header of [null, undefined, '', DATE, '0', '-5', '1e9', '0.5', 'Infinity', 'NaN'])
      expect(retryAfterMs(header), String(header)).to.equal(1_000);
  });

  for (const header of ['4294967296', '9'.repeat(400), DATE])
    it(`limits a busy service with Retry-After ${header.slice(0, 16)} to two requests`, async () => {
      let asked = 0;
      const server = createServer((_, response: ServerResponse) => {
        asked++;
        response.writeHead(503, { 'retry-after': header }).end();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const client = new ServiceClient({ url, key: 'k' }, { outageMs: 100, limitedMs: 100 });
      expect((await rejection(client.send('GET', '/'))).message).to.match(/is out of reach/);
      expect(asked).to.equal(2);
      server.close();
    });
});

describe('a service whose certificate is not accepted', () => {
  it('is asked once, and the error says how to name its authority', async function () {
    if (!hasOpenSsl()) skip(this, 'openssl is not installed');
    const folder = await mkdtemp(join(tmpdir(), 'vouch-certificate-'));
    const made = authority(folder).certificate('service');
    let handshakes = 0;
    const server = createSecureServer({ cert: await readFile(made.cert), key: await readFile(made.key) });
    server.on('tlsClientError', () => handshakes++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new ServiceClient({ url, key: 'k' }, { outageMs: 2_500, limitedMs: 100 });
    expect((await rejection(client.send('GET', '/'))).message).to.match(
      /^the certificate of https:\/\/127\.0\.0\.1:\d+ is not accepted \(.+\); if .+ in NODE_EXTRA_CA_CERTS$/,
    );
    expect(handshakes).to.be.at.most(1);
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
});
