// Covers: scripts/local/natsServer/users.ts, shared/nats/loginRefused.ts, shared/nats/natsAddress.ts
// Covers: shared/nats/natsLogin.ts, shared/nats/nkeys.ts, shared/nats/serverInfo.ts
/** How a process logs in to nats-server, and what it reports if it is refused. */
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { connect, nkeys } from 'nats';
import { parseKeyRequest } from '../../scripts/keys/request.js';
import { findNatsServer } from '../../scripts/local/natsServer/find.js';
import { READY_TEXT } from '../../scripts/local/natsServer/serverPlan.js';
import { natsUsers, seedFile, usersBlock, usersFolder } from '../../scripts/local/natsServer/users.js';
import { loginFrom, withLoginAdvice } from '../../scripts/verify/natsLogin.js';
import { loginOptions, NO_LOGIN } from '../../shared/nats/natsLogin.js';
import { JetStreamCluster } from '../../verifier/node/index.js';
import { authority, hasOpenSsl } from '../support/certificates.js';
import { eventually, rejection } from '../support/expectations.js';
import { freePort } from '../support/launch/freePort.js';
import { type Launched, launch, launchNode } from '../support/launch/process.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';
import { skip } from '../support/skip.js';

type KeyPair = ReturnType<typeof nkeys.createUser>;

const text = (seed: Uint8Array): string => Buffer.from(seed).toString();

