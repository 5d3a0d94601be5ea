/** The rules of the house, as a test: what may import what, what may be called where, how long things may grow. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { filesBelow, type Import, ROOT, readSources, type Source } from './support/sourceTree.js';

/** Who may import from where, besides its own folder. */
const MAY_IMPORT: Readonly<Record<Source['folder'], readonly string[]>> = {
  config: [],
  shared: ['config'],
  coordinator: ['shared', 'config'],
  shard: ['shared', 'config'],
  scripts: ['coordinator', 'shard', 'shared', 'config'],
  test: ['scripts', 'coordinator', 'shard', 'shared', 'config'],
};

/** The only reader of clocks and of the system's randomness. */
const CLOCK = 'shared/clock.ts';
const CLOCK_CALLS = ['Date.now', 'Math.random', 'performance.now', 'process.hrtime', 'process.hrtime.bigint'];

/** The only writer of files. Tests may also write: they make folders and break files on purpose. */
const FILE_WRITER = 'shared/durable.ts';
const READING =
  /^(?:access|close|constants|createReadStream|exists|fstat|lstat|mkdtemp|open|read|readdir|readFile|readlink|realpath|stat|statfs|watch|watchFile|unwatchFile)(?:Sync)?$|^(?:FileHandle|Stats|Dirent|FSWatcher|ReadStream|StatsFs)$/;

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
/** What is longer today: `path` or `path function` → lines. A figure may only go down, and must, when the code has. */
const TOO_LONG_TODAY: Readonly<Record<string, number>> = {};

const SAYS_NOTHING = /^(?:utils?|helpers?|common|managers?|misc|stuff|lib)$/i;

const sources = readSources();
const product = sources.filter(({ folder }) => folder !== 'test');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const packageJson = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

/** `path:line text` of every hit, so that a failure reads like a compiler's. */
const at = (path: string, { line, text }: { line: number; text: string }): string => `${path}:${line} ${text}`;

