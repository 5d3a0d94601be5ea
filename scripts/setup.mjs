/**
 * Prepares a fresh checkout and then runs a command: `node scripts/setup.mjs <command> [arguments]`. It is plain JavaScript without
 * dependencies, since it runs before they are installed. It prints only steps that are needed.
 */
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureBrowser } from './setup/browser.mjs';
import { buildAll, buildClientTypes, buildPrograms, stopEsbuild, together } from './setup/build.mjs';
import { SetupError } from './setup/command.mjs';
import { asksForHelp, assertArguments, COMMANDS, UsageError } from './setup/commands.mjs';
import { installAllPackages, installPackages } from './setup/dependencies.mjs';
import { compileHnswlib } from './setup/hnswlib.mjs';
import { EXIT_INTERRUPTED, Interrupted, interruptible } from './setup/interrupt.mjs';
import { withLock } from './setup/lock.mjs';
import { ensureNatsServer } from './setup/natsServer.mjs';
import { note } from './setup/steps.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

const EXIT_USAGE = 2;
/** Needs of a command that `--help` skips: a compiled program prints its usage without them. */
const NOT_FOR_HELP = ['nats', 'hnswlib', 'browser'];

/** Runs a compiled program in this process, so that signals of npm reach it. */
async function runEntry(path, args) {
  const entry = join(root, 'dist', path);
  process.argv = [process.argv[0], entry, ...args];
  await import(pathToFileURL(entry).href);
}

const WRITE_REFUSALS = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT'];

const STEPS = {
  packages: installPackages,
  allPackages: installAllPackages,
  clientTypes: buildClientTypes,
  programs: buildPrograms,
  build: buildAll,
  hnswlib: compileHnswlib,
  nats: ensureNatsServer,
  browser: ensureBrowser,
};

function assertNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    throw new SetupError(`This needs Node 20.19 or later; this is ${process.version}.`);
}

async function main([name = 'setup', ...args]) {
  const command = COMMANDS[name];
  if (!command) throw new UsageError(`The command ${name} is unknown; known are ${Object.keys(COMMANDS).join(', ')}.`);
  assertNode();
  const isHelp = asksForHelp(args);
  if (isHelp && command.usage !== undefined) return void process.stdout.write(`${command.usage}\n`);
  if (!isHelp && command.options !== undefined) assertArguments(command, args);
  const waiting = (holder) => note('set-up', `waiting for another set-up of this checkout (process ${holder})`);
  await interruptible(() =>
    withLock(join(root, '.cache', 'setup.lock'), waiting, async () => {
      for (const need of [...command.needs, ...(command.needsFor?.(args) ?? [])]) {
        const steps = [need].flat().filter((step) => !isHelp || !NOT_FOR_HELP.includes(step));
        await together(steps.map((step) => STEPS[step](root)));
      }
    }),
  );
  await stopEsbuild();
  if (command.entry !== undefined) await runEntry(command.entry, args);
  else await command.run?.(args, root);
}

/** Explains a failed write below the checkout; undefined for another error. */
function unwritable({ code, path }) {
  if (!WRITE_REFUSALS.includes(code) || !path?.startsWith(root)) return undefined;
  return `${path} cannot be written (${code}); this command makes what it needs in ${root}: this folder must belong to you, and its disk must have room`;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  const message = error instanceof SetupError ? error.message : unwritable(error);
  if (error instanceof Interrupted) process.exitCode = EXIT_INTERRUPTED;
  else if (message === undefined) throw error;
  else {
    process.stderr.write(`${message}\n`);
    process.exitCode = error instanceof UsageError ? EXIT_USAGE : 1;
  }
}