describe('the login at nats-server', () => {
  const platforms = new ClusterPlatforms();
  let folder: string;
  let server: Launched | undefined;
  let url: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-nats-login-'));
  });
  afterEach(async () => {
    await platforms.close();
    await server?.stop();
    server = undefined;
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts a server with these lines in its configuration. */
  async function serve(...lines: string[]): Promise<void> {
    const port = await freePort();
    const config = ['host: 127.0.0.1', `port: ${port}`, `jetstream { store_dir: ${join(folder, 'store')} }`, ...lines];
    await writeFile(join(folder, 'server.conf'), config.join('\n'));
    server = launch((await findNatsServer()).path, ['-c', join(folder, 'server.conf')]);
    await server.waitForLine(new RegExp(READY_TEXT));
    url = `nats://127.0.0.1:${port}`;
  }

  async function written(name: string, content: string): Promise<string> {
    const file = join(folder, name);
    await writeFile(file, content);
    return file;
  }

  /** Expects that the platform can be used with a login. */
  async function expectLetIn(login: Parameters<ClusterPlatforms['open']>[1], at = url): Promise<void> {
    const { connection } = await platforms.open(at, login);
    expect(connection.connected).to.equal(true);
  }

  const refused = async (login: Parameters<ClusterPlatforms['open']>[1], at = url): Promise<string> =>
    (await rejection(platforms.open(at, login))).message.replace(/127\.0\.0\.1:\d+/, 'HOST');

  it('accepts the users of a data folder by the seeds of their nkeys, and refuses others', async () => {
    const users = await natsUsers(usersFolder(folder));
    await serve(...usersBlock(users));
    for (const role of ['admin', 'shard', 'coordinator', 'operator'] as const)
      await expectLetIn({ role, nkey: seedFile(folder, role) });
    const verify = await JetStreamCluster.connect(url, loginFrom({ VOUCH_NATS_NKEY: seedFile(folder, 'operator') }));
    await verify.close();
    const locked = await rejection(JetStreamCluster.connect(url, loginFrom({})));
    expect(locked.message).to.match(/Authorization/i);
    const advised = withLoginAdvice(locked, { VOUCH_DATA_DIR: folder }).message;
    expect(advised)
      .to.match(/login: set VOUCH_NATS_NKEY to its file; for servers of .+ that is /)
      .and.include(seedFile(folder, 'operator'));
    expect(withLoginAdvice(locked, { VOUCH_NATS_NKEY: 'another' })).to.equal(locked);
    expect(await natsUsers(usersFolder(folder)), 'made once').to.deep.equal(users);
    expect(await refused({})).to.equal(
      'the NATS server at HOST asks for a login: set VOUCH_NATS_NKEY, VOUCH_NATS_CREDS, or a user in VOUCH_NATS_URL',
    );
    const stranger = await written('stranger.nk', text(nkeys.createUser().getSeed()));
    expect(await refused({ nkey: stranger })).to.equal(
      'the NATS server at HOST refuses the login: set the file, or the name and password, of a user that it knows',
    );
  });

  it('accepts the users that npm run keys makes for servers of several machines, and these servers each other', async () => {
    const routePorts = [await freePort(), await freePort()];
    const routes = routePorts.map((port) => `127.0.0.1:${port}`);
    const keys = fileURLToPath(new URL('../../scripts/keys.js', import.meta.url));
    expect(() => parseKeyRequest(['nats'])).to.throw('nats takes --out, the folder of the users');
    expect(() => parseKeyRequest(['nats', '--out', 'x', '--routes', 'a:1,b'])).to.throw(
      '--routes holds b; allowed is host:port, several separated by commas',
    );
    const made = launchNode(keys, ['nats', '--out', folder, '--routes', routes.join()]);
    expect(await made.waitForEnd(), made.output).to.deep.equal({ code: 0, signal: null });
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
      expect((await stat(join(entry.parentPath, entry.name))).mode & 0o077, entry.name).to.equal(0);
    const cluster = (port: number): string[] => [
      'include users.conf',
      `cluster { name: vouch, host: 127.0.0.1, port: ${port}, no_advertise: true\n include routes.conf\n}`,
    ];
    const other = launch((await findNatsServer()).path, [
      '-c',
      await written('other.conf', otherConfig(join(folder, 'store2'), cluster(routePorts[1]!))),
    ]);
    try {
      await serve('server_name: one', ...cluster(routePorts[0]!));
      const nkey = join(folder, 'admin', 'seed.nk');
      await eventually('a stream on both can be made', () => isMade(url, nkey));
      expect(await answerToRoute(routePorts[0]!)).to.match(/Authorization Violation/);
    } finally {
      await other.stop();
    }
    expect(await refused({})).to.match(/HOST asks for a login/);
  });

  it('accepts name and password in the address', async () => {
    await serve('authorization { users: [{ user: vouch, password: "a b" }] }');
    await expectLetIn({}, url.replace('//', '//vouch:a%20b@'));
    expect(await refused({}, url.replace('//', '//vouch:other@'))).to.match(/HOST refuses the login/);
    expect(await refused({})).to.match(/HOST asks for a login/);
  });

  it('accepts a .creds file', async () => {
    const [operator, account, user] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createUser()];
    const system = nkeys.createAccount();
    const limits = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, conn: -1, leaf: -1 };
    const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
    const operatorJwt = jwt(operator, operator, { type: 'operator', version: 2 });
    const accountJwt = jwt(operator, account, { type: 'account', version: 2, limits: { ...limits, ...storage } });
    const userJwt = jwt(account, user, { type: 'user', version: 2, subs: -1, data: -1, payload: -1 });
    const systemJwt = jwt(operator, system, { type: 'account', version: 2, limits });
    const accounts = `${account.getPublicKey()}: ${accountJwt}\n${system.getPublicKey()}: ${systemJwt}`;
    const known = [
      'resolver: MEMORY',
      `resolver_preload: {\n${accounts}\n}`,
      `system_account: ${system.getPublicKey()}`,
    ];
    await serve(`operator: ${operatorJwt}`, ...known);
    const block = (what: string, content: string): string =>
      `-----BEGIN ${what}-----\n${content}\n------END ${what}------\n`;
    const content = block('NATS USER JWT', userJwt) + block('USER NKEY SEED', text(user.getSeed()));
    await expectLetIn({ creds: await written('user.creds', content) });
    const other = block('NATS USER JWT', userJwt) + block('USER NKEY SEED', text(nkeys.createUser().getSeed()));
    expect(await refused({ creds: await written('other.creds', other) })).to.match(/HOST refuses the login/);
  });

  it('is refused with an unusable file, and names its setting', async () => {
    url = 'nats://127.0.0.1:1';
    const missing = join(folder, 'missing');
    for (const [field, variable] of [
      ['creds', 'VOUCH_NATS_CREDS'],
      ['nkey', 'VOUCH_NATS_NKEY'],
      ['ca', 'VOUCH_NATS_CA'],
      ['cert', 'VOUCH_NATS_CERT'],
      ['key', 'VOUCH_NATS_KEY'],
    ] as const)
      expect(await refused({ [field]: missing })).to.match(
        new RegExp(`^${variable} is ${missing}, which cannot be read`),
      );
    const account = await written('account.nk', text(nkeys.createAccount().getSeed()));
    expect(await refused({ nkey: account })).to.equal(
      `VOUCH_NATS_NKEY is ${account}, which holds no seed of a user (SU…)`,
    );
  });

  it('accepts certificates of a private authority over TLS', async function () {
    if (!hasOpenSsl()) skip(this, 'openssl, which makes the certificates, is not installed');
    const { ca, certificate } = authority(folder);
    const [serverPair, client] = [certificate('server'), certificate('client')];
    const tls = (more: string): string =>
      `tls { cert_file: ${serverPair.cert}, key_file: ${serverPair.key}, ca_file: ${ca} ${more} }`;
    await serve(tls(', verify: true'));
    await expectLetIn({ ca, ...client });
    expect(await refused({ ca, ...client }, url.replace('127.0.0.1', 'localhost'))).to.match(
      /has a certificate for other addresses \(.+\): set one of them in VOUCH_NATS_URL$/,
    );
    expect(await refused({})).to.match(/HOST has a certificate that does not verify \(.+\): set VOUCH_NATS_CA to/);
    expect(await refused({ ca })).to.equal(
      "the NATS server at HOST asks for a client's certificate: set VOUCH_NATS_CERT and VOUCH_NATS_KEY",
    );
    const elsewhere = authority(await mkdtemp(join(folder, 'elsewhere-'))).certificate('client');
    expect(await refused({ ca, ...elsewhere })).to.equal(
      'the NATS server at HOST does not trust the certificate in VOUCH_NATS_CERT: set one that its authority signed',
    );
    expect(await refused({ ca, cert: client.cert, key: elsewhere.key })).to.match(
      /HOST cannot be asked with VOUCH_NATS_CERT and VOUCH_NATS_KEY \(.+\): set a certificate and its own key/,
    );
    await server!.stop();
    await serve();
    expect(await refused({ ca })).to.match(/HOST does not offer TLS: configure it there, or leave out VOUCH_NATS_CA/);
  });
});

