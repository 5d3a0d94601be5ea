/**
 * The commands of `npm run`, and the needs of each. A compiled program (`entry`) reads its own arguments. The arguments of a
 * function of set-up (`run`) are checked here. So are the names of a tool's options, since to install and build takes minutes.
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { together } from './build.mjs';
import { checkTypes, format, lint } from './checks.mjs';
import { SetupError } from './command.mjs';
import { testsProving } from './provingTests.mjs';
import { note } from './steps.mjs';
import { areSome, runTests, SUITES, TEST_OPTIONS, TEST_USAGE } from './tests.mjs';

/** Error of wrong arguments, before a program was started. */
export class UsageError extends SetupError {}

const TEXT = { type: 'string' };
const FLAG = { type: 'boolean' };

/** Needs of a program, of a program that starts NATS servers, and of a tool. Needs in an inner list are made concurrently. */
const PROGRAM = ['packages', 'programs'];
const CLUSTER = ['packages', ['programs', 'nats']];
const TOOL = ['allPackages', 'build'];
const TESTS = ['allPackages', ['build', 'nats']];
const TESTS_IN_A_BROWSER = ['allPackages', ['build', 'nats', 'browser']];

/** Further needs of a command, by its arguments: hnswlib for `--from hnswlib` and `--to hnswlib`. */
function hnswlibIfNamed(args) {
  const { from, to } = parseArgs({ args, strict: false, options: { from: TEXT, to: TEXT } }).values;
  return [from, to].includes('hnswlib') ? ['hnswlib'] : [];
}

const NO_ARGUMENTS = { options: {}, positionals: 0 };

/** The options of tools; each tool reads the values. */
const OPTIONS = {
  bench: optionsOf('only data json inputs postgres restart-records large-records large-dimension', 'quick'),
  soak: optionsOf('minutes seed nats shards coordinators collections clients rate followers only folder', 'keep'),
  simulate: optionsOf(
    'hours seed length calm jobs only minutes step without kinds fault points',
    'replay shrink mutations sweep real',
  ),
  fuzz: optionsOf('minutes target seed', ''),
  sbom: optionsOf('', 'licences'),
};

/** Options that take a value, and options that take none, each by their names with blanks between. */
function optionsOf(texts, flags) {
  const named = (names, type) => names.split(' ').flatMap((name) => (name === '' ? [] : [[name, type]]));
  return Object.fromEntries([...named(texts, TEXT), ...named(flags, FLAG)]);
}

const CHECKED_FIRST = [SUITES.short, SUITES.all];

