/** The package of Debian and Ubuntu, unpacked into the cache: nothing is installed, and no rights are needed. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { deleteTree, makeDirectory } from '../../shared/durable.js';
import { messageOf } from '../../shared/errors.js';
import { reasonIn, runProgram } from './program.js';
import type { Fetched, Source } from './source.js';

const DOWNLOAD_MS = 120_000;
const UNPACK_MS = 30_000;

const folderIn = (cacheDir: string): string => join(cacheDir, 'debian');
const binaryIn = (cacheDir: string): string => join(folderIn(cacheDir), 'root', 'usr', 'sbin', 'nats-server');

export const debianPackage: Source = {
  name: 'the Debian package',
  path: binaryIn,
  async fetch(cacheDir, onStart) {
    const hasApt = (await runProgram('apt-get', ['--version'], { timeoutMs: UNPACK_MS })).ok;
    if (!hasApt) return { reason: 'there is no apt-get here' };
    onStart();
    try {
      return await fetchPackage(folderIn(cacheDir), binaryIn(cacheDir));
    } catch (error) {
      return { reason: messageOf(error) };
    }
  },
};

async function fetchPackage(folder: string, binary: string): Promise<Fetched> {
  await makeDirectory(folder);
  const downloaded = await download(folder);
  if (downloaded !== undefined) return { reason: downloaded };
  const names = await readdir(folder);
  const file = names.find((name) => /^nats-server_.*\.deb$/.test(name));
  if (file === undefined) return { reason: 'apt-get left no package behind' };
  const unpacked = await runProgram('dpkg', ['-x', file, 'root'], { cwd: folder, timeoutMs: UNPACK_MS });
  return unpacked.ok ? { path: binary } : { reason: reasonIn(unpacked.output) };
}

/** Undefined once the package is in the folder, else the reason. */
async function download(folder: string): Promise<string | undefined> {
  if ((await aptGet(folder, ['download', 'nats-server'])).ok) return undefined;
  // The machine's own package lists are missing or old: get others, beside the package, which needs no rights.
  const state = join(folder, 'apt');
  const lists = join(state, 'lists');
  const caches = join(state, 'cache');
  for (const directory of [lists, join(caches, 'archives')]) await makeDirectory(join(directory, 'partial'));
  const options = [
    `Dir::State::lists=${lists}`,
    `Dir::Cache=${caches}`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=',
  ].flatMap((option) => ['-o', option]);
  const updated = await aptGet(folder, [...options, 'update']);
  const second = await aptGet(folder, [...options, 'download', 'nats-server']);
  await deleteTree(state);
  return second.ok ? undefined : reasonIn(updated.ok ? second.output : updated.output);
}

const aptGet = (cwd: string, args: readonly string[]) =>
  runProgram('apt-get', ['-q', ...args], { cwd, timeoutMs: DOWNLOAD_MS });
