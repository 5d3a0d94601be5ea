/** Finds a nats-server on this machine, or fetches one into the project's cache. */
import { access, constants } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../../shared/errors/errors.js';
import {
  codeOf,
  deleteEmptyDirectory,
  deleteTree,
  isThere,
  move,
  temporaryBeside,
} from '../../../shared/files/durable.js';
import { OLDEST_NATS_VERSION } from '../../../shared/nats/serverVersion.js';
import { commandText } from '../../../shared/process/commandText.js';
import { inspectBinary, isUsable, type NatsBinary } from './binary.js';
import { RELEASE, SERVER_SOURCES, type ServerSource } from './sources.js';

export interface FindOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** The folder of fetched servers. */
  readonly cacheDir?: string;
  /** Called before a download. */
  readonly onFetch?: (from: string) => void;
  readonly sources?: readonly ServerSource[];
  /** Ends the search when aborted. */
  readonly signal?: AbortSignal;
}

// Four folders up: this runs as dist/scripts/local/natsServer/find.js.
const CACHE = fileURLToPath(new URL('../../../../.cache/nats', import.meta.url));
/** Folders that are searched even if they are not on PATH. */
const USUAL_FOLDERS = ['/usr/local/bin', '/usr/local/sbin', '/usr/bin', '/usr/sbin', '/opt/homebrew/bin'];

/** Finds a server. Throws an Error that says what to do and lists the attempts, one a line. */
export async function findNatsServer(options: FindOptions = {}): Promise<NatsBinary> {
  const { env = process.env, cacheDir = CACHE, sources = SERVER_SOURCES, onFetch, signal } = options;
  if (env.VOUCH_NATS_SERVER) return named(env.VOUCH_NATS_SERVER);
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...USUAL_FOLDERS];
  const fetched = sources.flatMap((source) => source.path(cacheDir) ?? []);
  const reasons: string[] = [];
  for (const path of new Set([...folders.map((folder) => join(folder, 'nats-server')), ...fetched])) {
    const found = await serverAt(path);
    if (found && isUsable(found)) return found;
    if (found) reasons.push(`${path} is nats-server ${found.version}, which is too old`);
  }
  for (const source of sources) {
    // Other processes may fetch into the same cache.
    const own = temporaryBeside(join(cacheDir, source.name));
    try {
      const found = await serverAt(await source.fetch(own, () => onFetch?.(source.name), signal));
      if (found && isUsable(found)) return { ...found, path: await keep(found.path, source, own, cacheDir) };
      reasons.push(
        `${source.name}: ${found ? `its version ${found.version} is too old` : 'the fetched program does not run here'}`,
      );
    } catch (error) {
      reasons.push(`${source.name}: ${messageOf(error)}`);
    } finally {
      if (await isThere(own)) await deleteTree(own);
      await deleteEmptyDirectory(cacheDir);
    }
    signal?.throwIfAborted();
  }
  throw new Error(
    [
      `nats-server was not found and could not be fetched. Install nats-server ${OLDEST_NATS_VERSION} or newer from ` +
        'https://nats.io/download, or set VOUCH_NATS_SERVER to one, or VOUCH_NATS_URL to a running one; ' +
        `${commandText('standalone')} needs none`,
      ...reasons,
    ].join('\n  '),
  );
}

async function named(path: string): Promise<NatsBinary> {
  const found = await inspectBinary(resolve(path));
  const remedy = `name one of version ${OLDEST_NATS_VERSION} or newer, or unset it: ${RELEASE} is then fetched`;
  if (!found)
    throw new Error(`VOUCH_NATS_SERVER is ${path}, which is not a nats-server that runs on this machine; ${remedy}`);
  if (!isUsable(found))
    throw new Error(`VOUCH_NATS_SERVER is ${path}, which is nats-server ${found.version}; ${remedy}`);
  return found;
}

/** Moves a fetched server to its place in the cache, unless another process has put one there. Returns its path. */
async function keep(fetched: string, { folder, path }: ServerSource, own: string, cacheDir: string): Promise<string> {
  const kept = path(cacheDir);
  if (folder === undefined || kept === undefined) return fetched;
  const place = join(cacheDir, folder);
  try {
    await move(join(own, folder), place);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error) ?? '')) throw error;
    const other = await serverAt(kept);
    if (other && isUsable(other)) return kept;
    await deleteTree(place);
    await move(join(own, folder), place);
  }
  return kept;
}

async function serverAt(path: string): Promise<NatsBinary | undefined> {
  const isExecutable = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
  return isExecutable ? inspectBinary(path) : undefined;
}
