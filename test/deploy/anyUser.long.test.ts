/**
 * The programs of the image as OpenShift and `docker run --user 12345` start them: under an unknown user id in root's
 * group. The user has no home and no temporary folder, and volumes belong to root. Needs root, to become that user, and
 * `setpriv`.
 */
import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { findNatsServer } from '../../scripts/local/natsServer/find.js';
import { Client } from '../support/launch/client.js';
import { findTool, runTool } from '../support/launch/foreignTool.js';
import { freePort } from '../support/launch/freePort.js';
import { NatsServer } from '../support/launch/natsProcess.js';
import { type Launched, launch } from '../support/launch/process.js';
import { skip } from '../support/skip.js';

const USER = 54_321;
const PROGRAMS = fileURLToPath(new URL('../..', import.meta.url));
const UNPRIVILEGED = [
  ...['--reuid', String(USER), '--regid', '0', '--clear-groups', '--no-new-privs'],
  ...['--inh-caps=-all', '--bounding-set=-all'],
];
const UP = /^ +stop +Ctrl-C/;

describe('the image under any user id', () => {
  const setpriv = findTool('setpriv');
  let folder: string;

  before(async function () {
    if (process.getuid?.() !== 0 || setpriv === undefined) skip(this, 'only root with setpriv becomes another user');
    const { code } = await runTool(setpriv, [
      ...UNPRIVILEGED,
      process.execPath,
      '--check',
      join(PROGRAMS, 'scripts/keys.js'),
    ]);
    if (code !== 0) skip(this, 'another user may not read the programs, or Node');
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'vouch-user-'));
    chmodSync(folder, 0o755);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** A folder as the Dockerfile makes it: owned by root, and open to root's group. */
  function volume(name: string): string {
    const path = join(folder, name);
    mkdirSync(path);
    // Capabilities are removed, so rights come from the group alone.
    chownSync(path, 0, 0);
    chmodSync(path, 0o770);
    return path;
  }

  function start(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Launched {
    const own = { HOME: '/', TMPDIR: '/nonexistent', INIT_CWD: undefined, USER: undefined, LOGNAME: undefined };
    const command = [process.execPath, join(PROGRAMS, program), ...args];
    return launch(setpriv!, [...UNPRIVILEGED, ...command], { cwd: '/', env: { ...own, ...env } });
  }

  /** Files and folders in the volume that another user, or root's group, may use. */
  const openIn = (path: string): string[] =>
    readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => {
      const { uid, mode } = lstatSync(join(path, name));
      return uid !== USER || (mode & 0o077) !== 0;
    });

  it('serves in one process, restarts, and keeps its files private, without a warning', async () => {
    const data = volume('data');
    const port = await freePort();
    const settings = { VOUCH_MODE: 'standalone', VOUCH_DATA_DIR: data, VOUCH_PORT: String(port) };
    let key: string | undefined;
    for (const round of [1, 2]) {
      const service = start('scripts/standalone.js', [], settings);
      await service.waitForLine(UP);
      key ??= /vk_[0-9a-f]{64}/.exec(service.output)?.[0];
      const client = new Client(`http://127.0.0.1:${port}`, key);
      await client.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
      const insert = await client.post('/v1/records', { collection: 'c', values: [1, 2], text: 'x' });
      expect([insert.status, insert.body.id], service.output).to.deep.equal([200, round]);
      expect(await service.stop()).to.deep.equal({ code: 0, signal: null });
      expect(service.output).to.not.match(/^!/m);
    }
    expect(openIn(data)).to.deep.equal([]);
  });

  it('serves with a coordinator and a shard, and keys from the key tool', async () => {
    const [users, keys, log, data] = ['users', 'keys', 'log', 'data'].map(volume) as [string, string, string, string];
    const nats = await NatsServer.start({
      ...{ binary: await findNatsServer(), dataDir: join(folder, 'nats'), port: await freePort() },
    });
    const settings = {
      ...{ VOUCH_NATS_URL: nats.url, VOUCH_MASTER_KEY_FILE: join(keys, 'master.key'), VOUCH_DATA_DIR: data },
      ...{ VOUCH_LOG_KEY_FILE: join(log, 'log.key'), VOUCH_PORT: String(await freePort()) },
    };
    try {
      for (const args of [['nats', '--out', users, '--routes', 'a:6222'], ['log'], ['streams']]) {
        const tool = start('scripts/keys.js', args, settings);
        expect((await tool.waitForEnd()).code, tool.output).to.equal(0);
      }
      const shard = start('shard/main.js', ['--name', 's1'], settings);
      const coordinator = start('coordinator/main.js', [], { ...settings, VOUCH_DATA_DIR: '/nonexistent/data' });
      await Promise.all([shard, coordinator].map((started) => started.waitForLine(/"ready"/)));
      const tool = start('scripts/keys.js', ['create', '--project', 'default', '--scope', 'read_write'], settings);
      expect((await tool.waitForEnd()).code, tool.output).to.equal(0);
      const client = new Client(`http://127.0.0.1:${settings.VOUCH_PORT}`, /vk_[0-9a-f]{64}/.exec(tool.output)?.[0]);
      await client.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
      const insert = await client.post('/v1/records', { collection: 'c', values: [1, 2], text: 'x' });
      expect([insert.status, insert.body.id], coordinator.output).to.deep.equal([200, 1]);
      expect((await coordinator.stop()).code).to.equal(0);
      expect((await shard.stop()).code).to.equal(0);
      expect(shard.output).to.not.include('open to other users');
      expect([users, keys, log, data].flatMap(openIn)).to.deep.equal([]);
    } finally {
      await nats.stop();
    }
  });
});
