// Covers: scripts/setup/command.mjs, scripts/setup/commands.mjs, scripts/setup/interrupt.mjs, scripts/setup/steps.mjs
/** Set-up, which prepares a checkout before its code is compiled: a program of its own in plain JavaScript. */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../../../support/expectations.js';
import { isAlive, type Launched, launch } from '../../../support/launch/process.js';
import { ROOT } from '../../../support/sourceTree.js';

const module = (name: string): string => new URL(`../../../../../scripts/setup/${name}.mjs`, import.meta.url).href;

/** A program of set-up that ignores signals and ends only when killed, like an npm that cleans up. */
const STUBBORN = `
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});
  require('node:fs').writeFileSync('pid', String(process.pid));
  setInterval(() => {}, 1000);`;

describe('set-up', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'vouch-set-up-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const run = (work: string): Launched => {
    const lines = [
      `import { existsSync, readFileSync } from 'node:fs';`,
      `import { run } from '${module('command')}';`,
      `import { Interrupted, interruptible } from '${module('interrupt')}';`,
      `import { step } from '${module('steps')}';`,
      work,
    ];
    return launch(process.execPath, ['--input-type=module', '-e', lines.join('\n')], { cwd: folder });
  };

  it('ends the programs that it has started before it ends at a signal', async () => {
    const setUp = run(`
      setInterval(() => existsSync('pid') && console.log('runs ' + readFileSync('pid', 'utf8')), 20).unref();
      const program = [process.execPath, ['-e', ${JSON.stringify(STUBBORN)}]];
      const install = () => run('npm ci', program, { cwd: '.', advice: 'none' }).then(() => 'installed');
      await interruptible(() => step('packages', 'installing', install)).catch((error) => {
        console.log(error instanceof Interrupted);
        process.exit(130);
      });`);
    const pid = Number((await setUp.waitForLine(/^runs \d+/)).slice('runs '.length));
    setUp.signal('SIGINT');
    expect(await setUp.waitForEnd()).to.deep.equal({ code: 130, signal: null });
    expect(isAlive(pid)).to.equal(false);
    expect(setUp.output)
      .to.match(/ packages +stopped \(/)
      .and.to.match(/^true$/m);
  });

  it('ends at once at a signal if it runs no program', async () => {
    const setUp = run(`
      await interruptible(() => {
        console.log('waits');
        return new Promise((resolve) => setTimeout(resolve, 60_000));
      });`);
    await setUp.waitForLine(/^waits/);
    setUp.signal('SIGTERM');
    expect(await setUp.waitForEnd()).to.deep.equal({ code: 130, signal: null });
  });

  it('answers an unknown command with the known ones, as wrong arguments', async () => {
    const setUp = launch(process.execPath, [join(ROOT, 'scripts', 'setup.mjs'), 'strat'], { cwd: folder });
    expect(await setUp.waitForEnd()).to.deep.equal({ code: 2, signal: null });
    expect(setUp.output).to.contain('The command strat is unknown; known are install, build');
  });

  it('refuses a test that does not exist before it builds', async () => {
    const named = 'test/unit/shared/none.test.ts';
    const setUp = launch(process.execPath, [join(ROOT, 'scripts', 'setup.mjs'), 'test', named], { cwd: folder });
    expect(await setUp.waitForEnd()).to.deep.equal({ code: 2, signal: null });
    expect(setUp.output).to.equal(`'${named}' does not exist; --help shows the usage`);
  });

  it('refuses an unknown option and one word too many before it installs or builds', async () => {
    for (const name of ['setup.mjs', 'setup'])
      cpSync(join(ROOT, 'scripts', name), join(folder, 'scripts', name), { recursive: true });
    for (const [command, argument, says] of [
      ...['bench', 'fuzz', 'simulate', 'soak', 'start'].map(
        (name) => [name, '--colour', "Unknown option '--colour'"] as const,
      ),
      ['fuzz', 'events', "Unexpected argument 'events'"],
      ['simulate', '--seed', "Option '--seed <value>' argument missing"],
    ] as const) {
      const setUp = launch(process.execPath, ['scripts/setup.mjs', command, argument], { cwd: folder });
      expect(await setUp.waitForEnd(), command).to.deep.equal({ code: 2, signal: null });
      expect(setUp.output, command).to.equal(`${says}; --help shows the usage`);
    }
    expect(readdirSync(folder)).to.deep.equal(['scripts']);
  });

  it('leaves signals to the command that runs after it', async () => {
    const command = run(`
      await interruptible(async () => {});
      process.on('SIGINT', () => process.exit(7));
      console.log('serves');
      setInterval(() => {}, 1000);`);
    await command.waitForLine(/^serves/);
    command.signal('SIGINT');
    await eventually('the command ends with its own exit code', async () => (await command.ended).code === 7);
  });
});