/** Configuration of a second server. */
const otherConfig = (storeDir: string, lines: readonly string[]): string =>
  ['server_name: two', 'host: 127.0.0.1', 'port: -1', `jetstream { store_dir: ${storeDir} }`, ...lines].join('\n');

/** Whether a stream with a copy on each of two servers can be created. */
async function isMade(url: string, nkey: string): Promise<boolean> {
  const nc = await connect({ servers: url, ...(await loginOptions({ ...NO_LOGIN, nkey })) });
  try {
    const { streams } = await nc.jetstreamManager();
    await streams.add({ name: 'both', subjects: ['both'], num_replicas: 2 });
    return true;
  } catch {
    return false;
  } finally {
    await nc.close();
  }
}

/** Returns the answer of a server to another server that does not know the password. */
async function answerToRoute(port: number): Promise<string> {
  const socket = createConnection({ host: '127.0.0.1', port });
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  socket.write(
    'CONNECT {"verbose":false,"pedantic":false,"tls_required":false,"name":"stranger","cluster":"vouch"}\r\nPING\r\n',
  );
  await once(socket, 'close');
  return answer;
}

/** A claim of `subject`, signed by `issuer` in NATS' form. */
function jwt(issuer: KeyPair, subject: KeyPair, nats: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claim = { jti: 'x', iat: 1, iss: issuer.getPublicKey(), name: 'test', sub: subject.getPublicKey(), nats };
  const signed = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(claim)}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`;
}