describe('tidy', () => {
  it('imports go one way', () => {
    const wrong = sources.flatMap(({ path, folder, imports }) =>
      imports
        .filter((imported) => imported.path !== undefined)
        .filter(({ path: target }) => ![folder, ...MAY_IMPORT[folder]].includes(target!.split('/')[0]!))
        .map(({ specifier }) => `${path} imports ${specifier}`),
    );
    expect(wrong).to.deep.equal([]);
  });

  it('time and chance are asked of the clock alone', () => {
    const wrong = sources
      .filter(({ path }) => path !== CLOCK)
      .flatMap(({ path, calls }) =>
        calls
          .filter(({ text, args }) => CLOCK_CALLS.includes(text) || (text === 'new Date' && args.length === 0))
          .map((call) => at(path, call)),
      );
    expect(wrong).to.deep.equal([]);
  });

  it('files are written by one module', () => {
    const isFs = ({ specifier }: Import): boolean => /^(?:node:)?fs(?:\/promises)?$/.test(specifier);
    const importsWriting = product
      .filter(({ path }) => path !== FILE_WRITER)
      .flatMap(({ path, imports }) =>
        imports
          .filter((imported) => isFs(imported) && !imported.typeOnly)
          .flatMap(({ names }) => names.filter((name) => !READING.test(name)).map((name) => `${path} imports ${name}`)),
      );
    const opensToWrite = product
      .filter(({ path, imports }) => path !== FILE_WRITER && imports.some(isFs))
      .flatMap(({ path, calls }) =>
        calls
          .filter(({ text, args }) => /^open(?:Sync)?$/.test(text) && args[1] !== undefined && args[1] !== "'r'")
          .map((call) => at(path, call)),
      );
    expect([...importsWriting, ...opensToWrite]).to.deep.equal([]);
  });

  it('nothing is of type any, but where a test says why', () => {
    const isExplained = ({ folder, text }: Source, line: number): boolean =>
      folder === 'test' && /biome-ignore .*noExplicitAny: \w/.test(text.split('\n')[line - 2] ?? '');
    const wrong = sources.flatMap((source) =>
      source.anyTypes.filter(({ line }) => !isExplained(source, line)).map((place) => at(source.path, place)),
    );
    expect(wrong).to.deep.equal([]);
  });

  it('only what a person runs prints to the console', () => {
    const wrong = product
      .filter(({ folder }) => folder !== 'scripts')
      .flatMap(({ path, calls }) => calls.filter(({ text }) => text.startsWith('console.')).map((c) => at(path, c)));
    expect(wrong).to.deep.equal([]);
  });

  it('no test is singled out, and none is skipped without a reason', () => {
    const wrong = sources
      .filter(({ folder }) => folder === 'test')
      .flatMap(({ path, calls, text }) => {
        const lines = text.split('\n');
        // A comment beside or above it, or the condition it hangs on.
        const hasReason = (line: number): boolean =>
          [line - 1, line].some((n) => /\/\/|\bif \(/.test(lines[n - 1] ?? ''));
        return calls
          .filter((call) => /\.only$/.test(call.text) || (/\.skip$/.test(call.text) && !hasReason(call.line)))
          .map((call) => at(path, call));
      });
    expect(wrong).to.deep.equal([]);
  });

  it('files and functions are short, and what is too long only gets shorter', () => {
    const long = new Map<string, number>();
    for (const { path, lines, functions } of sources) {
      if (lines > FILE_LINES_MAX) long.set(path, lines);
      for (const { text, lines: length, isSuite } of functions)
        if (length > FUNCTION_LINES_MAX && !isSuite) long.set(`${path} ${text}`, length);
    }
    expect(Object.fromEntries(long)).to.deep.equal(TOO_LONG_TODAY);
  });

  it('files and folders are named in camelCase, for what they hold', () => {
    const paths = [...sources.map(({ path }) => path), ...filesBelow('scripts', '.mjs')];
    const wrong = paths.filter((path) => {
      const parts = path.replace(/(?:\.test)?\.(?:ts|mjs)$/, '').split('/');
      return parts.some((part) => !/^[a-z][a-zA-Z0-9]*$/.test(part) || SAYS_NOTHING.test(part));
    });
    expect(wrong).to.deep.equal([]);
  });

  it('every source file is an entry or is imported by the product', () => {
    const commands = `${read('scripts/setup.mjs')}\n${JSON.stringify(packageJson.scripts)}`;
    const entries = [...commands.matchAll(/\b((?:scripts|coordinator|shard|test)\/[\w/]+)\.js\b/g)].map(
      ([, path]) => `${path}.ts`,
    );
    const reached = (from: readonly Source[]): Set<string | undefined> =>
      new Set([...entries, ...from.flatMap(({ imports }) => imports.map(({ path }) => path))]);
    const byProduct = reached(product);
    const byAny = reached(sources);
    const idle = sources
      .filter(({ path, folder }) =>
        folder === 'test' ? !path.endsWith('.test.ts') && !byAny.has(path) : !byProduct.has(path),
      )
      .map(({ path }) => path);
    expect(idle).to.deep.equal([]);
  });

  it('nothing is left to do, and nothing knows the machine it was written on', () => {
    const others = ['package.json', 'README.md', 'Dockerfile', 'docker-compose.yml', '.ci/run', 'tsconfig.json'];
    const texts = [
      ...sources.filter(({ path }) => path !== 'test/tidy.test.ts').map(({ path, text }) => ({ path, text })),
      ...[...others, ...filesBelow('scripts', '.mjs'), ...filesBelow('config', '.json')].map((path) => ({
        path,
        text: read(path),
      })),
    ];
    const wrong = texts.flatMap(({ path, text }) =>
      text
        .split('\n')
        .map((line, index) => ({ text: line.trim(), line: index + 1 }))
        .filter(({ text: line }) => /\b(?:TODO|FIXME|XXX)\b|(?:^|[\s'"`(=])\/(?:work|home|root|Users)\//.test(line))
        .map((place) => at(path, place)),
    );
    expect(wrong).to.deep.equal([]);
  });

  it('every command that the README names exists', () => {
    const named = [...read('README.md').matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)].map(
      ([, script, own]) => script ?? own!,
    );
    expect(named).to.include('start');
    expect(named.filter((name) => !(name in packageJson.scripts))).to.deep.equal([]);
  });

  it('a signal to npm reaches what npm runs', () => {
    const behindAShell = Object.entries(packageJson.scripts)
      .filter(([, command]) => command.startsWith('node ') && !command.includes('&&'))
      .map(([name]) => name);
    expect(behindAShell, 'npm passes signals to a shell, which dies of them alone unless it has become the command').to
      .be.empty;
  });

  it('every dependency is used, and every package that is used is a dependency', () => {
    const packageOf = (specifier: string): string =>
      specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/');
    const importedBy = (from: readonly Source[]): Set<string> =>
      new Set(
        from
          .flatMap(({ imports }) => imports.map(({ specifier }) => specifier))
          .filter((specifier) => /^[a-zA-Z@]/.test(specifier) && !specifier.startsWith('node:'))
          .map(packageOf),
      );
    const byProduct = importedBy(product);
    const byAny = importedBy(sources);
    const { dependencies, devDependencies } = packageJson;
    const tools = [
      read('.ci/run'),
      read('tsconfig.json'),
      JSON.stringify(packageJson.scripts),
      ...filesBelow('scripts', '.mjs').map(read),
    ].join('\n');
    const isUsedInDevelopment = (name: string): boolean => {
      const typed = name.replace(/^@types\//, '');
      const command = name.replace(/^@.*\//, '').replace(/js$/, '');
      return byAny.has(typed) || typed === 'node' || new RegExp(`\\b(?:${typed}|${command})\\b`).test(tools);
    };
    expect([...byProduct].filter((name) => !(name in dependencies)).sort(), 'not a dependency').to.deep.equal([]);
    expect([...byAny].filter((name) => !(name in { ...dependencies, ...devDependencies }))).to.deep.equal([]);
    // A package of data is not imported: its files are found and read.
    const isRead = (name: string): boolean => product.some(({ text }) => text.includes(`resolve(\`${name}/`));
    expect(Object.keys(dependencies).filter((name) => !byProduct.has(name) && !isRead(name))).to.deep.equal([]);
    expect(Object.keys(devDependencies).filter((name) => !isUsedInDevelopment(name))).to.deep.equal([]);
  });
});
