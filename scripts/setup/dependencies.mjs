/** The packages of package-lock.json, installed when they are missing or another lock file's, and compiled. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from './command.mjs';
import { sha256 } from './sources.mjs';
import { step } from './steps.mjs';

export async function installDependencies(root) {
  const lock = join(root, 'package-lock.json');
  // npm writes this file last, so an install that was cut short has none.
  const installed = join(root, 'node_modules', '.package-lock.json');
  const stamp = join(root, 'node_modules', '.vouch-installed');
  const wanted = `${sha256(readFileSync(lock))} ${process.platform}-${process.arch}`;
  if (isCurrent({ root, lock, installed, stamp, wanted })) return;
  await step('packages', 'installing with npm', async () => {
    // No package's own script is needed: what has to be compiled is for the benchmarks, and compiled before those.
    await run('npm ci', npm('ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'), {
      cwd: root,
      env: npmEnvironment(),
      advice: 'Installing needs the npm registry, or a mirror of it: npm config get registry.',
    });
    writeFileSync(stamp, wanted);
    return 'installed';
  });
}

/** Without our stamp somebody has run npm by hand: then the times decide. */
function isCurrent({ root, lock, installed, stamp, wanted }) {
  if (!existsSync(installed) || !holdsAll(root, installed)) return false;
  if (existsSync(stamp)) return readFileSync(stamp, 'utf8') === wanted;
  return statSync(installed).mtimeMs >= statSync(lock).mtimeMs;
}

/** Somebody may have deleted packages, or an npm that was told to stop may have taken back what it had begun: it keeps its list. */
function holdsAll(root, installed) {
  const { packages } = JSON.parse(readFileSync(installed, 'utf8'));
  return Object.keys(packages).every((path) => existsSync(join(root, path, 'package.json')));
}

/** The npm that runs us, else the one on the PATH. */
export function npm(...args) {
  const cli = process.env.npm_execpath;
  return cli && /npm-cli\.c?js$/.test(cli) ? [process.execPath, [cli, ...args]] : ['npm', args];
}

export function npmEnvironment() {
  const env = {
    ...process.env,
    // blake3's install script would load a native binary from GitHub, unverified, and hang where there is no internet.
    // We use its WebAssembly build; nothing listens on the discard port.
    BLAKE3_REPO_URL: 'https://127.0.0.1:9',
  };
  const prefix = dirname(dirname(process.execPath));
  if (!env.npm_config_nodedir && headersVersion(prefix) === process.versions.node) env.npm_config_nodedir = prefix;
  return env;
}

/** node-gyp fetches Node's headers from the internet unless it is told where they are; many packages bring them. */
function headersVersion(prefix) {
  const header = join(prefix, 'include', 'node', 'node_version.h');
  if (!existsSync(header)) return undefined;
  const text = readFileSync(header, 'utf8');
  return ['MAJOR', 'MINOR', 'PATCH'].map((part) => text.match(`#define NODE_${part}_VERSION (\\d+)`)?.[1]).join('.');
}
