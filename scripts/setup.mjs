/**
 * Makes a fresh checkout ready and then runs what was asked for: `node scripts/setup.mjs <command> [arguments]`.
 * Plain JavaScript without dependencies, as it runs before there are any. Where nothing is to be done it says nothing.
 */
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureBrowser } from './setup/browser.mjs';
import { build } from './setup/build.mjs';
import { SetupError } from './setup/command.mjs';
import { installDependencies } from './setup/dependencies.mjs';
import { compileHnswlib } from './setup/hnswlib.mjs';
import { EXIT_INTERRUPTED, Interrupted, interruptible } from './setup/interrupt.mjs';
import { withLock } from './setup/lock.mjs';
import { ensureNatsServer } from './setup/natsServer.mjs';
import { note } from './setup/steps.mjs';
import { fast, runTests } from './setup/tests.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs a compiled script in this process, so that signals reach it and nothing stands between it and npm. */
const script = (path) => async (args) => {
  const entry = join(root, 'dist', path);
  process.argv = [process.argv[0], entry, ...args];
  await import(pathToFileURL(entry).href);
};

/** Those of a list within a list are done at the same time. */
const FOR_TESTS = ['packages', ['hnswlib', 'build'], 'nats', 'browser'];

/** What each command needs before it can run, and what it runs. */
const COMMANDS = {
  install: { needs: ['packages'] },
  build: { needs: ['packages', 'build'] },
  setup: { needs: FOR_TESTS },
  start: { needs: ['packages', 'build', 'nats'], run: script('scripts/start.js') },
  standalone: { needs: ['packages', 'build'], run: script('scripts/standalone.js') },
  cluster: { needs: ['packages', 'build', 'nats'], run: script('scripts/cluster.js') },
  coordinator: { needs: ['packages', 'build'], run: script('coordinator/main.js') },
  shard: { needs: ['packages', 'build'], run: script('shard/main.js') },
  keys: { needs: ['packages', 'build'], run: script('scripts/keys.js') },
  verify: { needs: ['packages', 'build'], run: script('scripts/verify.js') },
  witness: { needs: ['packages', 'build'], run: script('scripts/witness.js') },
  monitor: { needs: ['packages', 'build'], run: script('scripts/monitor.js') },
  export: { needs: ['packages', 'build'], run: script('scripts/export.js') },
  import: { needs: ['packages', 'build'], run: script('scripts/import.js') },
  load: { needs: ['packages', 'build'], run: script('scripts/load.js') },
  mcp: { needs: ['packages', 'build'], run: script('scripts/mcp.js') },
  demo: { needs: ['packages', 'build', 'nats'], run: script('scripts/demo.js') },
  docs: { needs: ['packages', 'build'], run: script('scripts/docs.js') },
  client: { needs: ['packages'], run: () => import('./buildClient.mjs') },
  sbom: { needs: ['packages', 'build'], run: script('scripts/sbom.js') },
  bench: { needs: ['packages', ['hnswlib', 'build'], 'nats'], run: script('bench/main.js') },
  soak: { needs: ['packages', 'build', 'nats'], run: script('test/soak/main.js') },
  simulate: { needs: ['packages', 'build'], run: script('test/simulate/main.js') },
  fuzz: { needs: ['packages', 'build'], run: script('test/fuzz/main.js') },
  test: { needs: FOR_TESTS, run: (args) => runTests(root, args) },
  'test:fast': { needs: ['packages', 'build'], run: (args) => runTests(root, args, fast) },
};

const WRITE_REFUSALS = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT'];

const STEPS = {
  packages: installDependencies,
  hnswlib: compileHnswlib,
  build,
  nats: ensureNatsServer,
  browser: ensureBrowser,
};

/** At the same time, or where a terminal shows each step by a line of its own one after another. Fails when all have ended. */
async function take(steps) {
  if (process.stderr.isTTY) for (const step of steps) await STEPS[step](root);
  else
    for (const { reason } of await Promise.allSettled(steps.map((step) => STEPS[step](root))))
      if (reason !== undefined) throw reason;
}

function assertNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 9))
    throw new SetupError(`This needs Node 20.9 or later; this is ${process.version}.`);
}

async function main([name = 'setup', ...args]) {
  const command = COMMANDS[name];
  if (!command) throw new SetupError(`There is no command ${name}; there are ${Object.keys(COMMANDS).join(', ')}.`);
  assertNode();
  const waiting = (holder) => note('set-up', `waiting for another set-up of this checkout (process ${holder})`);
  await interruptible(() =>
    withLock(join(root, '.cache', 'setup.lock'), waiting, async () => {
      for (const need of command.needs) await take([need].flat());
    }),
  );
  await command.run?.(args);
}

/** Set-up writes below the checkout alone; undefined where it is something else that failed. */
function unwritable({ code, path }) {
  if (!WRITE_REFUSALS.includes(code) || !path?.startsWith(root)) return undefined;
  return `${path} cannot be written (${code}); this command makes what it needs in ${root}: that must be yours, with room on its disk`;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  const message = error instanceof SetupError ? error.message : unwritable(error);
  if (error instanceof Interrupted) process.exitCode = EXIT_INTERRUPTED;
  else if (message === undefined) throw error;
  else {
    process.stderr.write(`${message}\n`);
    process.exitCode = 1;
  }
}
