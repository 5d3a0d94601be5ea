/** Where a nats-server can be fetched from. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deleteTree, makeDirectory, PUBLIC_FOLDER_MODE } from '../../../shared/files/durable.js';
import { runProgram } from './program.js';

export interface ServerSource {
  readonly name: string;
  /** The path of the server after a fetch; undefined where it is installed outside of the cache. */
  path(cacheDir: string): string | undefined;
  /** Returns the path of the server. Calls `onStart` before the download. Throws an Error of one line. */
  fetch(cacheDir: string, onStart: () => void): Promise<string>;
}

const PROGRAM = 'nats-server';
const ASK_MS = 30_000;
const UNPACK_MS = 60_000;
const DOWNLOAD_MS = 300_000;
const INSTALL_MS = 600_000;

/** The package of Debian and Ubuntu, unpacked into the cache: nothing is installed, and no rights are needed. */
const debianPackage: ServerSource = {
  name: 'the Debian package',
  path: (cacheDir) => join(cacheDir, 'debian', 'root', 'usr', 'sbin', PROGRAM),
  async fetch(cacheDir, onStart) {
    await runProgram('apt-get', ['--version'], { timeoutMs: ASK_MS });
    onStart();
    const cwd = join(cacheDir, 'debian');
    await makeDirectory(cwd, PUBLIC_FOLDER_MODE);
    await downloadPackage(cwd);
    const file = (await readdir(cwd)).find((name) => /^nats-server_.*\.deb$/.test(name));
    if (file === undefined) throw new Error('apt-get left no package behind');
    await runProgram('dpkg', ['-x', file, 'root'], { cwd, timeoutMs: UNPACK_MS });
    return this.path(cacheDir)!;
  },
};

async function downloadPackage(cwd: string): Promise<void> {
  const aptGet = (...args: string[]) => runProgram('apt-get', ['-q', ...args], { cwd, timeoutMs: DOWNLOAD_MS });
  try {
    await aptGet('download', PROGRAM);
  } catch {
    // The machine's package lists are missing or old: this fetches others into the cache, which needs no rights.
    const state = join(cwd, 'apt');
    const [lists, caches] = [join(state, 'lists'), join(state, 'cache')];
    for (const folder of [lists, join(caches, 'archives')]) await makeDirectory(join(folder, 'partial'));
    const settings = [
      `Dir::State::lists=${lists}`,
      `Dir::Cache=${caches}`,
      'Debug::NoLocking=1',
      'APT::Sandbox::User=',
    ];
    const options = settings.flatMap((setting) => ['-o', setting]);
    try {
      // An update that fails in part may still have what the download needs.
      const updated = await aptGet(...options, 'update').catch((error: Error) => error);
      await aptGet(...options, 'download', PROGRAM).catch((error: Error) => {
        throw updated instanceof Error ? updated : error;
      });
    } finally {
      await deleteTree(state);
    }
  }
}

/** Homebrew, which installs into its own prefix. */
const homebrew: ServerSource = {
  name: 'Homebrew',
  path: () => undefined,
  async fetch(_cacheDir, onStart) {
    const prefix = await runProgram('brew', ['--prefix'], { timeoutMs: ASK_MS });
    onStart();
    await runProgram('brew', ['install', '--quiet', PROGRAM], { timeoutMs: INSTALL_MS });
    return join(prefix, 'bin', PROGRAM);
  },
};

/** The newest version that the tests have run against. */
const RELEASE = '2.12.15';
const CHECKSUMS = 'SHA256SUMS';
const SYSTEMS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin' };
const PROCESSORS: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/**
 * The release on GitHub, checked against the checksums published beside it. `releases`: an address that serves the same
 * files.
 */
export function releaseFrom(releases: string): ServerSource {
  const [system, processor] = [SYSTEMS[process.platform], PROCESSORS[process.arch]];
  /** The archive without its ending, and the folder in it. */
  const name = system && processor && `${PROGRAM}-v${RELEASE}-${system}-${processor}`;
  const folderIn = (cacheDir: string): string => join(cacheDir, `release-${RELEASE}`);
  return {
    name: 'the official release',
    path: (cacheDir) => name && join(folderIn(cacheDir), name, PROGRAM),
    async fetch(cacheDir, onStart) {
      if (!name) throw new Error(`there is none for ${process.platform} on ${process.arch}`);
      onStart();
      const cwd = folderIn(cacheDir);
      await makeDirectory(cwd, PUBLIC_FOLDER_MODE);
      const archive = `${name}.tar.gz`;
      for (const file of [CHECKSUMS, archive]) {
        const from = `${releases}/v${RELEASE}/${file}`;
        const args = ['-fsSL', '--connect-timeout', '10', '--retry', '2', '-o', file, from];
        await runProgram('curl', args, { cwd, timeoutMs: DOWNLOAD_MS });
      }
      const checksum = createHash('sha256').update(await readFile(join(cwd, archive)));
      const published = (await readFile(join(cwd, CHECKSUMS), 'utf8')).split('\n').map((line) => line.split(/\s+\*?/));
      const expected = published.find(([, file]) => file === archive)?.[0];
      if (checksum.digest('hex') !== expected) throw new Error(`${archive} does not have the published checksum`);
      await runProgram('tar', ['-xzf', archive], { cwd, timeoutMs: UNPACK_MS });
      return join(cwd, name, PROGRAM);
    },
  };
}

export const SERVER_SOURCES: readonly ServerSource[] = [
  debianPackage,
  homebrew,
  releaseFrom('https://github.com/nats-io/nats-server/releases/download'),
];
