// Covers: scripts/vouch.ts
/** The package made by `npm pack`, in an empty folder. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { freePort } from '../support/launch/freePort.js';
import { type Launched, launch, launchNode } from '../support/launch/process.js';
import { skip } from '../support/skip.js';
import { ROOT } from '../support/sourceTree.js';

const UP = /^ +stop +Ctrl-C/;

describe('the package of npm pack', () => {
  let folder: string;
  let service: Launched | undefined;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-package-'));
  });
  after(async () => {
    await service?.kill();
    await rm(folder, { recursive: true, force: true });
  });

  it('serves in an empty folder without compiling anything', async function () {
    // A running cluster has its programs from dist/, so they are not built again.
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await promisify(execFile)('npm', args, { cwd: ROOT });
    const file = stdout.trim();
    const installed = promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', `./${file}`], { cwd: folder });
    await installed.catch(() => skip(this, 'the npm registry cannot be reached'));
    const port = await freePort();
    const env = { VOUCH_PORT: String(port), VOUCH_DATA_DIR: 'data', VOUCH_MODE: undefined, INIT_CWD: undefined };
    service = launch(join(folder, 'node_modules', '.bin', 'vouch'), ['standalone'], { cwd: folder, env });
    await service.waitForLine(UP);
    const key = /vk_[0-9a-f]{64}/.exec(service.output)![0];
    const answer = await fetch(`http://127.0.0.1:${port}/v1/namespaces`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await answer.json()).to.deep.equal({ collections: [] });
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).to.equal(200);
    service.signal('SIGINT');
    expect(await service.waitForEnd(), service.output).to.deep.equal({ code: 0, signal: null });
    expect(await readdir(join(folder, 'data', 'keys'))).to.deep.equal(['default.key']);
  });

  const vouch = async (...args: string[]) => {
    const env = { VOUCH_DATA_DIR: join(folder, 'none'), VOUCH_NATS_URL: undefined, VOUCH_MODE: undefined };
    const program = launchNode(join(ROOT, 'dist', 'scripts', 'vouch.js'), args, { env });
    return { ...(await program.waitForEnd()), output: program.output };
  };

  it('prints its version', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const { code, output } = await vouch('--version');
    expect([code, output]).to.deep.equal([0, version]);
  });

  it('lists its commands, and refuses others', async () => {
    const help = await vouch('--help');
    expect([help.code, help.output]).to.satisfy(
      ([code, text]: [number, string]) => code === 0 && /standalone/.test(text),
    );
    const wrong = await vouch('stat');
    expect([wrong.code, wrong.output]).to.deep.equal([
      2,
      '✘ vouch         there is no command "stat": did you mean start?',
    ]);
  });

  it('names its commands as they are called: no usage and no message names npm', async () => {
    const names = [...(await vouch('--help')).output.matchAll(/^ {2}(\w+) {2,}\w/gm)].map(([, name]) => name!);
    expect(names).to.include.members(['start', 'verify', 'demo']);
    for (const name of names) {
      const { code, output } = await vouch(name, '--help');
      expect(code, output).to.equal(0);
      expect(output, name)
        .to.match(new RegExp(`^vouch ${name}\\b`))
        .and.not.match(/\bnpm\b/);
      const refused = await vouch(name, '--colour');
      expect(refused.code, refused.output).to.equal(2);
      expect(refused.output, name).to.match(new RegExp(`; vouch ${name} --help shows the usage$`));
    }
    const { code, output } = await vouch('keys', 'list');
    expect(code, output).to.equal(1);
    expect(output).to.match(/; run vouch start first, or set /);
  });
});