const ROOT = new URL('../../', import.meta.url);
const GLOB = /[*?[{]/;

/** `dist/test/unit/shared/fixedPoint.test.js` → `test/unit/shared/fixedPoint.test.ts` */
const sourceOf = (name) => name.replace(/^(?:\.\/)?(?:dist\/)?/, '').replace(/\.js$/, '.ts');

/** A named file that is not a test. The tests that prove it run in its place. */
const TESTED_FILE = /^(?!.*\.test\.[jt]s$)(?!(?:\.\/)?dist\/)[\w./-]+\.[a-z]\w*$/;

/** Replaces the names of tested files by the tests that prove them. */
function testsNamedBy(args, root) {
  const { tokens } = parseArgs({ args, options: TEST_OPTIONS, allowPositionals: true, tokens: true });
  const named = new Set(tokens.filter(({ kind }) => kind === 'positional').map(({ index }) => index));
  return args.flatMap((argument, index) => {
    if (!named.has(index) || !TESTED_FILE.test(argument)) return argument;
    const found = testsProving(root, argument.replace(/^\.\//, ''));
    if (found.length === 0) throw new SetupError(`No test proves ${argument}.`);
    for (const test of found) note('test', test);
    return found;
  });
}

function tests(needs, suite, command, does) {
  return {
    needs,
    usage: `${command} [-- FILE … OPTIONS]\n\nWithout FILE it ${does}.\n${TEST_USAGE}`,
    options: TEST_OPTIONS,
    run: async (given, root) => {
      const args = testsNamedBy(given, root);
      if (CHECKED_FIRST.includes(suite) && !areSome(args)) await together([checkTypes(root), lint(root)]);
      await runTests(root, args, suite);
    },
  };
}

export const COMMANDS = {
  install: {
    needs: ['packages'],
    usage: 'node scripts/setup.mjs install\n\nInstalls the packages that a build needs.',
    ...NO_ARGUMENTS,
  },
  build: {
    needs: PROGRAM,
    usage: 'npm run build\n\nInstalls packages, and builds the programs in dist.',
    ...NO_ARGUMENTS,
  },
  prepack: { needs: PROGRAM, usage: 'npm run prepack\n\nBuilds the programs that npm pack packs.', ...NO_ARGUMENTS },
  setup: { needs: TESTS, usage: 'node scripts/setup.mjs\n\nPrepares everything that the tests need.', ...NO_ARGUMENTS },
  check: {
    needs: ['allPackages', 'clientTypes'],
    usage: 'npm run check\n\nChecks all types.',
    ...NO_ARGUMENTS,
    run: (_, root) => checkTypes(root),
  },
  lint: {
    needs: ['allPackages'],
    usage: 'npm run lint\n\nChecks style and format.',
    ...NO_ARGUMENTS,
    run: (_, root) => lint(root),
  },
  format: {
    needs: ['allPackages'],
    usage: 'npm run format\n\nFormats all files.',
    ...NO_ARGUMENTS,
    run: (_, root) => format(root),
  },
  start: { needs: CLUSTER, entry: 'scripts/start.js', ...NO_ARGUMENTS },
  standalone: { needs: PROGRAM, entry: 'scripts/standalone.js', ...NO_ARGUMENTS },
  cluster: { needs: CLUSTER, entry: 'scripts/cluster.js' },
  coordinator: { needs: PROGRAM, entry: 'coordinator/main.js' },
  shard: { needs: PROGRAM, entry: 'shard/main.js' },
  keys: { needs: PROGRAM, entry: 'scripts/keys.js' },
  verify: { needs: PROGRAM, entry: 'scripts/verify.js' },
  witness: { needs: PROGRAM, entry: 'scripts/witness.js' },
  monitor: { needs: PROGRAM, entry: 'scripts/monitor.js' },
  export: { needs: PROGRAM, needsFor: hnswlibIfNamed, entry: 'scripts/export.js' },
  import: { needs: PROGRAM, entry: 'scripts/import.js' },
  load: { needs: PROGRAM, needsFor: hnswlibIfNamed, entry: 'scripts/load.js' },
  mcp: { needs: PROGRAM, entry: 'scripts/mcp.js' },
  demo: { needs: CLUSTER, entry: 'scripts/demo.js', ...NO_ARGUMENTS },
  docs: { needs: TOOL, entry: 'scripts/docs.js', ...NO_ARGUMENTS },
  client: {
    // Needs all packages, since its adapters are compiled against the packages that they adapt.
    needs: ['allPackages', 'clientTypes'],
    usage: `npm run client [-- FOLDER]

Makes the package of the client and its tarball in dist-client, or in a new folder.`,
    options: {},
    positionals: 1,
    run: () => import('./builds/client.mjs'),
  },
  sbom: { needs: TOOL, entry: 'scripts/sbom.js', options: OPTIONS.sbom, positionals: 0 },
  bench: { needs: ['allPackages', ['hnswlib', 'build', 'nats']], entry: 'bench/main.js', options: OPTIONS.bench },
  soak: {
    needs: ['allPackages', ['build', 'nats']],
    entry: 'test/soak/main.js',
    options: OPTIONS.soak,
    positionals: 0,
  },
  simulate: { needs: TOOL, entry: 'test/simulate/main.js', options: OPTIONS.simulate, positionals: 0 },
  fuzz: { needs: TOOL, entry: 'test/fuzz/main.js', options: OPTIONS.fuzz, positionals: 0 },
  specimen: { needs: TESTS, entry: 'test/formats/makeSpecimen.js', options: {}, positionals: 1 },
  test: tests(TESTS, SUITES.short, 'npm test', 'checks types, style and format first'),
  'test:long': tests(TESTS_IN_A_BROWSER, SUITES.long, 'npm run test:long', 'runs what npm test leaves out'),
  'test:all': tests(
    TESTS_IN_A_BROWSER,
    SUITES.all,
    'npm run test:all',
    'checks types, style and format, and runs all tests',
  ),
  'test:fast': tests(TOOL, SUITES.fast, 'npm run test:fast', 'runs units, and the API in one mode'),
};

export const asksForHelp = (args) => args.includes('--help') || args.includes('-h');

/** Throws UsageError. */
export function assertArguments({ options, positionals: most = Number.POSITIVE_INFINITY }, args) {
  try {
    const { positionals } = parseArgs({ args, options, allowPositionals: true });
    if (positionals.length > most) throw new Error(`Unexpected argument '${positionals[most]}'`);
    if (options === TEST_OPTIONS) assertTestFiles(positionals);
  } catch (error) {
    // The rest of Node's message is about arguments that begin with a dash.
    throw new UsageError(`${error.message.split(/\.(?: |\n)/)[0]}; --help shows the usage`);
  }
}

function assertTestFiles(named) {
  const other = named.find((name) => !/^(?:\.\/)?(?:dist\/)?test\//.test(name) && !TESTED_FILE.test(name));
  if (other !== undefined) throw new Error(`'${other}' is not below test/`);
  const missing = named.find((name) => !GLOB.test(name) && !existsSync(new URL(sourceOf(name), ROOT)));
  if (missing !== undefined) throw new Error(`'${missing}' does not exist`);
}
