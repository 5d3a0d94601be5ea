/** Files of a service are open to their owner only, not to the group or other users. */
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from '../support/expectations.js';
import { freePort } from '../support/launch/freePort.js';
import { type Launched, launchNode } from '../support/launch/process.js';

type Mode = 'cluster' | 'standalone';

const script = (name: string): string => fileURLToPath(new URL(`../../scripts/${name}.js`, import.meta.url));
/** The last line of the greeting. */
const UP = /^ +stop +Ctrl-C/;
/** A finished snapshot; the name of an unfinished one begins with a dot. */
const SNAPSHOT = /^snapshots\/.*\/.*\/[^.]/;

/** `path mode` of everything in the folder, and of itself, that other users may read, write or enter. */
function openBelow(folder: string): string[] {
  const paths = ['.', ...(readdirSync(folder, { recursive: true }) as string[])];
  // A running service may have just renamed it.
  const modeOf = (path: string): number =>
    (lstatSync(join(folder, path), { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  const modes = paths.map((path) => [path, modeOf(path)] as const);
  return modes.filter(([, mode]) => (mode & 0o077) !== 0).map(([path, mode]) => `${path} 0${mode.toString(8)}`);
}

describe('the files of a service', () => {
  let folder: string;
  let dataDir: string;
  let port: number;
  let umask: number;

  const prepare = async (): Promise<void> => {
    folder = mkdtempSync(join(tmpdir(), 'vouch-private-'));
    dataDir = join(folder, 'data');
    port = await freePort();
    // The widest umask: the service must not rely on the caller's.
    umask = process.umask(0);
  };
  const cleanUp = (): void => {
    process.umask(umask);
    rmSync(folder, { recursive: true, force: true });
  };

  const environment = (mode: Mode): Record<string, string | undefined> => ({
    VOUCH_MODE: mode,
    VOUCH_DATA_DIR: dataDir,
    VOUCH_PORT: String(port),
    VOUCH_RATE_LIMITS: 'off',
    VOUCH_SHARDS: '1',
    VOUCH_SNAPSHOT_EVERY_BYTES: '1000',
    VOUCH_NATS_URL: undefined,
    INIT_CWD: undefined,
  });
  const start = async (mode: Mode): Promise<Launched> => {
    const service = launchNode(script('start'), [], { cwd: folder, env: environment(mode) });
    await service.waitForLine(UP);
    return service;
  };
  const savedKey = (): string => readFileSync(join(dataDir, 'keys', 'default.key'), 'utf8').trim();
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${savedKey()}`, 'content-type': 'application/json', connection: 'close' },
      body: body ? JSON.stringify(body) : null,
    });
    expect(answer.status, `${method} ${path}`).to.equal(200);
    return answer.json();
  };

  const filesLike = (kind: RegExp): string[] =>
    (readdirSync(dataDir, { recursive: true }) as string[]).filter((file) => kind.test(file));

  async function writeOfEachKind(): Promise<void> {
    await call('POST', '/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
    const batch = Array.from({ length: 1_200 }, (_, i) => [i, 1]);
    await call('POST', '/v1/vectors/batch-insert', { collection: 'c', batch, texts: batch.map(() => 'secret') });
    const payload = Buffer.from('secret').toString('base64');
    await call('POST', '/v1/records/encrypted', { collection: 'c', payload });
    await call('POST', '/v1/index/rebuild', { index: 'hnsw' });
  }

  for (const mode of ['cluster', 'standalone'] as const)
    describe(`(${mode})`, () => {
      let service: Launched;

      before(prepare);
      after(cleanUp);

      it('are closed at start if they were open, and one line reports it', async () => {
        mkdirSync(join(dataDir, 'logs'), { recursive: true });
        chmodSync(dataDir, 0o755);
        service = await start(mode);
        const warning = `the data folder ${dataDir} was open to other users of this machine (mode 0755); it is closed now (mode 0700)`;
        expect(service.lines.filter((line) => line.includes('was open to other users'))).to.have.length(1);
        expect(service.output).to.include(warning);
        expect(openBelow(dataDir)).to.deep.equal([]);
      });

      it('and its exports are closed to other users, during the run and after', async () => {
        await writeOfEachKind();
        expect(openBelow(dataDir)).to.deep.equal([]);
        const file = join(folder, 'c.export');
        const args = ['--collection', 'c', '--out', file, '--url', `http://127.0.0.1:${port}`, '--key', savedKey()];
        const tool = launchNode(script('export'), args, { cwd: folder, env: environment(mode) });
        expect(await tool.waitForEnd(), tool.output).to.deep.equal({ code: 0, signal: null });
        expect(lstatSync(file).mode & 0o777).to.equal(0o600);
        await eventually('the first snapshot is there', () => filesLike(SNAPSHOT).length > 0);
        expect(await service.stop()).to.deep.equal({ code: 0, signal: null });
        for (const kind of [SNAPSHOT, /^indexes\/.*\/payload/, /^logs\//])
          expect(filesLike(kind), `${kind} in ${filesLike(/./).join(' ')}`).to.not.be.empty;
        expect(openBelow(dataDir)).to.deep.equal([]);
      });
    });
});
