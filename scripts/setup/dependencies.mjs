/** Installs the packages of package-lock.json if they are missing, or from another lock file. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from './command.mjs';
import { step } from './steps.mjs';

const FLAGS = ['--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

/** Installs the packages that the programs are built from and run with. */
export const installPackages = (root) => install(root, 'programs');

/** Installs all packages, also those of tests, benches and checks: the workspace `test`. */
export const installAllPackages = (root) => install(root, 'all');

async function install(root, wanted) {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const stamp = join(root, 'node_modules', '.vouch-installed');
  const of = (packages) => `${lock} ${process.platform}-${process.arch} ${packages}`;
  const installed = holdsAll(root) && existsSync(stamp) ? readFileSync(stamp, 'utf8') : undefined;
  if (installed === of('all') || installed === of(wanted)) return;
  // `npm ci` would remove the packages of running programs; `npm install` only adds here.
  const command = installed === of('programs') ? ['install', '--no-save'] : ['ci'];
  if (wanted === 'programs') command.push('--workspaces=false');
  await step('packages', 'installing with npm', async () => {
    // Do not run the packages' scripts. Only hnswlib-node needs compiling, which is done at its first use.
    await run(`npm ${command[0]}`, npm(...command, ...FLAGS), {
      cwd: root,
      env: npmEnvironment(),
      advice: 'Installing needs the npm registry, or a mirror of it: npm config get registry.',
    });
    writeFileSync(stamp, of(wanted));
    return 'installed';
  });
}

/** Whether all packages in npm's list exist: some may be deleted, and an interrupted npm removes packages but keeps its list. */
function holdsAll(root) {
  // npm writes this file last, so it is missing after an interrupted install.
  const list = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(list)) return false;
  const { packages } = JSON.parse(readFileSync(list, 'utf8'));
  return Object.keys(packages).every((path) => existsSync(join(root, path, 'package.json')));
}

/** The npm that runs this process, else the one on the PATH. */
export function npm(...args) {
  const cli = process.env.npm_execpath;
  return cli && /npm-cli\.c?js$/.test(cli) ? [process.execPath, [cli, ...args]] : ['npm', args];
}

export function npmEnvironment() {
  const env = { ...process.env };
  const prefix = dirname(dirname(process.execPath));
  if (!env.npm_config_nodedir && headersVersion(prefix) === process.versions.node) env.npm_config_nodedir = prefix;
  return env;
}

/** The version of Node's headers in a folder. node-gyp fetches headers from the internet unless it gets a folder with them. */
function headersVersion(prefix) {
  const header = join(prefix, 'include', 'node', 'node_version.h');
  if (!existsSync(header)) return undefined;
  const text = readFileSync(header, 'utf8');
  return ['MAJOR', 'MINOR', 'PATCH'].map((part) => text.match(`#define NODE_${part}_VERSION (\\d+)`)?.[1]).join('.');
}
