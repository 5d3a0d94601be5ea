// Covers: shared/scheduling/mapConcurrent.ts
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { parseProcessFlags } from '../../../../shared/process/processFlags.js';
import { mapConcurrent } from '../../../../shared/scheduling/mapConcurrent.js';
import { launch, launchNode } from '../../../support/launch/process.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { ROOT } from '../../../support/sourceTree.js';

/** A row of `scripts/setup/commands.mjs`. `entry` is a compiled program; without it, only set-up reads the arguments. */
interface Command {
  readonly entry?: string;
  /** The options that set-up knows, by name. */
  readonly options?: object;
}

const SETUP = join(ROOT, 'scripts', 'setup.mjs');
const { COMMANDS } = (await import(pathToFileURL(join(ROOT, 'scripts', 'setup', 'commands.mjs')).href)) as {
  readonly COMMANDS: Readonly<Record<string, Command>>;
};

/** Commands of set-up that no script of package.json runs. */
const OF_SETUP = ['install', 'setup'];

interface Answer {
  readonly name: string;
  readonly code: number | null;
  readonly lines: readonly string[];
}

describe('every command', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-commands-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const answers = (argsOf: (index: number) => readonly string[]): Promise<Answer[]> =>
    mapConcurrent([...Object.entries(COMMANDS).entries()], 4, async ([index, [name, { entry }]]) => {
      const program = entry === undefined ? [SETUP, name] : [join(ROOT, 'dist', entry)];
      const env = { VOUCH_DATA_DIR: join(folder, 'data'), INIT_CWD: folder };
      const launched = launchNode(program[0]!, [...program.slice(1), ...argsOf(index)], { cwd: folder, env });
      const { code } = await launched.waitForEnd();
      return { name, code, lines: launched.lines };
    });

  it('is a script of package.json, and every script is a command', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    for (const [name, script] of Object.entries(scripts))
      expect(script).to.match(
        new RegExp(`^exec (?:env [\\w=]+(?: [\\w=]+)* )?node (?:--[\\w=-]+ )*scripts/setup\\.mjs ${name}$`),
      );
    expect(Object.keys(COMMANDS).sort()).to.deep.equal([...Object.keys(scripts), ...OF_SETUP].sort());
  });

  /** The options in a usage text, except `--silent`, which is an option of npm. */
  const optionsIn = (usage: string): string[] =>
    [...new Set(usage.replace('--silent', '').match(/(?<=[\s[]--)[a-z][a-z-]*/g) ?? [])].sort();

  it('answers --help or -h, also behind other arguments, with all options that set-up knows, and does nothing more', async () => {
    const first = seededRandom(testSeed()).int(2);
    for (const { name, code, lines } of await answers((i) => ['--colour', i % 2 === first ? '--help' : '-h'])) {
      expect(code, name).to.equal(0);
      const called = OF_SETUP.includes(name) ? 'node scripts/setup.mjs' : `npm (?:run )?${name}`;
      expect(lines[0], name).to.match(new RegExp(`^${called}(?: |$)`));
      const { entry, options } = COMMANDS[name]!;
      if (entry !== undefined && options !== undefined)
        expect(Object.keys(options).sort(), name).to.deep.equal(optionsIn(lines.join('\n')));
    }
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('refuses an unknown option in one line and starts nothing', async () => {
    for (const { name, code, lines } of await answers(() => ['--colour'])) {
      expect(code, name).to.equal(2);
      const called = name === 'start' || name === 'test' ? `npm ${name}` : `npm run ${name}`;
      expect(lines, name).to.have.length(1);
      expect(lines[0], name).to.match(
        new RegExp(`Unknown option '--colour'; (?:${called} -- )?--help shows the usage$`),
      );
    }
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('answers --help before hnswlib is compiled, also the benchmarks', async () => {
    const without = join(folder, 'withoutHnswlib.cjs');
    await writeFile(
      without,
      `const Module = require('node:module');
       const load = Module._load;
       Module._load = (name, ...rest) => {
         if (name === 'hnswlib-node') throw new Error('is not compiled');
         return load(name, ...rest);
       };`,
    );
    const env = { NODE_OPTIONS: `--require ${without}` };
    const launched = launchNode(join(ROOT, 'dist/bench/main.js'), ['--help'], { env });
    expect((await launched.waitForEnd()).code, launched.output).to.equal(0);
    expect(launched.lines[0]).to.match(/^npm run bench/);
    await rm(without);
  });

  it('answers an unknown word with the nearest known one or all of them', async () => {
    for (const [entry, args, says] of [
      ['scripts/keys.js', ['relase', '1'], 'there is no command "relase": did you mean release?'],
      ['scripts/keys.js', ['rotate_master'], 'there is no command "rotate_master": did you mean rotate-master?'],
      ['scripts/keys.js', ['delete'], 'there is no command "delete": there are create, list, revoke, release, '],
      ['scripts/keys.js', [], 'the command is missing: there are create, list, '],
      ['scripts/keys.js', ['list', 'all'], 'list takes no argument all'],
      ['scripts/verify.js', ['recept', 'a.json'], 'there is no command "recept": did you mean receipt?'],
      [
        'scripts/verify.js',
        ['strem'],
        'the file "strem" does not exist, and there is no command "strem": did you mean stream?',
      ],
      ['bench/main.js', ['--only', 'kernl'], 'there is no part "kernl": did you mean kernel?'],
      ['test/fuzz/main.js', ['--target', 'event'], 'there is no target "event": did you mean events?'],
    ] as const) {
      const launched = launchNode(join(ROOT, 'dist', entry), [...args]);
      expect((await launched.waitForEnd()).code, launched.output).to.equal(2);
      expect(launched.lines[0]).to.include(says);
    }
  });

  it('says where -- is missing, if npm has read its options', async () => {
    const load = join(ROOT, 'dist', 'scripts', 'load.js');
    const linesOf = async (env: Record<string, string>): Promise<readonly string[]> => {
      const launched = launchNode(load, ['winds.jsonl', 'winds'], { env: { npm_config_collection: 'true', ...env } });
      expect((await launched.waitForEnd()).code, launched.output).to.equal(2);
      return launched.lines;
    };
    expect(await linesOf({ npm_lifecycle_event: 'load' })).to.deep.equal([
      '✘ load          winds: one file at a time; npm has read --collection itself: write -- before the arguments, as in npm run load -- --help',
    ]);
    expect(await linesOf({ npm_lifecycle_event: 'other' })).to.deep.equal([
      '✘ load          winds: one file at a time; npm run load -- --help shows the usage',
    ]);
  });

  it('for tests refuses a path that is not below test/', async () => {
    const launched = launchNode(SETUP, ['test', 'shard']);
    expect(await launched.waitForEnd()).to.deep.equal({ code: 2, signal: null });
    expect(launched.lines[0]).to.equal("'shard' is not below test/; --help shows the usage");
  });

  it('ends without a message if its output is closed', async () => {
    const verify = new URL('../../../../scripts/verify.js', import.meta.url).pathname;
    const unread = launch('bash', ['-o', 'pipefail', '-c', '"$0" "$1" --help | true', process.execPath, verify]);
    expect(await unread.waitForEnd()).to.deep.equal({ code: 141, signal: null });
    expect(unread.output).to.equal('');
  });
});

describe('the command line of a server process', () => {
  it('takes its name and the address of NATS', () => {
    expect(parseProcessFlags([])).to.deep.equal({ name: undefined, nats: undefined });
    expect(parseProcessFlags(['--name', 's-1_b', '--nats=nats://h:4222'])).to.deep.equal({
      name: 's-1_b',
      nats: 'nats://h:4222',
    });
  });

  it('refuses in one line a name that does not fit a subject, and any other argument', () => {
    for (const name of ['a b', 'a.b', '*', 'é', 'x'.repeat(65)])
      expect(() => parseProcessFlags(['--name', name])).to.throw(
        /^--name is ".*"; allowed are 1 to 64 of A-Z a-z 0-9 _ -$/,
      );
    expect(() => parseProcessFlags(['--name', ''])).to.throw(/^--name is empty: give a value, or leave it out$/);
    expect(() => parseProcessFlags(['extra'])).to.throw(/^Unexpected argument 'extra'$/);
    expect(() => parseProcessFlags(['--name'])).to.throw(/^Option '--name <value>' argument missing$/);
  });
});
