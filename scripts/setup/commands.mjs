/**
 * The commands of `npm run`, and what each needs before it can run. A compiled program (`entry`) reads its own arguments. The
 * arguments of a function of set-up (`run`) are checked here.
 */
import { parseArgs } from 'node:util';
import { SetupError } from './command.mjs';
import { fast, runTests, TEST_OPTIONS, TEST_USAGE } from './tests.mjs';

/** The arguments are wrong; nothing was started. */
export class UsageError extends SetupError {}

/** The needs of a compiled program. Needs in an inner list are made at the same time. */
const BUILT = ['packages', 'build'];
const FOR_TESTS = ['packages', ['hnswlib', 'build'], 'nats', 'browser'];

const NO_ARGUMENTS = { options: {}, positionals: 0 };

export const COMMANDS = {
  install: { needs: ['packages'], usage: 'node scripts/setup.mjs install\n\nInstalls the packages.', ...NO_ARGUMENTS },
  build: { needs: BUILT, usage: 'npm run build\n\nInstalls the packages, and compiles into dist.', ...NO_ARGUMENTS },
  setup: { needs: FOR_TESTS, usage: 'node scripts/setup.mjs\n\nMakes ready all that the tests need.', ...NO_ARGUMENTS },
  start: { needs: [...BUILT, 'nats'], entry: 'scripts/start.js' },
  standalone: { needs: BUILT, entry: 'scripts/standalone.js' },
  cluster: { needs: [...BUILT, 'nats'], entry: 'scripts/cluster.js' },
  coordinator: { needs: BUILT, entry: 'coordinator/main.js' },
  shard: { needs: BUILT, entry: 'shard/main.js' },
  keys: { needs: BUILT, entry: 'scripts/keys.js' },
  verify: { needs: BUILT, entry: 'scripts/verify.js' },
  witness: { needs: BUILT, entry: 'scripts/witness.js' },
  monitor: { needs: BUILT, entry: 'scripts/monitor.js' },
  export: { needs: BUILT, entry: 'scripts/export.js' },
  import: { needs: BUILT, entry: 'scripts/import.js' },
  load: { needs: BUILT, entry: 'scripts/load.js' },
  mcp: { needs: BUILT, entry: 'scripts/mcp.js' },
  demo: { needs: [...BUILT, 'nats'], entry: 'scripts/demo.js' },
  docs: { needs: BUILT, entry: 'scripts/docs.js' },
  client: {
    needs: ['packages'],
    usage: `npm run client [-- FOLDER]

Makes the package of the client and its tarball in dist-client, or in a new folder.`,
    options: {},
    positionals: 1,
    run: () => import('../buildClient.mjs'),
  },
  sbom: { needs: BUILT, entry: 'scripts/sbom.js' },
  bench: { needs: ['packages', ['hnswlib', 'build'], 'nats'], entry: 'bench/main.js' },
  soak: { needs: [...BUILT, 'nats'], entry: 'test/soak/main.js' },
  simulate: { needs: BUILT, entry: 'test/simulate/main.js' },
  fuzz: { needs: BUILT, entry: 'test/fuzz/main.js' },
  test: {
    needs: FOR_TESTS,
    usage: `npm test [-- FILE … OPTIONS]\n\n${TEST_USAGE}`,
    options: TEST_OPTIONS,
    run: (args, root) => runTests(root, args),
  },
  'test:fast': {
    needs: BUILT,
    usage: `npm run test:fast [-- OPTIONS]\n\n${TEST_USAGE}`,
    options: TEST_OPTIONS,
    run: (args, root) => runTests(root, args, fast),
  },
};

export const asksForHelp = (args) => args.includes('--help') || args.includes('-h');

/** Throws UsageError, whose message ends with the usage. */
export function assertArguments({ usage, options, positionals: most = Number.POSITIVE_INFINITY }, args) {
  try {
    const { positionals } = parseArgs({ args, options, allowPositionals: true });
    if (positionals.length > most) throw new Error(`Unexpected argument '${positionals[most]}'`);
    if (options === TEST_OPTIONS) assertTestFiles(positionals);
  } catch (error) {
    // The rest of Node's message is about arguments that begin with a dash.
    throw new UsageError(`${error.message.split(/\.(?: |\n)/)[0]}\n\n${usage}`);
  }
}

function assertTestFiles(named) {
  const other = named.find((name) => !/^(?:\.\/)?(?:dist\/)?test\//.test(name));
  if (other !== undefined) throw new Error(`'${other}' is not below test/`);
}
