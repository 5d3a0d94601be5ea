/**
 * Configurations of proxies before two coordinators, one of which is down. Each runs in the real proxy with other ports
 * and files. Without that proxy, its suite is skipped.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { KEEP_ALIVE } from '../../coordinator/http/reply.js';
import { Client } from '../support/launch/client.js';
import { findTool, runTool } from '../support/launch/foreignTool.js';
import { freePort } from '../support/launch/freePort.js';
import { type Launched, launch } from '../support/launch/process.js';
import { type Project, Service } from '../support/launch/service.js';
import { skip } from '../support/skip.js';
import { ROOT } from '../support/sourceTree.js';

const MIB = 1024 * 1024;
const DIMENSION = 256;

/** `command`: starts the proxy with a configuration, in a writable folder. */
interface Proxy {
  readonly name: string;
  readonly file: string;
  command(config: string, folder: string): readonly string[];
}

const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    file: 'nginx.conf',
    command: (config, folder) => ['-c', config, '-p', folder, '-g', `daemon off; pid ${folder}/nginx.pid; user root;`],
  },
  { name: 'caddy', file: 'Caddyfile', command: (config) => ['run', '--adapter', 'caddyfile', '--config', config] },
  { name: 'haproxy', file: 'haproxy.cfg', command: (config) => ['-db', '-f', config] },
];

