/** The release that the project publishes on GitHub, checked against the checksums published beside it. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '../../shared/durable.js';
import { messageOf } from '../../shared/errors.js';
import { reasonIn, runProgram } from './program.js';
import type { Fetched, Source } from './source.js';

/** The newest one that the tests have run against. */
const VERSION = '2.12.15';
const RELEASES = 'https://github.com/nats-io/nats-server/releases/download';
const CHECKSUMS = 'SHA256SUMS';
const DOWNLOAD_MS = 300_000;
const UNPACK_MS = 60_000;

const SYSTEMS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin' };
const PROCESSORS: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

const folderIn = (cacheDir: string): string => join(cacheDir, `release-${VERSION}`);

/** The archive's name without its ending, which is also the name of the folder in it. */
function archiveName(): string | undefined {
  const [system, processor] = [SYSTEMS[process.platform], PROCESSORS[process.arch]];
  return system && processor ? `nats-server-v${VERSION}-${system}-${processor}` : undefined;
}

/** `releases`: another place that has the same files. */
export const releaseFrom = (releases: string): Source => ({
  name: 'the official release',
  path(cacheDir) {
    const name = archiveName();
    return name && join(folderIn(cacheDir), name, 'nats-server');
  },
  async fetch(cacheDir, onStart) {
    const name = archiveName();
    if (!name) return { reason: `there is none for ${process.platform} on ${process.arch}` };
    onStart();
    try {
      return await fetchRelease(`${releases}/v${VERSION}`, folderIn(cacheDir), name);
    } catch (error) {
      return { reason: messageOf(error) };
    }
  },
});

export const officialRelease = releaseFrom(RELEASES);

async function fetchRelease(from: string, folder: string, name: string): Promise<Fetched> {
  await makeDirectory(folder);
  const archive = `${name}.tar.gz`;
  for (const file of [CHECKSUMS, archive]) {
    const args = ['-fsSL', '--connect-timeout', '10', '--retry', '2', '-o', file, `${from}/${file}`];
    const { ok, output } = await runProgram('curl', args, { cwd: folder, timeoutMs: DOWNLOAD_MS });
    if (!ok) return { reason: reasonIn(output) };
  }
  const wanted = checksumOf(archive, await readFile(join(folder, CHECKSUMS), 'utf8'));
  const found = createHash('sha256')
    .update(await readFile(join(folder, archive)))
    .digest('hex');
  if (wanted !== found) return { reason: `${archive} does not have the published checksum` };
  const unpacked = await runProgram('tar', ['-xzf', archive], { cwd: folder, timeoutMs: UNPACK_MS });
  return unpacked.ok ? { path: join(folder, name, 'nats-server') } : { reason: reasonIn(unpacked.output) };
}

/** From lines of `<checksum>  <file>`. */
function checksumOf(file: string, sums: string): string | undefined {
  for (const line of sums.split('\n')) {
    const [checksum, name] = line.trim().split(/\s+\*?/);
    if (name === file) return checksum;
  }
  return undefined;
}
