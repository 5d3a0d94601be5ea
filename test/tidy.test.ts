/** The rules of the house, as a test: what may import what, what may be called where, how long things may grow. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { FLOORS, floorOf } from './support/floors.js';
import { CIRCUMSTANCE, MACHINE_PATH, NOTE_TO_ONESELF } from './support/privateNotes.js';
import { filesBelow, type Import, ROOT, readSources, type Source } from './support/sourceTree.js';

/** Who may import from where, besides its own folder. */
const MAY_IMPORT: Readonly<Record<Source['folder'], readonly string[]>> = {
  config: [],
  shared: ['config'],
  // It checks what witnesses answer, as any reader of the log does.
  coordinator: ['verifier', 'shared', 'config'],
  shard: ['shared', 'config'],
  verifier: [],
  client: ['verifier'],
  console: ['verifier', 'coordinator'],
  scripts: ['client', 'verifier', 'coordinator', 'shard', 'shared', 'config'],
  bench: ['scripts', 'client', 'verifier', 'coordinator', 'shard', 'shared', 'config'],
  test: ['bench', 'scripts', 'client', 'verifier', 'coordinator', 'shard', 'shared', 'config'],
};

/** The only readers of clocks and of the system's randomness, in the service and in the package of the client. */
const CLOCKS = ['shared/clock.ts', 'client/clock.ts'];
const CLOCK_CALLS = ['Date', 'Date.now', 'Math.random', 'performance.now', 'process.hrtime', 'process.hrtime.bigint'];
/** Imports that draw from the clock or from randomness. Tests may have them. */
const DRAWS = /^(?:random|getRandomValues|generateKey|generatePrime|webcrypto|performance$)/;
const DRAW_CALLS = /\bcrypto\.(?:random|getRandomValues|generateKey|subtle\.generateKey)/;
/** Makes the keys that sign, by the function of the library alone. */
const KEY_MAKER = 'shared/signing/signer.ts';

/** The only writer of files. Tests may also write: they make folders and break files on purpose. */
const FILE_WRITERS = ['shared/files/durable.ts', 'client/node.ts'];
const READING =
  /^(?:access|close|constants|createReadStream|exists|fstat|lstat|mkdtemp|open|read|readdir|readFile|readlink|realpath|stat|statfs|watch|watchFile|unwatchFile)(?:Sync)?$|^(?:FileHandle|Stats|Dirent|FSWatcher|ReadStream|StatsFs)$/;

const SKIP = 'test/support/skip.ts';
/** The only user of the native HTTP engine, for which there may be no binary. */
const UWS_ENGINE = 'coordinator/http/engine/uwsEngine.ts';

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
const PARAMETERS_MAX = 4;
/** Tests may have one parameter more, except in shared code. */
const TEST_PARAMETERS_MAX = 5;
/** WebAssembly takes numbers only, and an object for each call would cost more than the call. */
const KERNEL = 'shard/kernel/kernel.ts';
/** Properties that distinguish the members of a union. */
const UNION_LABEL = /\.(?:op|kind|type|what)$/;
/** Files whose switches may leave kinds to a `default`: they take calls of every kind. */
const OPEN_SWITCHES = ['shard/capacity/admission.ts', 'shard/collection/analysedCall.ts'];
/** Longer files and functions: `path` or `path function` → lines. A figure may only go down. */
const TOO_LONG_TODAY: Readonly<Record<string, number>> = {};

/** Files that the build makes, and a program that only writes what tests compare with the tables. */
const UNPROVEN = /^client\/contract\/|^scripts\/docs\.ts$/;

/** Code that runs only in a checkout, where the packages of development are. */
const FOR_DEVELOPMENT = /^(?:bench\/|client\/|scripts\/(?:demo|docs|mcp|sbom)\b)/;
/** A version, perhaps of a package under another name. */
const EXACT = /^(?:npm:.+@)?\d+\.\d+\.\d+$/;

const SAYS_NOTHING = /^(?:utils?|helpers?|common|managers?|misc|stuff|lib)$/i;

const { provingTests } = (await import(pathToFileURL(join(ROOT, 'scripts', 'setup', 'provingTests.mjs')).href)) as {
  provingTests: (root: string) => { readonly test: string; readonly proves: readonly string[] }[];
};

const sources = readSources();
const product = sources.filter(({ folder }) => folder !== 'test');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
type Part = 'scripts' | 'bin' | 'dependencies' | 'optionalDependencies' | 'devDependencies';
const packageJson = JSON.parse(read('package.json')) as Record<Part, Record<string, string>>;

