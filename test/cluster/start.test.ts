// Covers: scripts/keys.ts, scripts/keys/store.ts, scripts/local/page.ts, scripts/local/port.ts
// Covers: scripts/local/supervisor/clusterService.ts, scripts/local/supervisor/fleet.ts
// Covers: scripts/local/supervisor/preflight.ts, scripts/local/supervisor/ready.ts
// Covers: scripts/local/supervisor/runtimeFile.ts, scripts/local/supervisor/service.ts
// Covers: scripts/local/supervisor/standaloneService.ts, scripts/local/supervisor/watchdog.ts
// Covers: scripts/local/supervisor/welcome.ts, scripts/standalone.ts, scripts/start.ts, shared/logger.ts
/** The commands of users, `npm start` and its like, as real processes. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { connect, nkeyAuthenticator } from 'nats';
import { atLength, titleIn } from '../support/atLength.js';
import { eventually } from '../support/expectations.js';
import { freePort } from '../support/launch/freePort.js';
import { isAlive, type Launched, launch, launchNode } from '../support/launch/process.js';
import { skip } from '../support/skip.js';

type Mode = 'cluster' | 'standalone';

const script = (name: string): string => fileURLToPath(new URL(`../../scripts/${name}.js`, import.meta.url));
/** The last line of the greeting. */
const UP = /^ +stop +Ctrl-C/;