/** Shortest configurations, for a coordinator on `node:http`, which serves HTTP/1.0. */
const BARE: Readonly<Record<string, (port: number, upstream: number) => string>> = {
  nginx: (port, upstream) => `error_log stderr warn;
    events {}
    http {
      access_log off;
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://127.0.0.1:${upstream};
        }
      }
    }
`,
  haproxy: (port, upstream) => `defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
listen vouch
  bind 127.0.0.1:${port}
  option httpchk GET /health
  server c1 127.0.0.1:${upstream} check inter 1s
`,
};

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** Writes `cert.pem`, `key.pem` and `both.pem` for this machine into the folder. */
async function makeCertificate(openssl: string, folder: string): Promise<void> {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const { code, output } = await runTool(openssl, [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'],
    ...['-subj', '/CN=vouch', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert],
  ]);
  expect(code, output).to.equal(0);
  writeFileSync(join(folder, 'both.pem'), readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'));
}

/** The configuration with these ports and files. */
const fitted = (text: string, folder: string, port: number, [up, away]: readonly [number, number]): string =>
  text
    .replaceAll('/etc/vouch/tls', folder)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${up}`)
    .replaceAll('127.0.0.1:8081', `127.0.0.1:${away}`)
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace('bind :443', `bind 127.0.0.1:${port}`)
    .replace('https://vouch.example.com', `https://localhost:${port}`);

describe('a proxy in front', () => {
  const openssl = findTool('openssl');
  let folder: string;
  let service: Service;
  let project: Project;

  before(async function () {
    // openssl makes the certificate.
    if (openssl === undefined || PROXIES.every(({ name }) => findTool(name) === undefined))
      skip(this, 'openssl, or every one of nginx, caddy and haproxy, is not installed');
    folder = await mkdtemp(join(tmpdir(), 'vouch-test-'));
    await makeCertificate(openssl, folder);
    service = await Service.start('standalone');
    project = await service.newProject();
    await project.rw.post('/v1/namespaces', { name: 'c', dimension: DIMENSION, metric: 'squared_l2' });
  });

  after(async () => {
    await service?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  for (const { name, file, command } of PROXIES)
    describe(`with ${name}`, () => {
      const program = findTool(name);
      let port: number;
      let agent: Agent;
      let proxy: Launched;

      before(async function () {
        if (program === undefined) skip(this, `${name} is not installed`);
        port = await freePort();
        const config = join(folder, file);
        const text = readFileSync(join(ROOT, 'deploy/proxies', file), 'utf8');
        const ports = [Number(new URL(service.url).port), await freePort()] as const;
        writeFileSync(config, fitted(text, folder, port, ports));
        // Caddy keeps its own files in these folders.
        const env = { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder };
        proxy = launch(program, command(config, folder), { env, cwd: folder });
        agent = new Agent({ keepAlive: true, maxSockets: 4, ca: readFileSync(join(folder, 'cert.pem')) });
        await service.until(async () => {
          expect(proxy.running, proxy.output).to.equal(true);
          const { status } = await ask('GET', '/health').catch(() => ({ status: 0 }));
          return status === 200;
        });
      });

      after(async () => {
        agent?.destroy();
        await proxy?.stop();
      });

      const ask = (method: string, path: string, body?: string): Promise<Answer> =>
        new Promise((resolve, reject) => {
          const headers = {
            ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
            host: `localhost:${port}`,
            ...{ authorization: `Bearer ${project.rw.key}`, 'content-type': 'application/json' },
          };
          const sent = request(
            { host: '127.0.0.1', servername: 'localhost', port, agent, method, path, headers },
            (answer) => {
              const chunks: Buffer[] = [];
              answer.on('data', (chunk: Buffer) => chunks.push(chunk));
              answer.on('error', reject);
              answer.on('end', () => {
                const { statusCode = 0, headers: received } = answer;
                resolve({ status: statusCode, headers: received, bytes: Buffer.concat(chunks) });
              });
            },
          );
          sent.on('error', reject);
          sent.end(body);
        });
      const json = ({ bytes }: Answer) => JSON.parse(bytes.toString());
      const vectors = (count: number): number[][] =>
        Array.from({ length: count }, (_, i) => Array.from({ length: DIMENSION }, (_, j) => (i * 31 + j) % 97));

      it('answers every request although one of two coordinators is down', async () => {
        for (let i = 0; i < 30; i++) {
          const found = await ask(
            'POST',
            '/v1/search',
            JSON.stringify({ collection: 'c', query: vectors(1)[0], k: 1 }),
          );
          expect([i, found.status, json(found).code]).to.deep.equal([i, 200, undefined]);
        }
      });

      it('forwards a body and an answer of megabytes', async () => {
        const batch = JSON.stringify({ collection: 'c', batch: vectors(8_000) });
        expect(batch.length).to.be.above(5 * MIB);
        const inserted = await ask('POST', '/v1/vectors/batch-insert', batch);
        expect(inserted.status, String(inserted.bytes)).to.equal(200);
        expect(json(inserted).ids).to.have.length(8_000);
        const log = await ask('GET', '/v1/export/log?collection=c');
        const direct = await project.rw.get('/v1/export/log?collection=c');
        expect(log.bytes.length).to.be.above(5 * MIB);
        expect(log.bytes.equals(direct.bytes)).to.equal(true);
        expect(log.headers['vouch-log-sequence']).to.equal(direct.headers.get('vouch-log-sequence'));
      });

      it("forwards errors with Vouch's own status and code", async () => {
        const missing = await ask('POST', '/v1/search', JSON.stringify({ collection: 'none', query: [1], k: 1 }));
        expect([missing.status, json(missing).code]).to.deep.equal([404, 'collection_not_found']);
        // A proxy that is still sending when the answer arrives may lose it.
        let large = await ask('POST', '/v1/search', ' '.repeat(32 * MIB + 1));
        for (let tries = 1; large.bytes.length === 0 && tries < 5; tries++)
          large = await ask('POST', '/v1/search', ' '.repeat(32 * MIB + 1));
        expect([large.status, json(large).code]).to.deep.equal([413, 'payload_too_large']);
        expect(large.headers['x-request-id']).to.match(/\S/);
      });

      it('hides the metrics, which may be open beside the API', async () => {
        expect((await project.rw.get('/metrics')).status).to.equal(200);
        expect((await ask('GET', '/metrics')).status).to.equal(404);
      });
    });

  for (const [name, configOf] of Object.entries(BARE))
    describe(`${name} with its defaults, which speak HTTP/1.0 to the service,`, () => {
      const program = findTool(name);
      let proxy: Launched | undefined;
      let client: Client;

      before(async function () {
        if (program === undefined) skip(this, `${name} is not installed`);
        const port = await freePort();
        const config = join(folder, `bare ${name}.conf`);
        writeFileSync(config, configOf(port, Number(new URL(service.url).port)));
        const started = launch(program, PROXIES.find((one) => one.name === name)!.command(config, folder), {
          cwd: folder,
        });
        proxy = started;
        client = new Client(`http://127.0.0.1:${port}`, project.rw.key);
        await service.until(async () => {
          expect(started.running, started.output).to.equal(true);
          return (await client.get('/health').catch(() => ({ status: 0 }))).status === 200;
        });
      });

      after(() => proxy?.stop());

      it('forwards writes, searches and long answers', async () => {
        const collection = `bare_${name}`;
        const batch = Array.from({ length: 3_000 }, (_, i) => [i, 1]);
        const made = await client.post('/v1/namespaces', { name: collection, dimension: 2, metric: 'squared_l2' });
        expect(made.status, made.text).to.equal(200);
        const inserted = await client.post('/v1/vectors/batch-insert', { collection, batch });
        expect(inserted.body.ids, inserted.text).to.have.length(batch.length);
        const found = await client.post('/v1/search', { collection, query: [0, 1], k: 2_000 });
        expect(found.body.results, found.text.slice(0, 100)).to.have.length(2_000);
        const refused = await client.post('/v1/search', { collection: 'none', query: [1], k: 1 });
        expect([refused.status, refused.body.code]).to.deep.equal([404, 'collection_not_found']);
      });
    });

  it('closes an idle connection before a coordinator does', () => {
    const idleSecs = Number(/timeout=(\d+)/.exec(KEEP_ALIVE)?.[1]);
    const patterns = { 'nginx.conf': /keepalive_timeout (\d+)s/, Caddyfile: /keepalive (\d+)s/ };
    for (const [file, pattern] of Object.entries({ ...patterns, 'haproxy.cfg': /http-keep-alive (\d+)s/ })) {
      const [, seconds] = pattern.exec(readFileSync(join(ROOT, 'deploy/proxies', file), 'utf8')) ?? [];
      expect(Number(seconds), file).to.be.within(1, idleSecs - 1);
    }
  });
});