/** `path:line text` of every hit, so that a failure reads like a compiler's. */
const at = (path: string, { line, text }: { line: number; text: string }): string => `${path}:${line} ${text}`;

/** Charts that others write, where Helm has fetched them. */
const FETCHED = /\/charts\//;

/** Files that people write by hand: no list of packages, no built file. */
const TEXTS = /\.(?:md|ts|mjs|json|ya?ml|conf|cfg|service|tpl|sh)$|^(?:Dockerfile|\.ci\/run|\.npmrc)$|\/Caddyfile$/;
const COMMITTED: readonly string[] = [
  ...readdirSync(ROOT).filter((name) => TEXTS.test(name) && name !== 'package-lock.json'),
  '.ci/run',
  ...['deploy', 'docs', ...Object.keys(MAY_IMPORT)].flatMap((folder) =>
    filesBelow(folder, '').filter((path) => TEXTS.test(path) && !FETCHED.test(path)),
  ),
].filter((path) => path !== 'test/support/privateNotes.ts');

/** Every line that the pattern finds. */
const linesWith = (paths: readonly string[], wrong: RegExp): string[] =>
  paths.flatMap((path) =>
    read(path)
      .split('\n')
      .map((line, index) => ({ text: line.trim(), line: index + 1 }))
      .filter(({ text }) => wrong.test(text))
      .map((place) => at(path, place)),
  );

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

  it('imports inside a folder go down', () => {
    const wrong = Object.keys(FLOORS).flatMap((folder) => {
      const floor = (path: string): number => floorOf(folder, path);
      return sources
        .filter(({ path }) => path.startsWith(`${folder}/`))
        .flatMap(({ path, imports }) =>
          imports
            .flatMap(({ path: target }) => (target?.startsWith(`${folder}/`) ? [target] : []))
            .filter((target) => floor(path) < 0 || floor(target) < floor(path))
            .map((target) => `${path} imports ${target}`),
        );
    });
    expect(wrong).to.deep.equal([]);
  });

  it('no files import each other in a circle', () => {
    const targets = new Map(sources.map(({ path, imports }) => [path, imports.flatMap((one) => one.path ?? [])]));
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (path: string, way: readonly string[]): void => {
      if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' → '));
      if (done.has(path) || way.includes(path)) return;
      for (const target of targets.get(path) ?? []) visit(target, [...way, path]);
      done.add(path);
    };
    for (const path of targets.keys()) visit(path, []);
    expect(circles).to.deep.equal([]);
  });

  it('time and chance are asked of the clock alone', () => {
    const wrong = sources
      // A page in a browser is tested in one, by its clock.
      .filter(({ path, folder }) => !CLOCKS.includes(path) && folder !== 'console')
      .flatMap(({ path, calls }) =>
        calls
          .filter(({ text, args }) => CLOCK_CALLS.includes(text) || (text === 'new Date' && args.length === 0))
          .map((call) => at(path, call)),
      );
    expect(wrong).to.deep.equal([]);
  });

  it('the product draws from one source of randomness', () => {
    const wrong = product
      .filter(({ path, folder }) => !CLOCKS.includes(path) && path !== KEY_MAKER && folder !== 'console')
      .flatMap(({ path, imports, calls }) => [
        ...imports
          .filter(({ specifier }) => /^(?:node:)?(?:crypto|perf_hooks)$/.test(specifier))
          .flatMap(({ names }) => names.filter((name) => DRAWS.test(name)).map((name) => `${path} imports ${name}`)),
        ...calls.filter(({ text }) => DRAW_CALLS.test(text)).map((call) => at(path, call)),
      ]);
    expect(wrong).to.deep.equal([]);
  });

  it('private members are written with #, and private marks parameters of constructors alone', () => {
    const member = /^\s+private (?!constructor\b)(?:(?:static|readonly|async|get|set) )*\w+(?:[(<]|.*[;{=]$)/;
    expect(
      linesWith(
        sources.map(({ path }) => path),
        member,
      ),
    ).to.deep.equal([]);
  });

  it('a function has at most four parameters', () => {
    const most = (path: string): number =>
      path.startsWith('test/') && !path.startsWith('test/support/') ? TEST_PARAMETERS_MAX : PARAMETERS_MAX;
    const wrong = sources
      .filter(({ path }) => path !== KERNEL)
      .flatMap(({ path, signatures }) =>
        signatures.filter(({ parameters }) => parameters > most(path)).map((each) => at(path, each)),
      );
    expect(wrong).to.deep.equal([]);
  });

  it('a switch over a union names every kind, or passes the kinds that are left to a function', () => {
    const wrong = product
      .filter(({ path }) => !OPEN_SWITCHES.includes(path))
      .flatMap(({ path, defaults }) =>
        defaults.filter(({ text, isProof }) => UNION_LABEL.test(text) && !isProof).map((each) => at(path, each)),
      );
    expect(wrong).to.deep.equal([]);
  });

  it('files are written by one module', () => {
    const isFs = ({ specifier }: Import): boolean => /^(?:node:)?fs(?:\/promises)?$/.test(specifier);
    const importsWriting = product
      .filter(({ path }) => !FILE_WRITERS.includes(path))
      .flatMap(({ path, imports }) =>
        imports
          .filter((imported) => isFs(imported) && !imported.typeOnly)
          .flatMap(({ names }) => names.filter((name) => !READING.test(name)).map((name) => `${path} imports ${name}`)),
      );
    const opensToWrite = product
      .filter(({ path, imports }) => !FILE_WRITERS.includes(path) && imports.some(isFs))
      .flatMap(({ path, calls }) =>
        calls
          .filter(({ text, args }) => /^open(?:Sync)?$/.test(text) && args[1] !== undefined && args[1] !== "'r'")
          .map((call) => at(path, call)),
      );
    expect([...importsWriting, ...opensToWrite]).to.deep.equal([]);
  });

  it('every process that a test or a bench starts is guarded', () => {
    const wrong = sources.filter(({ folder, calls }) => {
      const starts = calls.filter(({ text }) => text === 'spawn' || text === 'fork').length;
      const guards = calls.filter(({ text, args }) => text === 'guarded' && /^(?:spawn|fork)\(/.test(args[0]!)).length;
      return (folder === 'test' || folder === 'bench') && starts !== guards;
    });
    expect(wrong.map(({ path }) => path)).to.deep.equal([]);
  });

  it('one module knows uWebSockets.js', () => {
    const importers = sources.filter(({ imports }) => imports.some(({ specifier }) => /uwebsockets/i.test(specifier)));
    expect(importers.map(({ path }) => path)).to.deep.equal([UWS_ENGINE]);
  });

  it('only tests use the type any, and each use gives a reason', () => {
    const isExplained = ({ folder, text }: Source, line: number): boolean =>
      folder === 'test' && /biome-ignore .*noExplicitAny: \w/.test(text.split('\n')[line - 2] ?? '');
    const wrong = sources.flatMap((source) =>
      source.anyTypes.filter(({ line }) => !isExplained(source, line)).map((place) => at(source.path, place)),
    );
    expect(wrong).to.deep.equal([]);
  });

  it('only what a person runs prints to the console', () => {
    const wrong = product
      .filter(({ folder }) => folder !== 'scripts' && folder !== 'bench')
      .flatMap(({ path, calls }) => calls.filter(({ text }) => text.startsWith('console.')).map((c) => at(path, c)));
    expect(wrong).to.deep.equal([]);
  });

  it('no test is singled out, and none is skipped without a reason in the output', () => {
    const wrong = sources
      .filter(({ folder, path }) => folder === 'test' && path !== SKIP)
      .flatMap(({ path, calls }) =>
        calls.filter(({ text }) => /\.(?:only|skip)$/.test(text)).map((call) => at(path, call)),
      );
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
      const parts = path.replace(/(?:\.(?:long\.)?test)?\.(?:tsx?|mjs)$/, '').split('/');
      return parts.some((part) => !/^[a-z][a-zA-Z0-9]*$/.test(part) || SAYS_NOTHING.test(part));
    });
    expect(wrong).to.deep.equal([]);
  });

  it('each unit test mirrors a file by folder and name, or names existing files in its first lines', () => {
    const tests = provingTests(ROOT);
    const units = tests.filter(({ test }) => test.startsWith('test/unit/'));
    expect(units.length).to.be.above(200);
    expect(units.filter(({ proves }) => proves.length === 0).map(({ test }) => test)).to.deep.equal([]);
    const missing = tests.flatMap(({ test, proves }) =>
      proves.filter((path) => !existsSync(join(ROOT, path))).map((path) => `${test} names ${path}`),
    );
    expect(missing).to.deep.equal([]);
  });

  it('each file of the product with code is proven by a test that mirrors it or names it', () => {
    const proven = new Set(provingTests(ROOT).flatMap(({ proves }) => proves));
    const isProven = (path: string): boolean =>
      proven.has(path) || [...proven].some((folder) => folder.endsWith('/') && path.startsWith(folder));
    const unproven = product
      .filter(({ path, folder }) => folder !== 'bench' && !UNPROVEN.test(path) && !isProven(path))
      .filter(({ functions, calls }) => functions.length + calls.length > 0)
      .map(({ path }) => path);
    expect(unproven).to.deep.equal([]);
  });

  it('every source file is an entry or is imported by the product', () => {
    const commands = `${read('scripts/setup/commands.mjs')}\n${JSON.stringify([packageJson.scripts, packageJson.bin])}\n${read('.mocharc.json')}`;
    const entries = [
      ...[...commands.matchAll(/\b((?:scripts|bench|coordinator|shard|test)\/[\w/]+)\.js\b/g)].map(
        ([, path]) => `${path}.ts`,
      ),
      ...[...read('client/package.json').matchAll(/"\.\/(\w+)\.js"/g)].map(([, name]) => `client/${name}.ts`),
      ...[...read('scripts/setup/builds/console.mjs').matchAll(/'(console\/[\w/]+\.tsx?)'/g)].map(([, path]) => path),
    ];
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

  it('no text knows the machine it was written on', () => {
    expect(linesWith(COMMITTED, MACHINE_PATH.pattern)).to.deep.equal([]);
  });

  it('no text is a note to oneself', () => {
    expect(linesWith(COMMITTED, NOTE_TO_ONESELF.pattern)).to.deep.equal([]);
  });

  it('pages describe the product, and not a day, a run or a load', () => {
    const pages = COMMITTED.filter((path) => path.endsWith('.md'));
    expect(pages).to.include.members(['README.md', 'docs/formats.md', 'docs/measurements.md']);
    expect(linesWith(pages, CIRCUMSTANCE.pattern)).to.deep.equal([]);
  });

  it('the patterns find notes, and no ordinary sentence', () => {
    for (const { pattern, found, passed } of [MACHINE_PATH, NOTE_TO_ONESELF, CIRCUMSTANCE]) {
      expect(found.filter((text) => !pattern.test(text))).to.deep.equal([]);
      expect(passed.filter((text) => pattern.test(text))).to.deep.equal([]);
    }
  });

  it('a signal to npm reaches what npm runs', () => {
    const behindAShell = Object.entries(packageJson.scripts)
      .filter(([, command]) => command.startsWith('node ') && !command.includes('&&'))
      .map(([name]) => name);
    expect(behindAShell, 'npm passes signals to a shell, which dies of them alone unless it has become the command').to
      .be.empty;
  });

  it('every package is used where its package.json says, at an exact version', () => {
    const packageOf = (specifier: string): string => specifier.match(/^(?:@[^/]+\/)?[^/]+/)![0];
    const importedBy = (from: readonly Source[]): Set<string> =>
      new Set(
        from
          .flatMap(({ imports }) => imports.map(({ specifier }) => specifier))
          .filter((specifier) => /^[a-zA-Z@]/.test(specifier) && !specifier.startsWith('node:'))
          .map(packageOf),
      );
    const byService = importedBy(product.filter(({ path }) => !FOR_DEVELOPMENT.test(path)));
    const byAny = importedBy(sources);
    const { dependencies, optionalDependencies, devDependencies } = packageJson;
    const installed = { ...dependencies, ...optionalDependencies };
    const built = { ...installed, ...devDependencies };
    const tests = JSON.parse(read('test/package.json')).dependencies as Readonly<Record<string, string>>;
    const all = { ...built, ...tests };
    const tools = [
      read('.ci/run'),
      read('tsconfig.json'),
      JSON.stringify(packageJson.scripts),
      ...filesBelow('scripts', '.mjs').map(read),
    ].join('\n');
    // A package of data is not imported: its files are found and read.
    const isRead = (name: string): boolean =>
      sources.some(({ text }) => [`resolve(\`${name}/`, `resolve('${name}/`].some((found) => text.includes(found)));
    const isUsedInDevelopment = (name: string): boolean => {
      const typed = name.replace(/^@types\//, '');
      const command = name.replace(/^@.*\//, '').replace(/js$/, '');
      if (byAny.has(typed) || typed === 'node' || isRead(name)) return true;
      return new RegExp(`\\b(?:${typed}|${command})\\b`).test(tools);
    };
    expect([...byService].filter((name) => !(name in built))).to.deep.equal([]);
    expect(Object.keys(installed).filter((name) => !byService.has(name))).to.deep.equal([]);
    expect(Object.keys(tests).filter((name) => name in built)).to.deep.equal([]);
    expect([...byAny].filter((name) => !(name in all))).to.deep.equal([]);
    expect(Object.keys(all).filter((name) => !isUsedInDevelopment(name))).to.deep.equal([]);
    expect(Object.values(all).filter((version) => !EXACT.test(version))).to.deep.equal([]);
  });
});
