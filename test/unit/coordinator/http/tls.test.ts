// Covers: coordinator/http/certificate.ts, coordinator/http/engine/
/** HTTPS served by the service. Its certificates are made with openssl, where that is installed. */
import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { Certificate } from '../../../../coordinator/http/certificate.js';
import { loadEngine } from '../../../../coordinator/http/engine/loadEngine.js';
import { systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { type Authority, authority, hasOpenSsl } from '../../../support/certificates.js';
import { eventually, rejection } from '../../../support/expectations.js';
import { runTool } from '../../../support/launch/foreignTool.js';
import { overEngines, TestEdge } from '../../../support/rigs/testEdge.js';
import { skip } from '../../../support/skip.js';
import { ROOT } from '../../../support/sourceTree.js';

const LOOK_MS = 20;

interface Answered {
  readonly status: number;
  readonly body: string;
  /** Name in the certificate that the server presented. */
  readonly name: string;
  readonly reused: boolean;
}

overEngines('HTTPS', (name) => {
  let folder: string;
  let made: Authority;
  const agents: Agent[] = [];

  before(async function () {
    if (!hasOpenSsl()) skip(this, 'openssl is not installed');
    folder = await mkdtemp(join(tmpdir(), 'vouch-tls-'));
    made = authority(folder);
    for (const name of ['one', 'two']) made.certificate(name);
  });
  afterEach(() => {
    for (const agent of agents.splice(0)) agent.destroy();
  });
  after(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const cert = (): string => join(folder, 'tls.pem');
  const key = (): string => join(folder, 'tls.key');
  const openWith = (certFile: string, keyFile: string, logger = silentLogger): Promise<Certificate> =>
    Certificate.open({ certFile, keyFile, logger, clock: systemClock, lookMs: LOOK_MS });
  const install = async (name: string): Promise<void> => {
    await copyFile(join(folder, `${name}.key`), key());
    await copyFile(join(folder, `${name}.pem`), cert());
  };

  function newAgent(options: object = {}): Agent {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false, ...options });
    agents.push(agent);
    return agent;
  }

  const get = (url: string, agent: Agent): Promise<Answered> =>
    new Promise((resolve, reject) => {
      const asked = request(url, { agent }, async (answer) => {
        const { subject } = (answer.socket as TLSSocket).getPeerCertificate();
        const status = answer.statusCode ?? 0;
        resolve({ status, body: await text(answer), name: String(subject?.CN), reused: asked.reusedSocket });
      });
      asked.once('error', reject);
      asked.end();
    });

  it('serves the API with the configured certificate, and reports its expiry', async () => {
    await install('one');
    const edge = await TestEdge.start({ http: { engine: name, tlsCert: cert(), tlsKey: key() } });
    try {
      expect(edge.edge.url).to.match(/^https:\/\/127\.0\.0\.1:\d+$/);
      const trusting = newAgent({ rejectUnauthorized: true, ca: await readFile(made.ca) });
      expect(await get(`${edge.edge.url}/health`, trusting)).to.include({ status: 200, name: 'one' });
      expect(
        (await rejection(get(`${edge.edge.url}/health`, newAgent({ rejectUnauthorized: true })))).message,
      ).to.match(/unable to verify/);
      const old = newAgent({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
      expect((await rejection(get(`${edge.edge.url}/health`, old))).message).to.match(/protocol version|EPROTO/i);
      const plain = await rejection(fetch(edge.edge.url.replace('https', 'http')));
      expect(plain).to.be.instanceOf(Error);
      const authorization = `Bearer ${await edge.key('metrics')}`;
      const metrics = await new Promise<string>((resolve, reject) => {
        const options = { agent: trusting, headers: { authorization } };
        request(`${edge.edge.url}/metrics`, options, (answer) => void text(answer).then(resolve, reject)).end();
      });
      const [, expiry] = /^vouch_tls_certificate_expires_seconds (\S+)$/m.exec(metrics)!;
      expect(Number(expiry) - Date.parse('2026-01-01') / 1000).to.be.above(0);
    } finally {
      await edge.stop();
    }
  });

  it('passes the health check of the image, which fails for a stopped server', async () => {
    await install('one');
    const edge = await TestEdge.start({ http: { engine: name, tlsCert: cert(), tlsKey: key() } });
    const [, script] = /^HEALTHCHECK .*\n.*CMD \["node", "-e", "(.*)"\]$/m.exec(
      await readFile(join(ROOT, 'Dockerfile'), 'utf8'),
    )!;
    const check = (tlsCert: string) =>
      runTool(process.execPath, ['-e', script!], '', {
        env: { VOUCH_PORT: String(edge.edge.port), ...(tlsCert === '' ? {} : { VOUCH_TLS_CERT: tlsCert }) },
      });
    const codes = [(await check(cert())).code, (await check('')).code];
    await edge.stop();
    expect([...codes, (await check(cert())).code]).to.deep.equal([0, 1, 1]);
  });

  it('uses a new certificate for new connections without dropping any, and ignores a bad one', async () => {
    await install('one');
    const errors: string[] = [];
    const logger = { ...silentLogger, info: () => {}, error: (_: object, message: string) => errors.push(message) };
    const files = await openWith(cert(), key(), logger as unknown as typeof silentLogger);
    const engine = await loadEngine(name, silentLogger);
    let finish = (): void => {};
    const begun = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const server = await engine.listen(
      async (res, req) => {
        const isSlow = req.getUrl() === '/slow';
        res.onAborted(() => {});
        if (isSlow) await begun;
        res.cork(() => {
          res.writeStatus('200 OK');
          res.end('whole');
        });
      },
      { host: '127.0.0.1', port: 0 },
      files,
    );
    const url = `https://127.0.0.1:${server.port}`;
    try {
      const kept = newAgent();
      expect(await get(url, kept)).to.include({ name: 'one', reused: false });
      const inFlight = get(`${url}/slow`, newAgent());
      await install('two');
      await eventually(
        'new connections get the new certificate',
        async () => (await get(url, newAgent())).name === 'two',
      );
      expect(await get(url, kept)).to.include({ name: 'one', reused: true, body: 'whole' });
      finish();
      expect(await inFlight).to.include({ status: 200, name: 'one', body: 'whole' });

      await writeFile(cert(), 'no certificate');
      await eventually('the bad certificate is logged', async () => errors.length > 0);
      await writeFile(cert(), await readFile(join(folder, 'one.pem')));
      await eventually('a certificate of another key is logged too', async () => errors.length > 1);
      expect(await get(url, newAgent())).to.include({ status: 200, name: 'two' });
      expect(new Set(errors)).to.deep.equal(
        new Set(['the new certificate of HTTPS cannot be used; the previous one is still served']),
      );
      await install('one');
      await eventually('a valid certificate is used again', async () => (await get(url, newAgent())).name === 'one');
    } finally {
      finish();
      server.stopListening();
      server.close();
      await files.stop();
    }
  });

  it('reports in one line why files cannot be used', async () => {
    await install('one');
    const refusal = async (certFile: string, keyFile: string): Promise<string> =>
      (await rejection(openWith(certFile, keyFile))).message;
    expect(await refusal(join(folder, 'none.pem'), key())).to.match(/none\.pem cannot be read \(ENOENT\)$/);
    await chmod(join(folder, 'two.key'), 0o604);
    expect(await refusal(cert(), join(folder, 'two.key'))).to.match(/two\.key can be read by every user .*chmod o=/);
    await chmod(join(folder, 'two.key'), 0o640);
    expect(await refusal(cert(), join(folder, 'two.key'))).to.match(
      /^VOUCH_TLS_CERT and VOUCH_TLS_KEY name no certificate and its key: .*mismatch/,
    );
  });
});