describe('npm start', () => {
  let folder: string;
  let dataDir: string;
  let port: number;

  const makeFolder = async (): Promise<void> => {
    folder = mkdtempSync(join(tmpdir(), 'vouch-start-'));
    dataDir = join(folder, 'data');
    port = await freePort();
  };
  const deleteFolder = (): void => rmSync(folder, { recursive: true, force: true });

  const environment = (mode: Mode): Record<string, string | undefined> => ({
    VOUCH_MODE: mode,
    VOUCH_DATA_DIR: dataDir,
    VOUCH_PORT: String(port),
    VOUCH_RATE_LIMITS: 'off',
    VOUCH_SHARDS: '1',
    VOUCH_NATS_URL: undefined,
    INIT_CWD: undefined,
  });
  const run = (mode: Mode, env = {}): Launched =>
    launchNode(script('start'), [], { cwd: folder, env: { ...environment(mode), ...env } });
  const start = async (mode: Mode): Promise<Launched> => {
    const service = run(mode);
    await service.waitForLine(UP);
    return service;
  };
  const processes = (): Record<string, number> =>
    JSON.parse(readFileSync(join(dataDir, 'runtime.json'), 'utf8')).processes;
  const shell = async (command: string): Promise<string> => {
    const process = launch('sh', ['-c', command], { cwd: folder });
    expect(await process.waitForEnd(), process.output).to.deep.equal({ code: 0, signal: null });
    return process.output;
  };
  const keys = async (mode: Mode, ...args: string[]): Promise<Launched> => {
    const tool = launchNode(script('keys'), args, { cwd: folder, env: environment(mode) });
    await tool.waitForEnd();
    return tool;
  };
  const call = (key: string, method: string, path: string, body?: object): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
      body: body ? JSON.stringify(body) : null,
    });
  const savedKey = (): string => readFileSync(join(dataDir, 'keys', 'default.key'), 'utf8').trim();

  const foldersOfData = (): string[] =>
    existsSync(dataDir)
      ? readdirSync(dataDir, { recursive: true })
          .map((path) => join(dataDir, String(path)))
          .filter((path) => statSync(path).isDirectory())
          .sort()
      : [];

  /** Line of a start that fails, makes no folder and deletes none. */
  const refusal = async (mode: Mode, env = {}): Promise<string> => {
    const hadData = existsSync(dataDir);
    const folders = foldersOfData();
    const process = run(mode, env);
    const { code } = await process.waitForEnd();
    expect(code, process.output).to.be.greaterThan(0);
    expect(process.lines).to.have.length(1);
    expect(existsSync(dataDir), 'the data folder').to.equal(hadData);
    expect(foldersOfData()).to.deep.equal(folders);
    return process.lines[0]!;
  };

  for (const mode of ['cluster', 'standalone'] as const)
    describe(titleIn(mode, 'in one folder', 'standalone'), () => {
      /** Each test continues with the results of the earlier ones. */
      let running: Launched;

      before(makeFolder);
      after(deleteFolder);

      it('greets with a line that works when pasted, and continues where it stopped', async () => {
        const first = await start(mode);
        const printed = first.lines.join('\n').match(/vk_[0-9a-f]{64}/g);
        expect(printed, 'shown once').to.deep.equal([savedKey()]);
        expect(statSync(join(dataDir, 'keys', 'default.key')).mode & 0o777).to.equal(0o600);
        for (const made of ['.', 'logs']) expect(statSync(join(dataDir, made)).mode & 0o777, made).to.equal(0o700);
        const shown = first.lines.map((line) => line.trim()).join('\n');
        expect(shown)
          .to.match(/^console +http:\/\/127\.0\.0\.1:\d+\/console$/m)
          .and.match(/^limits +none$/m);
        const pasted = first.lines.find((line) => /^ +try +/.test(line))!.replace(/^ +try +/, '');
        expect(await shell(pasted)).to.equal('{"collections":[]}');

        const collection = { name: 'kept', dimension: 2, metric: 'squared_l2' };
        expect((await call(savedKey(), 'POST', '/v1/namespaces', collection)).status).to.equal(200);
        const record = { collection: 'kept', values: [1, 2] };
        expect((await call(savedKey(), 'POST', '/v1/records', record)).status).to.equal(200);
        const pids = Object.values(processes());
        first.signal('SIGINT');
        expect(await first.waitForEnd(), first.output).to.deep.equal({ code: 0, signal: null });
        expect(pids.filter(isAlive)).to.deep.equal([]);

        running = await start(mode);
        expect(running.output).to.not.include('vk_');
        const kept = await call(savedKey(), 'GET', '/v1/records/1?collection=kept');
        expect(await kept.json()).to.deep.include({ id: 1, vector: [1, 2] });
      });

      if (mode === 'cluster')
        it('admits only users with a seed to its nats-server', async () => {
          const { natsUrl } = JSON.parse(readFileSync(join(dataDir, 'runtime.json'), 'utf8'));
          expect(new URL(natsUrl).hostname).to.equal('127.0.0.1');
          const stranger = await connect({ servers: natsUrl, reconnect: false }).catch((error: Error) => error);
          expect(stranger)
            .to.be.instanceOf(Error)
            .with.property('message')
            .that.matches(/authorization/i);
          const users = join(dataDir, 'nats', 'users');
          const files = readdirSync(users).map((role) => join(role, 'seed.nk'));
          expect(files).to.have.length(5);
          for (const file of files) {
            expect(statSync(join(users, file)).mode & 0o777, file).to.equal(0o600);
            const seed = readFileSync(join(users, file), 'utf8');
            expect(seed).to.match(/^SU[A-Z2-7]{56}$/);
            expect(running.output).to.not.include(seed);
          }
          const config = readFileSync(join(dataDir, 'nats', 'nats-server.conf'), 'utf8');
          expect(config)
            .to.include('host: "127.0.0.1"')
            .and.not.match(/SU[A-Z2-7]{56}/);
          const authenticator = nkeyAuthenticator(readFileSync(join(users, 'operator', 'seed.nk')));
          const operator = await connect({ servers: natsUrl, authenticator, inboxPrefix: '_INBOX.operator' });
          expect((await operator.request('$SRV.PING')).json()).to.have.property('name');
          await operator.close();
          expect((await keys(mode, 'streams')).output).to.include('every stream and bucket of the cluster exists');
        });

      it('creates, lists and revokes keys beside the running service', async () => {
        const made = await keys(mode, 'create', '--project', 'p', '--scope', 'read_write', '--label', 'for a test');
        const key = made.lines.find((line) => line.startsWith('vk_'))!;
        await eventually('the key works', async () => (await call(key, 'GET', '/v1/namespaces')).status === 200);
        const [titles, ...rows] = (await keys(mode, 'list')).lines;
        expect(titles).to.match(/^id +project +scope +collections +created +expires +label$/);
        expect(rows).to.have.length(2);
        const row = rows.find((line) => line.includes('for a test'))!;
        expect(row).to.match(/^[0-9a-f]{16} +p +read_write +all +\d{4}-\d\d-\d\d \d\d:\d\dZ +never +for a test$/);
        expect(rows.join()).to.not.include('vk_');

        const id = row.slice(0, 16);
        expect((await keys(mode, 'revoke', id)).output).to.include(`${id} is revoked`);
        await eventually('the key is dead', async () => (await call(key, 'GET', '/v1/namespaces')).status === 401);
        const again = await keys(mode, 'revoke', id);
        expect(await again.ended).to.deep.equal({ code: 1, signal: null });
        expect(again.output).to.include(`no key has the id ${id}; npm run keys -- list shows the ids`);
      });

      it('reports in one line that its folder is in use, or belongs to the other mode', async () => {
        if (mode === 'standalone')
          for (const other of ['cluster', 'standalone'] as const)
            expect(await refusal(other)).to.match(/data folder .* is in use by process \d+/);
        expect(await running.stop()).to.deep.equal({ code: 0, signal: null });
        expect(running.output).to.include('stopped');
        const [other, command] =
          mode === 'standalone' ? (['cluster', 'npm run standalone'] as const) : (['standalone', 'npm start'] as const);
        const key = savedKey();
        expect(await refusal(other)).to.match(
          new RegExp(`data folder .* is that of ${command}, .*; set VOUCH_DATA_DIR`),
        );
        expect(savedKey()).to.equal(key);
      });

      if (mode === 'standalone')
        it('warns of a variable without effect, and keeps the key of another service', async () => {
          const key = savedKey();
          rmSync(join(dataDir, 'registry'), { recursive: true });
          const other = run('standalone', { VOUCH_PROT: '9000' });
          await other.waitForLine(UP);
          await other.stop();
          expect(other.lines[0]).to.match(/^! settings +VOUCH_PROT sets nothing: did you mean VOUCH_PORT\?$/);
          expect(savedKey()).not.to.equal(key);
          const kept = readdirSync(join(dataDir, 'keys')).find((name) => /^default\.key\.\d+$/.test(name))!;
          expect(readFileSync(join(dataDir, 'keys', kept), 'utf8')).to.equal(`${key}\n`);
        });
    });

  describe(atLength('in a folder of its own'), () => {
    beforeEach(makeFolder);
    afterEach(deleteFolder);

    it('restarts every process that dies, and reports it in a line', async () => {
      const service = await start('cluster');
      for (const name of ['coordinator', 'shard s1', 'nats-server']) {
        const from = service.lines.length;
        const pid = processes()[name]!;
        process.kill(pid, 'SIGKILL');
        await service.waitForLine(new RegExp(`^! ${name} +ended by SIGKILL; starts again in`), { from });
        await service.waitForLine(new RegExp(`^✔ ${name} +serves again`), { from });
        await eventually('the service is whole', async () => {
          const health = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
          if (health?.status !== 200) return false;
          return ((await health.json()) as { shard_count: number }).shard_count === 1;
        });
        await eventually('the new process is on record', () => processes()[name] !== pid);
      }
      expect(await service.stop()).to.deep.equal({ code: 0, signal: null });
    });

    it('ends its processes when killed, restarts at once, and ends at a second Ctrl-C if necessary', async () => {
      const service = await start('cluster');
      const pids = Object.values(processes());
      expect(pids).to.have.length(3);
      await service.kill();
      const next = await start('cluster');
      expect(pids.filter(isAlive)).to.deep.equal([]);

      const itsPids = Object.values(processes());
      process.kill(processes()['shard s1']!, 'SIGSTOP');
      next.signal('SIGINT');
      await next.waitForLine(/stopping/);
      const insist = setInterval(() => next.signal('SIGINT'), 100);
      const ended = await next.waitForEnd().finally(() => clearInterval(insist));
      expect(ended).to.deep.equal({ code: 130, signal: null });
      await eventually('nothing is left', () => !itsPids.some(isAlive));
    });

    it('reports in one line why it cannot start', async () => {
      const taken = createServer().listen(0, '127.0.0.1');
      await eventually('the port is taken', () => taken.address() !== null);
      const { port: takenPort } = taken.address() as { port: number };
      writeFileSync(join(folder, 'file'), '');
      for (const mode of ['cluster', 'standalone'] as const) {
        expect(await refusal(mode, { VOUCH_PORT: String(takenPort) })).to.match(
          /port \d+ of 127.0.0.1 is in use; .*VOUCH_PORT/,
        );
        const inner = join(folder, 'outer', mode);
        const refused = await refusal(mode, { VOUCH_PORT: String(takenPort), VOUCH_DATA_DIR: inner });
        expect(refused).to.match(/^✘ start +port/);
        expect(existsSync(join(folder, 'outer')), 'the folder above the data folder').to.equal(false);
        for (const unwritable of [join(folder, 'file', 'data'), join(folder, 'file', 'data', 'inner')])
          expect(await refusal(mode, { VOUCH_DATA_DIR: unwritable })).to.match(/cannot be written .*VOUCH_DATA_DIR/);
        const partly = join(folder, `partly-${mode}`);
        mkdirSync(partly);
        writeFileSync(join(partly, mode === 'cluster' ? 'nats' : 'registry'), '');
        const process = run(mode, { VOUCH_DATA_DIR: partly });
        expect((await process.waitForEnd()).code).to.equal(1);
        expect(process.lines.at(-1)).to.match(
          /^✘ start +a part of the path .*partly.* is a file: name a folder there$/,
        );
        expect(await refusal(mode, { VOUCH_HOST: '203.0.113.1', VOUCH_INSECURE_HTTP: 'true' })).to.match(
          /not an address of this machine; set VOUCH_HOST/,
        );
        expect(await refusal(mode, { VOUCH_SHARDS: '0' })).to.match(/^VOUCH_SHARDS is 0; allowed is/);
      }
      taken.close();
      expect(await refusal('cluster', { VOUCH_REPLICAS: '3' })).to.match(
        /one NATS server holds 1; set VOUCH_REPLICAS to 1/,
      );
    });

    it('leaves no folder if another start took its port before it listened', async function () {
      if (process.platform !== 'linux') skip(this, 'ports are reserved by abstract sockets, which Linux has');
      for (const mode of ['cluster', 'standalone'] as const) {
        const folders = ['a', 'b'].map((name) => join(folder, mode, name));
        const starts = folders.map((data) => run(mode, { VOUCH_DATA_DIR: data }));
        const [first, last] = await Promise.race(
          starts.map(async (each, i) => {
            await each.waitForEnd();
            return [i, 1 - i] as const;
          }),
        );
        expect(starts[first]!.lines, starts[first]!.output).to.have.length(1);
        expect(starts[first]!.lines[0]).to.match(/port \d+ of 127.0.0.1 is in use; .*VOUCH_PORT/);
        await starts[last]!.waitForLine(UP);
        expect(existsSync(folders[first]!)).to.equal(false);
        expect(await starts[last]!.stop()).to.deep.equal({ code: 0, signal: null });
      }
    });

    it('explains to users of the key tool what is wrong', async () => {
      const outcome = async (...args: string[]): Promise<string> => {
        const tool = await keys('cluster', ...args);
        return `${(await tool.ended).code} ${tool.lines[0]}`;
      };
      expect(await outcome('list')).to.match(/^1 ✘ keys +nothing runs on the data folder .* npm start/);
      expect(await outcome()).to.match(/^2 ✘ keys +the command is missing: there are create/);
      expect(await outcome('create', '--project', 'a b', '--scope', 'admin')).to.match(
        /^2 ✘ keys +--project is a b; allowed/,
      );
      expect(await outcome('create', '--project', 'p', '--scope', 'all')).to.match(
        /--scope is all; allowed is read_only,/,
      );
      expect(await outcome('create', '--project', 'p', '--scope', 'admin', '--expires', '1y')).to.match(
        /--expires is 1y/,
      );
      expect(await outcome('list', '--colour')).to.match(/^2 ✘ keys +Unknown option/);
    });
  });
});
