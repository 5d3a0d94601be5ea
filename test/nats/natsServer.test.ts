// Covers: scripts/local/natsServer/binary.ts, scripts/local/natsServer/find.ts, scripts/local/natsServer/program.ts
// Covers: scripts/local/natsServer/serverConfig.ts, scripts/local/natsServer/serverPlan.ts
// Covers: scripts/local/natsServer/sources.ts, scripts/setup/natsServer.mjs, shared/nats/replicaWarning.ts
// Covers: shared/nats/natsConnection.ts, shared/nats/serverVersion.ts
/** Finding, configuring and running nats-server. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { inspectBinary, isUsable, type NatsBinary } from '../../scripts/local/natsServer/binary.js';
import { type FindOptions, findNatsServer } from '../../scripts/local/natsServer/find.js';
import { type ServerSettings, serverConfig } from '../../scripts/local/natsServer/serverConfig.js';
import { planServer } from '../../scripts/local/natsServer/serverPlan.js';
import {
  goToolchain,
  RELEASE,
  releaseFrom,
  SERVER_SOURCES,
  type ServerSource,
} from '../../scripts/local/natsServer/sources.js';
import { systemClock } from '../../shared/clock.js';
import { isThere } from '../../shared/files/durable.js';
import { LOG_START } from '../../shared/log/eventLog.js';
import { eventually, gate, rejection } from '../support/expectations.js';
import { freePort } from '../support/launch/freePort.js';
import { NatsServer } from '../support/launch/natsProcess.js';
import { isAlive } from '../support/launch/process.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';
import { Pretender } from '../support/nats/pretender.js';
import { skip } from '../support/skip.js';

const INSTALLED = 'this machine has a nats-server installed, which would be found first';

describe('nats-server', () => {
  let folder: string;
  let binary: NatsBinary;
  before(async () => {
    binary = await findNatsServer();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-nats-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  describe('finding', () => {
    const none: ServerSource = {
      name: 'a source',
      path: (cacheDir) => join(cacheDir, 'nats-server'),
      fetch: async () => {
        throw new Error('it is closed');
      },
    };
    const find = (options: FindOptions) => findNatsServer({ env: {}, cacheDir: folder, sources: [none], ...options });

    /** A program that claims to be nats-server of that version. */
    async function pretend(path: string, version: string): Promise<void> {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, `#!/bin/sh\necho "nats-server: v${version}"\n`);
      await chmod(path, 0o755);
    }

    /** A source that fetches a server, and ends like `work`. */
    const madeBy = (work: () => Promise<void>): ServerSource => ({
      name: 'another source',
      folder: 'other',
      path: (cacheDir) => join(cacheDir, 'other', 'nats-server'),
      fetch: async (cacheDir, onStart) => {
        onStart();
        const path = join(cacheDir, 'other', 'nats-server');
        await pretend(path, '2.12.3');
        await work();
        return path;
      },
    });

    it('takes the one that VOUCH_NATS_SERVER names', async () => {
      expect(await find({ env: { VOUCH_NATS_SERVER: binary.path } })).to.deep.equal(binary);
    });

    it('refuses the file in VOUCH_NATS_SERVER if it is not a server, or too old', async () => {
      const missing = await rejection(find({ env: { VOUCH_NATS_SERVER: '/nowhere/nats-server' } }));
      const remedy = `name one of version 2.12.0 or newer, or unset it: ${RELEASE} is then fetched`;
      expect(missing.message).to.equal(
        `VOUCH_NATS_SERVER is /nowhere/nats-server, which is not a nats-server that runs on this machine; ${remedy}`,
      );
      await pretend(join(folder, 'old'), '2.11.11');
      const path = join(folder, 'old');
      const old = await rejection(find({ env: { VOUCH_NATS_SERVER: path } }));
      expect(old.message).to.equal(`VOUCH_NATS_SERVER is ${path}, which is nats-server 2.11.11; ${remedy}`);
    });

    it('takes a server on PATH, and without one a server fetched earlier', async function () {
      // An installed server would be found between the two.
      if (await find({}).catch(() => undefined)) skip(this, INSTALLED);
      await pretend(join(folder, 'nats-server'), '2.12.1');
      expect((await find({})).version).to.equal('2.12.1');
      await pretend(join(folder, 'bin', 'nats-server'), '2.12.2');
      expect((await find({ env: { PATH: join(folder, 'bin') } })).version).to.equal('2.12.2');
    });

    it('fetches a server if it finds none, from the first source that has it', async function () {
      if (await find({}).catch(() => undefined)) skip(this, INSTALLED);
      const fetched: string[] = [];
      const other = madeBy(() => Promise.resolve());
      const options = { sources: [none, other], onFetch: (from: string) => fetched.push(from) };
      expect((await find(options)).version).to.equal('2.12.3');
      expect(fetched).to.deep.equal(['another source']);
      expect((await find(options)).version).to.equal('2.12.3');
      expect(fetched).to.have.length(1);
    });

    it('fetches a server while other fetches into the cache fail and succeed', async function () {
      if (await find({}).catch(() => undefined)) skip(this, INSTALLED);
      const [started, ends] = [gate(), gate()];
      const cacheDir = join(folder, 'cache');
      const slow = find({
        cacheDir,
        sources: [
          madeBy(() => {
            started.open();
            return ends.opened;
          }),
        ],
      });
      await started.opened;
      const failing = madeBy(() => Promise.reject(new Error('it is closed')));
      expect((await rejection(find({ cacheDir, sources: [failing] }))).message).to.contain('it is closed');
      const { path } = await find({ cacheDir, sources: [madeBy(() => Promise.resolve())] });
      ends.open();
      expect(await slow).to.deep.equal({ path, version: '2.12.3' });
      expect(await readdir(cacheDir)).to.deep.equal(['other']);
    });

    it('names a server on PATH that is too old', async function () {
      if (await find({}).catch(() => undefined)) skip(this, INSTALLED);
      await pretend(join(folder, 'bin', 'nats-server'), '2.9.10');
      const { message } = await rejection(find({ env: { PATH: join(folder, 'bin') } }));
      expect(message).to.contain(`${join(folder, 'bin', 'nats-server')} is nats-server 2.9.10, which is too old`);
    });

    it('lists the attempts and what to do if no server can be found', async function () {
      if (await find({}).catch(() => undefined)) skip(this, INSTALLED);
      const { message } = await rejection(find({}));
      expect(message.split('\n').slice(1)).to.deep.equal(['  a source: it is closed']);
      expect(message).to.contain('https://nats.io/download').and.contain('VOUCH_NATS_SERVER').and.contain('standalone');
    });
  });

  describe('the official release', () => {
    let releases: Server;
    let files: Map<string, Buffer>;
    beforeEach(async () => {
      files = new Map();
      releases = createServer((request, response) => {
        const file = files.get(request.url!.split('/').at(-1)!);
        response.writeHead(file ? 200 : 404).end(file);
      });
      await new Promise<void>((resolve) => {
        releases.listen(0, '127.0.0.1', resolve);
      });
    });
    afterEach(() => releases.close());
    const source = (sha256 = ''): ServerSource =>
      releaseFrom(`http://127.0.0.1:${(releases.address() as AddressInfo).port}`, { platform: 'here', sha256 });

    /** Returns the checksum. */
    async function publish(): Promise<string> {
      const name = dirname(source().path(folder)!).split('/').at(-1)!;
      await mkdir(join(folder, name));
      await cp(binary.path, join(folder, name, 'nats-server'));
      execFileSync('tar', ['-czf', 'release.tar.gz', name], { cwd: folder });
      const archive = await readFile(join(folder, 'release.tar.gz'));
      files.set(`${name}.tar.gz`, archive);
      return createHash('sha256').update(archive).digest('hex');
    }

    it('is unpacked if it has the pinned checksum', async () => {
      const pinned = source(await publish());
      const path = pinned.path(join(folder, 'cache'))!;
      expect(await pinned.fetch(join(folder, 'cache'), () => {})).to.equal(path);
      expect(await inspectBinary(path)).to.deep.equal({ path, version: binary.version });
    });

    it('is refused if it has another checksum', async () => {
      await publish();
      const { message } = await rejection(source('f'.repeat(64)).fetch(join(folder, 'cache'), () => {}));
      expect(message).to.contain('does not have the pinned checksum');
    });

    it('reports why it cannot be fetched, and leaves nothing in the cache', async function () {
      const options = { env: {}, cacheDir: join(folder, 'cache'), sources: [source()] };
      if (await findNatsServer({ ...options, sources: [] }).catch(() => undefined)) skip(this, INSTALLED);
      expect((await rejection(findNatsServer(options))).message).to.contain('404');
      await publish();
      expect((await rejection(findNatsServer(options))).message).to.contain('does not have the pinned checksum');
      expect(await isThere(options.cacheDir)).to.equal(false);
    });
  });

  describe('compiled by Go', () => {
    const { PATH } = process.env;
    /** The program writes its process id to `pid`, and never ends. */
    beforeEach(async () => {
      await writeFile(join(folder, 'go'), `#!/bin/sh\necho $$ > ${join(folder, 'pid')}\nexec sleep 60\n`);
      await chmod(join(folder, 'go'), 0o755);
      process.env.PATH = `${folder}:${PATH}`;
    });
    afterEach(() => {
      process.env.PATH = PATH;
    });

    it('is not made if the module proxy does not answer', async () => {
      let hasStarted = false;
      await rejection(goToolchain.fetch(folder, () => (hasStarted = true)));
      expect(hasStarted).to.equal(false);
    });

    it('is cancelled by its signal, without a process or a further source', async function () {
      if (await findNatsServer({ env: {}, cacheDir: folder, sources: [] }).catch(() => undefined))
        skip(this, INSTALLED);
      const cancel = new AbortController();
      const asked: string[] = [];
      const next: ServerSource = {
        name: 'next',
        path: () => undefined,
        fetch: async () => `${asked.push('next')}`,
      };
      const options = { env: {}, cacheDir: folder, sources: [goToolchain, next], signal: cancel.signal };
      const found = rejection(findNatsServer(options));
      const pid = async () => Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => '0'));
      await eventually('Go runs', async () => (await pid()) > 0);
      cancel.abort();
      expect((await found).name).to.equal('AbortError');
      const started = await pid();
      await eventually('Go has ended', () => !isAlive(started));
      expect(asked).to.deep.equal([]);
    });
  });

  it('is fetched in the pinned version from each reachable source', async function () {
    this.timeout(600_000);
    const versions = new Map<string, string | undefined>();
    for (const source of SERVER_SOURCES.filter(({ name }) => name !== 'Homebrew' && name !== 'a Go toolchain')) {
      const path = await source.fetch(folder, () => {}).catch(() => undefined);
      if (path !== undefined) versions.set(source.name, (await inspectBinary(path))?.version);
    }
    if (versions.size === 0) skip(this, 'no source of nats-server can be reached');
    expect([...versions.values()]).to.deep.equal([...versions].map(() => RELEASE));
  });

  describe('configuration', () => {
    const settings: ServerSettings = {
      name: 'n1',
      host: '127.0.0.1',
      port: 4222,
      storeDir: '/data/with "quotes" and spaces',
      storeBytes: 9_000_000_000,
      pidFile: '/data/pid',
      logFile: '/data/log',
    };

    it('syncs every write', () => {
      expect(serverConfig(settings)).to.contain('sync_interval: always');
    });

    it('compares the parts of versions as numbers', () => {
      const usable = ['2.9.10', '2.11.99', '2.12.0', '2.12.10', '2.100.0', '3.0.0'].filter((version) =>
        isUsable({ path: '', version }),
      );
      expect(usable).to.deep.equal(['2.12.0', '2.12.10', '2.100.0', '3.0.0']);
    });

    it('is valid for the server', async () => {
      const storeDir = join(folder, 'a "store" with\\odd name');
      const cluster = { name: 'c', host: '127.0.0.1', port: 6222, routes: ['127.0.0.1:6223', '127.0.0.1:6224'] };
      const file = join(folder, 'test.conf');
      await writeFile(file, serverConfig({ ...settings, storeDir, cluster }));
      execFileSync(binary.path, ['-t', '-c', file], { stdio: 'pipe' });
    });
  });

  it('limits the store to its size and three quarters of the free disk, shared with servers beside it', async () => {
    const dataDir = join(folder, 'sized');
    await mkdir(join(dataDir, 'store', 'a'), { recursive: true });
    const has = 50_000_000;
    await writeFile(join(dataDir, 'store', 'a', '1.blk'), new Uint8Array(has));
    const { bavail, bsize } = await statfs(folder);
    const plan = async (neighbours?: number): Promise<number> => {
      const options = { binary, dataDir, port: await freePort(), ...(neighbours && { neighbours }) };
      const { storeBytes, args } = await planServer(options);
      expect(await readFile(args[1]!, 'utf8')).to.contain(`max_file_store: ${storeBytes}\n`);
      return storeBytes;
    };
    const free = 0.75 * bavail * bsize;
    expect((await plan()) - has).to.be.closeTo(free, free * 0.1);
    expect((await plan(3)) - has).to.be.closeTo(free / 3, free * 0.1);
  });

  describe('running', () => {
    const platforms = new ClusterPlatforms();
    const servers: NatsServer[] = [];
    const start = async (options: { port: number; predecessorWithinMs?: number }): Promise<NatsServer> => {
      const server = await NatsServer.start({ binary, dataDir: join(folder, 'nats'), ...options });
      servers.push(server);
      return server;
    };
    afterEach(async () => {
      await platforms.close();
      await Promise.all(servers.splice(0).map((server) => server.kill()));
    });

    for (const how of ['stop', 'kill'] as const)
      it(`has all answered writes after a ${how}`, async () => {
        const port = await freePort();
        const first = await start({ port });
        const log = await (await platforms.open(first.url)).logs.open(3);
        const position = await log.append(Buffer.from('frame'), LOG_START, systemClock.nowMs() + 10_000);
        await platforms.close();
        await first[how]();
        expect(first.isRunning).to.equal(false);
        expect(await first.ended).to.contain(how === 'kill' ? 'SIGKILL' : 'ended');
        const second = await start({ port });
        const again = await (await platforms.open(second.url)).logs.open(3);
        expect(Buffer.from(await again.readAt(position)).toString()).to.equal('frame');
      });

    it('accepts the largest messages that Vouch sends', async () => {
      const { url } = await start({ port: await freePort() });
      expect((await platforms.open(url)).transport.maxPayloadBytes).to.be.greaterThan(16_000_000);
    });

    it('is refused by its version if it is too old', async () => {
      const old = new Pretender({ version: '2.9.10', jetstream: true });
      const port = await old.listen();
      const error = await rejection(platforms.open(`nats://127.0.0.1:${port}`));
      old.close();
      expect(error.message).to.equal(`the NATS server at 127.0.0.1:${port} is 2.9.10; replace it by 2.12.0 or newer`);
    });

    it('reports that its port is in use', async () => {
      const other = createTcpServer();
      const port = await new Promise<number>((resolve) => {
        other.listen(0, '127.0.0.1', () => resolve((other.address() as AddressInfo).port));
      });
      const error = await rejection(start({ port }));
      other.close();
      expect(error.message).to.contain(`port ${port} of 127.0.0.1, for nats-server, is in use`);
    });

    it('reports that its folder is in use', async () => {
      const first = await start({ port: await freePort() });
      const error = await rejection(start({ port: await freePort(), predecessorWithinMs: 100 }));
      expect(error.message).to.contain(`another nats-server (process ${first.pid})`);
    });

    it('reports why the server ended', async () => {
      await mkdir(join(folder, 'nats'));
      await writeFile(join(folder, 'nats', 'store'), 'a file where a folder should be');
      const error = await rejection(start({ port: await freePort() }));
      expect(error.message).to.match(/^nats-server ended with code 1: .*JetStream/);
    });

    it('is reported when the server ends by itself', async () => {
      const server = await start({ port: await freePort() });
      process.kill(server.pid!, 'SIGKILL');
      expect(await server.ended).to.equal('was ended by SIGKILL');
      await eventually('the end is noticed', () => !server.isRunning);
    });
  });
});
